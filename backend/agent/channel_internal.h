#pragma once

// What guard and worker tell each other, over a pair of SOCK_SEQPACKET sockets.

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
  kProcess = 1,  ///< All that follows; descriptor: the segment, unless `unwatched` says why not.
  kReady = 2,    ///< All that were held have been told; lane is the next free one.
  kDrained = 3,  ///< Answer to kDrain: who had connected by then has been told.
  // Worker to guard.
  kForget = 16,  ///< lane
  kDrain = 17,   ///< The socket's name is gone: accept who is left.
  kListen = 18,  ///< Descriptor: the new listening socket.
};

struct ChannelMessage {
  ChannelKind kind{};
  std::uint32_t lane = 0;
  std::uint32_t pid = 0;
  std::uint32_t rank = 0;
  std::uint32_t world_size = 0;
  std::uint64_t start_time = 0;
  wire::WorldKey world_key{};
  char program[128] = {};  // Texts are cut, and end with a zero.
  char unwatched[160] = {};
};

/// What a process said of itself, there and back.
ChannelMessage message_of(Lane lane, std::uint32_t pid, std::uint64_t start_time,
                          const wire::ProcessRow& row);
wire::ProcessRow row_of(const ChannelMessage& message);

/// Receives without waiting; at most two descriptors, more are closed. As recvmsg: bytes, 0 at the
/// end, -1 and errno. `were_cut` says whether descriptors came for which there was no room.
ssize_t receive_with_fds(int socket, void* bytes, std::size_t size,
                         std::vector<UniqueFd>& descriptors, bool* were_cut = nullptr);

/// Sends without waiting. False and errno when it could not be sent whole.
bool send_with_fds(int socket, const void* bytes, std::size_t size,
                   const std::vector<int>& descriptors);

}  // namespace xylem::backend
