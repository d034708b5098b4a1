#pragma once

// The folder in which the processes of a run meet on a host: /dev/shm/xylem-UID-RUN.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// The run's folder on this host and its files. The capture library follows the same rules. A rank
/// has the lock while it registers, and an agent while it ends. A lock file that was removed from
/// the folder does not count.
///
/// A RunFolder refers to the folder that was at the path when the RunFolder was constructed. If
/// this folder was removed, try_lock() and remove() do nothing, even if a later agent has made a
/// new folder at the path. A copy of a RunFolder refers to the same folder, but does not hold the
/// lock. Not thread-safe.
class RunFolder {
 public:
  explicit RunFolder(std::string path);
  RunFolder(const RunFolder& other)
      : path_(other.path_), device_(other.device_), inode_(other.inode_) {}
  RunFolder& operator=(const RunFolder&) = delete;

  /// Marks the folder as in use by this process and its forked children. sweep_run_folders() does
  /// not remove a marked folder. The mark is a shared lock on the folder. The kernel releases it
  /// when the last of these processes ends. Call it before a daemon is forked, while the starting
  /// process holds the lock.
  void hold();

  bool is_there() const;
  const std::string& path() const noexcept { return path_; }
  /// Takes the lock if it is free, and holds it until unlock() or remove(). Returns false if
  /// another process has the lock, or if there is no folder.
  bool try_lock();
  void unlock() { lock_.reset(); }
  /// Unlinks the socket; open connections stay.
  void unlink_socket();
  /// True if a process accepts connections at the socket, or if this is not known.
  bool is_answered() const;
  /// Opens a new listening socket at the socket's path. Fails with kInvalidArgument if the path is
  /// too long for a socket, and else with kInternal.
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

/// The run folder of a process that is neither agent nor rank, and has a Unix socket in it. Holds
/// the folder during its life. Its destructor unlinks the socket. Then it removes the folder if it
/// is left over (sweep_run_folders), because a killed agent cannot. With an empty path it does
/// nothing. Not thread-safe.
class SocketFolder {
 public:
  explicit SocketFolder(std::string socket);
  ~SocketFolder();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;

 private:
  std::string socket_;
  std::optional<RunFolder> folder_;
};

/// The common prefix of this user's run folders: "/dev/shm/xylem-1000-".
std::string own_run_folders();

/// Removes this user's left-over run folders on this host. A folder is left over when all processes
/// of its run on this host were killed together. The function visits all paths that begin with
/// `prefix` (see own_run_folders()). It takes a folder's lock before it removes the folder. It
/// removes the folder only if no process uses the folder or answers at its socket. If a process
/// starts to use the folder at that moment, it makes a new folder. Returns the number of removed
/// folders.
std::size_t sweep_run_folders(const std::string& prefix);

/// Calls sweep_run_folders(own_run_folders()). An agent calls it at its start, when agents of
/// earlier runs may have left folders. It calls it again at its end, when the front end of its run
/// may have left one.
void sweep_own_run_folders();

}  // namespace xylem::backend
