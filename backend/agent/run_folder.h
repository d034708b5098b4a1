#pragma once

// The folder in which the processes of a run meet on a host: /dev/shm/xylem-UID-RUN.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// The run's folder on this host and its files. The capture library follows the same rules: a
/// process holds the lock while it registers or ends, and a lock file that is no longer in the
/// folder does not count. An object stands for the folder that was at the path when the object was
/// constructed. If this folder was removed, calls do nothing, also if a later agent has made a new
/// folder at the path. A copy stands for the same folder, but does not hold the lock.
class RunFolder {
 public:
  explicit RunFolder(std::string path);
  RunFolder(const RunFolder& other)
      : path_(other.path_), device_(other.device_), inode_(other.inode_) {}
  RunFolder& operator=(const RunFolder&) = delete;

  /// Marks the folder as in use by this process and its forked children, with a shared lock on the
  /// folder, which the kernel releases when the last of them ends. sweep_run_folders() then leaves
  /// the folder alone. Call it before a daemon is forked, while the starting process holds the
  /// lock.
  void hold();

  bool is_there() const;
  const std::string& path() const noexcept { return path_; }
  /// Takes the lock if it is free, and holds it until unlock() or remove(). False also if there is
  /// no folder.
  bool try_lock();
  void unlock() { lock_.reset(); }
  /// Unlinks the socket; open connections stay.
  void unlink_socket();
  /// True if a process accepts at the socket or may accept there. False only if certainly no
  /// process does.
  bool is_answered() const;
  /// A new listening socket at the socket's path. Fails with kInternal.
  Result<UniqueFd> listen();
  /// Removes the folder's files, the lock last, and then the folder. If another process has started
  /// to use the folder again, the folder stays.
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

/// Removes this user's run folders that are left over on this host, because all processes of a run
/// were killed at once. It visits all paths that begin with `prefix` (own_run_folders()). It takes
/// a folder's lock and removes the folder only if no process holds it and no process answers at its
/// socket. A process that starts to use the folder at that moment makes it again. Returns the
/// number of removed folders.
std::size_t sweep_run_folders(const std::string& prefix);

}  // namespace xylem::backend
