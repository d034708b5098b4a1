#pragma once

// The folder in which the processes of a run meet on a host: /dev/shm/xylem-UID-RUN.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// The run's folder on this host and its files. Rules, shared with the capture library: a process
/// that registers or ends holds the lock; a lock file that is no longer in the folder does not
/// count. The object stands for the folder that was at the path when it was constructed. If that
/// folder is gone or a later agent has made another one, no call touches it. A copy means the same
/// folder, without the lock.
class RunFolder {
 public:
  explicit RunFolder(std::string path);
  RunFolder(const RunFolder& other)
      : path_(other.path_), device_(other.device_), inode_(other.inode_) {}
  RunFolder& operator=(const RunFolder&) = delete;

  /// Marks the folder as in use by this process and its forked children, with a shared lock on the
  /// folder, which the kernel releases when the last of them ends. sweep_run_folders() then leaves
  /// the folder alone. Best called before a daemon is forked, while the starter holds the lock.
  void hold();

  bool is_there() const;
  const std::string& path() const noexcept { return path_; }
  /// Takes the lock if it is free. Held until unlock() or remove(). False without a folder.
  bool try_lock();
  void unlock() { lock_.reset(); }
  /// Unlinks the socket; open connections stay.
  void unlink_socket();
  /// True if a process accepts at the socket or may do so; false if the socket is certainly dead.
  bool is_answered() const;
  /// A new listening socket at the socket's path. Fails with kInternal.
  Result<UniqueFd> listen();
  /// Removes the folder's files, the lock last, and the folder. A process that has started to use
  /// it again keeps it.
  void remove();

 private:
  std::string path_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  UniqueFd lock_;
  UniqueFd held_;
};

/// The common prefix of this user's run folders: "/dev/shm/xylem-1000-".
std::string own_run_folders();

/// Removes this user's run folders on this host, of any run, that are left over because all their
/// processes were killed at once. Visits paths that begin with `prefix` (own_run_folders()).
/// Removes a folder only if no process holds it, none is registering (the lock is taken meanwhile)
/// and none answers at its socket; a process that starts to use it at that moment makes it again.
/// Returns the number of removed folders.
std::size_t sweep_run_folders(const std::string& prefix);

}  // namespace xylem::backend
