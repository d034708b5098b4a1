#pragma once

// Messages between guard and worker, over a pair of SOCK_SEQPACKET sockets.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/unique_fd.h"
#include "wire/registration.h"

namespace xylem::backend {

enum class ChannelKind : std::uint32_t {
  // Guard to worker.
  kProcess = 1,  ///< A process; all fields are set. The descriptor is the process's segment. If
                 ///< there is no segment, `unwatched` says why.
  kReady = 2,    ///< The guard has sent all processes that it has; `lane` is the next free lane.
  kDrained = 3,  ///< Answer to kDrain: the guard has sent all processes that had connected.
  // Worker to guard.
  kForget = 16,  ///< The last account of the process of `lane` is journalled.
  kDrain = 17,   ///< Accept the connections in the socket's queue. No more can come, because the
                 ///< socket's name is removed.
  kListen = 18,  ///< Descriptor: the new listening socket.
};

struct ChannelMessage {
  ChannelKind kind{};
  Lane lane{};
  std::uint32_t pid = 0;
  Rank rank{};
  std::uint32_t world_size = 0;
  std::uint64_t start_time = 0;
  wire::WorldKey world_key{};
  char program[128] = {};  // `program` and `unwatched` are cut to fit, and end with a zero byte.
  char unwatched[160] = {};
};

/// These two functions convert a process's description to a message and back.
ChannelMessage message_of(Lane lane, std::uint32_t pid, std::uint64_t start_time,
                          const wire::ProcessRow& row);
wire::ProcessRow row_of(const ChannelMessage& message);

/// Receives without waiting. It accepts at most two descriptors; the kernel drops further ones.
/// Returns the number of bytes, 0 if the peer has closed the channel, or -1 with errno. Sets
/// `*were_cut` to whether the kernel had to drop descriptors.
ssize_t receive_with_fds(int socket, void* bytes, std::size_t size,
                         std::vector<UniqueFd>& descriptors, bool* were_cut = nullptr);

/// Sends without waiting, with at most two descriptors. Returns false with errno if the message
/// could not be sent completely.
bool send_with_fds(int socket, const void* bytes, std::size_t size,
                   const std::vector<int>& descriptors);

}  // namespace xylem::backend
