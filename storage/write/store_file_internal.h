#pragma once

// The file of a store. These functions check who may create the file, choose where it is kept, and
// reserve disk space for the end of a run.

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::storage {

/// A file that this process has created, or continues, and has usually locked against other
/// writers.
///
/// The lock is made with flock(), which SQLite does not use. The descriptor must live longer than
/// SQLite's connection to the file, because closing the descriptor would also release SQLite's own
/// locks.
struct ClaimedFile {
  std::string path;
  UniqueFd lock;
};

/// Creates an empty file at `path`, mode 0600. With `overwrite`, an existing run of xylem is
/// removed first, with its files -wal and -shm. No other file is ever removed. If `lock` is true,
/// the file is locked with flock(). Pass false on network file systems: there the lock would block
/// readers. Fails with these codes:
///   kAlreadyExists     the file exists and `overwrite` is false, or another process just made it,
///   kInvalidArgument   the path is not a regular file, or the file is not a run of xylem,
///   kUnavailable       another process is writing it,
///   kPermissionDenied, kNotFound, kExhausted, kInternal   the system refuses to create the file.
Result<ClaimedFile> claim_file(const std::string& path, bool overwrite, bool lock);

/// Checks that a new run may replace the file at `path`: the file is a run of xylem, and no process
/// is writing it. With `lock`, the file is locked with flock() until the returned descriptor is
/// closed. Fails with kInvalidArgument if the file is not a run of xylem. Fails with kUnavailable
/// if another process is writing it, and with kPermissionDenied, kNotFound or kInternal if it
/// cannot be opened.
Result<UniqueFd> hold_old_run(const std::string& path, bool lock);

/// Opens a file that a former process of the same run has created, to continue it. With `lock`,
/// tries to lock the file with flock(). It is no error if the lock is not free: a former process
/// that hangs may still have it. Fails with kInvalidArgument if the file is not a run of xylem.
/// Other failures are kNotFound, kPermissionDenied and kInternal.
Result<ClaimedFile> reclaim_file(const std::string& path, bool lock);

/// The place of a store's file. SQLite writes the *live file*. Usually this is the file that the
/// user wants. On a network file system the live file is on a local disk, and is copied to the file
/// that the user wants.
struct StorePlace {
  ClaimedFile live;
  std::string target;       ///< Path of the file that the user wants.
  std::string live_folder;  ///< Folder of the live file; empty if the live file is the target.

  bool is_elsewhere() const { return !live_folder.empty(); }
  /// Removes the live file, and `live_folder` if there is one.
  void remove_live() const;
};

/// Claims the file at `path` for a new run. On a network file system, also makes a live file on a
/// local disk, and logs its path. `pretend_file_system` is as in SqliteOptions. Fails if
/// claim_file() or make_live_folder() fails.
Result<StorePlace> claim_place(const std::string& path, bool overwrite, long pretend_file_system);

/// Finds the file of a former process of the same run. If the live file was on a local disk and no
/// longer exists, but `path` exists, the former process has copied everything. Then the file at
/// `path` becomes the live file. Fails if reclaim_file() fails.
Result<StorePlace> reclaim_place(const std::string& path, const std::string& live_path);

/// Returns `f_type` of statfs() for the folder of `path`; 0 if statfs() fails.
long file_system_of(const std::string& path);
/// Returns true for NFS, Lustre, GPFS, BeeGFS and CIFS. Several hosts may write there, so SQLite's
/// write-ahead log cannot work.
bool is_network_file_system(long type);

/// Makes a new folder in $TMPDIR, or in /tmp if $TMPDIR is not set. Only this run uses the folder;
/// its mode is 0700. Fails with kPermissionDenied, kNotFound, kExhausted or kInternal if the folder
/// cannot be made.
Result<std::string> make_live_folder();

/// Removes a database file and the files that SQLite keeps beside it. A missing file is not a
/// failure. Logs an error for the first file that cannot be deleted.
void remove_database(const std::string& path);

/// Returns true if the file can grow to `bytes`: the disk has enough free space, and the process's
/// file size limit allows this size.
bool fits_file(const std::string& path, std::uint64_t bytes);

/// Reserved disk space. A file without a name occupies the space, so the space is freed when the
/// process ends. If the process has a limit for the size of files (RLIMIT_FSIZE), this limit is
/// lowered from take() to release(). The lowered limit applies to the whole process, and child
/// processes inherit it. Called on the thread that calls the store.
class Reserve {
 public:
  Reserve() = default;
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  ~Reserve() { release(); }

  /// Reserves `bytes` on the disk of `path`. Reserves nothing if there is not enough space. Lowers
  /// a file size limit by `bytes`, but by at most a quarter.
  void take(const std::string& path, std::size_t bytes);
  void release();
  bool holds() const { return static_cast<bool>(file_); }

 private:
  void lower_limit(std::size_t bytes);

  UniqueFd file_;
  std::optional<rlim_t> limit_before_;
};

}  // namespace xylem::storage
