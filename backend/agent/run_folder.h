#pragma once

// Where the processes of a run meet on a host: /dev/shm/xylem-UID-RUN.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

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

  /// Lives here from now on, with what is forked from this process: a shared lock on the folder
  /// itself, which the kernel takes away with the last of them, however they end. Whoever sweeps
  /// leaves the folder alone. Best before a daemon is forked, while the starter holds the lock.
  void hold();

  bool is_there() const;
  const std::string& path() const noexcept { return path_; }
  /// Takes the lock if nobody has it. Held until unlock() or remove(). False without a folder.
  bool try_lock();
  void unlock() { lock_.reset(); }
  /// Takes the socket's name away; who is connected stays connected.
  void unlink_socket();
  /// Somebody accepts at the socket, or may: it is not plainly dead.
  bool is_answered() const;
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
  UniqueFd held_;
};

/// What the paths of this user's run folders begin with: "/dev/shm/xylem-1000-".
std::string own_run_folders();

/// Removes this user's run folders on this host, of any run, in which nobody lives: left behind
/// where all that lived there were killed at once. Looks at paths that begin with `prefix`
/// (own_run_folders()). A folder goes only when nobody holds it, nobody registers there (the
/// lock is taken meanwhile) and nobody answers at its socket; a process that begins to use it at
/// that moment makes it anew. Returns how many went.
std::size_t sweep_run_folders(const std::string& prefix);

}  // namespace xylem::backend
