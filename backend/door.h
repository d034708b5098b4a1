#pragma once

// Where processes register: the listening socket in the host's run folder.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/process_source.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// Accepts registrations (capture/ring.h) and looks at who sends them: the same user by the
/// kernel's word, one descriptor of a segment or a reason why there is none, a process that lives
/// or has just ended. Anybody else is turned away. Where no descriptor is left, a process is taken
/// without its segment, and that is the reason. Nothing blocks. One thread.
class Door {
 public:
  /// So many connections may stand open without having said what they want; more are cut off,
  /// oldest first.
  static constexpr std::size_t kMaxWaiting = 256;

  /// Takes a listening Unix stream socket.
  explicit Door(UniqueFd listener);

  /// Readable when take() may have something.
  int fd() const noexcept { return poll_.get(); }
  int listener() const noexcept { return listener_.get(); }

  /// The next process that registered, its lane left open; nothing when nobody waits.
  std::optional<NewProcess> take();

 private:
  void accept_all();

  UniqueFd listener_;
  UniqueFd spare_;  // Given up to accept who comes when no descriptor is left.
  UniqueFd poll_;   // An epoll of the listener and those that wait.
  std::vector<UniqueFd> waiting_;
};

}  // namespace xylem::backend
