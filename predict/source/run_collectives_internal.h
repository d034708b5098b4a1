#pragma once

// The collective calls of a run: which call an event is, on which communicator, and with which
// sizes.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "predict/collectives/collective.h"
#include "predict/trace/collective_messages.h"
#include "storage/read/query.h"
#include "wire/chunk.h"

namespace xylem::predict {

/// What a function of MPI is, by its name.
struct CollectiveFunction {
  Collective collective = Collective::kBarrier;
  bool is_immediate = false;  ///< MPI_Ibcast
};

/// nullopt if it is not a collective that a program can express: also for MPI_Bcast_init.
std::optional<CollectiveFunction> collective_function(std::string_view name);

/// The communicators of a world, and the sizes of blocks that only other ranks know. Not
/// thread-safe.
class RunCollectives {
 public:
  /// Reads the communicators. `ranks` is the size of the world.
  static Result<RunCollectives> read(storage::RunFile& run, WorldId world, std::uint32_t ranks);

  /// Learns the size of this rank's block in a call with blocks of different sizes. All calls are
  /// learned before the first of them is asked for.
  void learn(CollectiveFunction function, std::uint32_t rank, const wire::Event& event);

  /// A call on a communicator.
  struct Call {
    CollectiveCall call;  ///< Refers to this object, or to `blocks` of find().
    Communicator communicator;
    std::uint32_t place = 0;  ///< The rank's place in the communicator.
  };
  /// The block of a call that the rank exchanges with a peer.
  struct Block {
    std::uint32_t peer = 0;  ///< A rank of the world.
    std::uint64_t bytes = 0, received_bytes = 0;
  };
  /// The call that an event is. `blocks` are those of MPI_Alltoallv. The answer is valid until the
  /// next call. Fails with a clause, such as "the members of its communicator are not known".
  Result<Call> find(CollectiveFunction function, std::uint32_t rank, const wire::Event& event,
                    std::span<const Block> blocks);

 private:
  struct Members {
    std::uint32_t number = 0;
    bool has_two_groups = false;
    std::vector<std::uint32_t> ranks;                             ///< By place.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> places;  ///< (Rank, place), sorted.
    std::optional<std::uint32_t> place_of(std::uint32_t rank) const;
  };
  using Key = std::pair<CommId, std::uint32_t>;  ///< Communicator and number of the call.

  Members& add(CommId comm) {
    return members_
        .try_emplace(comm, Members{static_cast<std::uint32_t>(members_.size()), false, {}, {}})
        .first->second;
  }

  std::map<CommId, Members> members_;
  std::map<Key, std::vector<std::uint64_t>> sizes_;  ///< By place.
  std::map<Key, std::uint32_t> immediate_;           ///< Their communicators' numbers.
  std::vector<std::uint64_t> sent_, received_;       ///< For MPI_Alltoallv, by place.
};

}  // namespace xylem::predict
