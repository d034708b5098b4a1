#pragma once

// Accepts registrations of processes at the listening socket in the host's run folder.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/agent/process_source.h"
#include "base/clock.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// Accepts registrations (capture/core/ring.h) and checks them. The kernel must confirm that the
/// sender runs as the same user. The sender must use the same layout version. It must send one
/// segment descriptor, or the reason why there is no segment. All other registrations are refused.
/// The listener does not check whether the process still lives, so the result has no pidfd.
///
/// If no descriptor is free for a segment, the process is accepted without its segment, and its row
/// says why. If no descriptor is free even for the connection, the connection stays in the socket's
/// queue, and the listener pauses. In a pause, fd() does not report the socket. fd() becomes
/// readable after kRetryDelay, and then take() tries again. Nothing blocks. Not thread-safe.
class RegistrationListener {
 public:
  /// Maximum number of connections that have not registered yet. If there are more, the oldest are
  /// closed.
  static constexpr std::size_t kMaxWaiting = 256;
  static constexpr Nanos kRetryDelay = 100 * kMillisecond;

  /// `socket` is a listening Unix stream socket.
  explicit RegistrationListener(UniqueFd socket);

  /// Replaces the socket. Accepted connections stay open. Needs no new descriptor.
  void listen_at(UniqueFd socket);

  /// Returns the socket to the caller and closes everything else.
  UniqueFd close();

  /// Readable when take() may return a process.
  int fd() const noexcept { return poll_.get(); }

  /// Returns the next process that has registered; empty if there is none. Its lane is not set.
  std::optional<NewProcess> take();

  /// True if no descriptor was free at the last take(), so that connections are still in the
  /// socket's queue.
  bool is_paused() const noexcept { return is_paused_; }

 private:
  void accept_all();
  bool accept_next();
  void pause(int why);
  void resume();

  UniqueFd socket_;
  UniqueFd poll_;         // An epoll of all other descriptors except `spare_`.
  UniqueFd retry_timer_;  // Runs while the listener is paused.
  UniqueFd spare_;        // Closed to accept a connection when no descriptor is free.
  std::vector<UniqueFd> waiting_;
  bool is_paused_ = false;
  bool pause_was_said_ = false;
};

}  // namespace xylem::backend
