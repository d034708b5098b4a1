#pragma once

// How an MPI function can wait for other ranks. The analysis of wait states (wait_states.h) treats
// all functions with the same role alike.

#include <cstdint>
#include <string_view>

namespace xylem::storage {

enum class CallRole : std::uint8_t {
  kOther,  ///< Does not wait for other ranks, or is not analysed and not counted.
  kPost,   ///< Posts receives or starts requests: MPI_Irecv, MPI_Imrecv, MPI_Start, MPI_Startall.
  kFree,   ///< MPI_Request_free.
  kBlockingSend,     ///< A blocking send that may wait: MPI_Send, MPI_Ssend, MPI_Rsend.
  kBlockingReceive,  ///< A blocking receive: MPI_Recv, MPI_Mrecv.
  kSendReceive,      ///< MPI_Sendrecv and MPI_Sendrecv_replace.
  kWait,             ///< MPI_Wait.
  kWaitSeveral,      ///< MPI_Waitall, MPI_Waitany, MPI_Waitsome.
  kProbe,            ///< MPI_Probe and MPI_Mprobe.
  kSynchronising,    ///< A blocking collective in which every rank waits for every other.
  kFromRoot,         ///< A blocking collective in which ranks wait for the root: MPI_Bcast.
  kToRoot,           ///< A blocking collective in which the root waits for ranks: MPI_Reduce.
  kOtherCollective,  ///< A collective that does not block: MPI_Ibarrier, MPI_Barrier_init.
  kNotAnalysed,      ///< Blocks and may wait for other ranks, but its waits are not analysed.
};

/// The role of a function, by its name and its class (capture::FunctionClass as text). A function
/// MPI_..._c with large counts has the role of its twin.
CallRole role_of(std::string_view function, std::string_view function_class);

/// True if time in calls with this role may be time that waits for other ranks.
constexpr bool may_wait(CallRole role) {
  return role != CallRole::kOther && role != CallRole::kPost && role != CallRole::kFree &&
         role != CallRole::kOtherCollective;
}
constexpr bool is_collective(CallRole role) {
  return role == CallRole::kSynchronising || role == CallRole::kFromRoot ||
         role == CallRole::kToRoot;
}

}  // namespace xylem::storage
