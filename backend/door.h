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
/// kernel's word, one descriptor of a segment, a process that lives or has just ended. Anybody else
/// is turned away. Nothing blocks. One thread.
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
  UniqueFd poll_;  // An epoll of the listener and those that wait.
  std::vector<UniqueFd> waiting_;
};

/// The run's folder on this host and what lies in it. Rules, with the capture library: who
/// registers or ends holds the lock; a lock's file that is no longer in the folder counts for
/// nothing. It is the folder that stood at the path when this was made: once that is gone, or
/// another one stands there for a later agent, nothing here touches it. A copy is the same folder
/// without the lock.
class RunFolder {
 public:
  explicit RunFolder(std::string path);
  RunFolder(const RunFolder& other)
      : path_(other.path_), device_(other.device_), inode_(other.inode_) {}
  RunFolder& operator=(const RunFolder&) = delete;

  bool is_there() const;
  const std::string& path() const noexcept { return path_; }
  /// Takes the lock if nobody has it. Held until unlock() or remove(). False without a folder.
  bool try_lock();
  void unlock() { lock_.reset(); }
  /// Takes the socket's name away; who is connected stays connected.
  void unlink_socket();
  /// A new listening socket under the name. Fails with kInternal.
  Result<UniqueFd> listen();
  /// Removes what lies in the folder and the folder, the lock last. Somebody who has begun to use
  /// it anew keeps it.
  void remove();

 private:
  std::string path_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  UniqueFd lock_;
};

}  // namespace xylem::backend
