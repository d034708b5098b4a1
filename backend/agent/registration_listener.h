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

/// Accepts registrations (capture/core/ring.h) and checks them: the sender must be the same user
/// according to the kernel, and must send one segment descriptor or the reason why there is none.
/// All others are refused. It does not check whether the process still lives, so the result has no
/// pidfd.
///
/// When no descriptor is left, a process is taken without its segment, and its row gives that as
/// the reason. A connection that cannot even be accepted stays in the listener's queue. Then the
/// listener pauses: fd() does not report the listener, and becomes readable after kRetryDelay, so
/// that take() tries again. Nothing blocks. One thread.
class RegistrationListener {
 public:
  /// Maximum number of connections that have not registered yet; beyond it the oldest are closed.
  static constexpr std::size_t kMaxWaiting = 256;
  static constexpr Nanos kRetryDelay = 100 * kMillisecond;

  /// Takes a listening Unix stream socket.
  explicit RegistrationListener(UniqueFd socket);

  /// Replaces the socket. Connections that were accepted stay. Needs no new descriptor.
  void listen_at(UniqueFd socket);

  /// Gives the socket away and closes everything else.
  UniqueFd close();

  /// Readable when take() may have something.
  int fd() const noexcept { return poll_.get(); }

  /// The next process that registered, without a lane; nothing if there is none.
  std::optional<NewProcess> take();

  /// The last take() left connections in the socket's queue for want of a descriptor.
  bool is_paused() const noexcept { return is_paused_; }

 private:
  void accept_all();
  bool accept_next();
  void pause(int why);
  void resume();

  UniqueFd socket_;
  UniqueFd poll_;         // An epoll of all the others but the spare.
  UniqueFd retry_timer_;  // Runs while the listener is paused.
  UniqueFd spare_;        // Given up to accept a connection when no descriptor is left.
  std::vector<UniqueFd> waiting_;
  bool is_paused_ = false;
  bool pause_was_said_ = false;
};

}  // namespace xylem::backend
