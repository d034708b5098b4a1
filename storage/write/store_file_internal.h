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

/// A file that this process has created and locked against other writers.
///
/// The lock is made with flock(). SQLite does not use flock(). The descriptor must live longer than
/// SQLite's connection to the file, because closing it would also release SQLite's own locks.
struct ClaimedFile {
  std::string path;
  UniqueFd lock;
};

/// Creates an empty file at `path`, mode 0600. With `overwrite`, an existing run of xylem is
/// removed first, with its -wal and -shm. No other file is ever removed. If `lock` is true, the
/// file is locked by flock. Pass false on network file systems, where the lock would lock out
/// readers. Fails with
///   kAlreadyExists     the file exists and `overwrite` is false,
///   kInvalidArgument   the path is not a regular file, or the file is not a run of xylem,
///   kUnavailable       another process is writing it,
///   kPermissionDenied, kNotFound, kExhausted, kInternal   the system refuses to create the file.
Result<ClaimedFile> claim_file(const std::string& path, bool overwrite, bool lock);

/// Checks that a new run may replace the file at `path`: it must be a run of xylem that no process
/// writes. With `lock`, the file is locked by flock as long as the descriptor lives. Fails with
/// kInvalidArgument if it is not a run of xylem, and with kUnavailable if another process is
/// writing it. Fails with kPermissionDenied or kNotFound if it cannot be opened.
Result<UniqueFd> hold_old_run(const std::string& path, bool lock);

/// Opens a file that a former process of the same run has created, to continue it. With `lock`,
/// tries to lock the file by flock. It is no error if the lock is not free: a former process that
/// hangs keeps it as long as it lives. Fails with kInvalidArgument if the file is not a run of
/// xylem. Otherwise fails with kNotFound, kPermissionDenied or kInternal.
Result<ClaimedFile> reclaim_file(const std::string& path, bool lock);

/// Where a store keeps its file. Usually the live file, which SQLite writes, is the file that the
/// user wants. On a network file system it is another one, on a local disk, and is copied.
struct StorePlace {
  ClaimedFile live;
  std::string target;       ///< Where the user wants the file.
  std::string live_folder;  ///< Folder of the live file; empty if the live file is the target.

  bool is_elsewhere() const { return !live_folder.empty(); }
  /// Removes the live file, and `live_folder` if there is one.
  void remove_live() const;
};

/// Claims the file at `path` for a new run. On a network file system, also makes a live file
/// elsewhere, and logs where it is. `pretend_file_system` is that of SqliteOptions. Fails if
/// claim_file() or make_live_folder() fails.
Result<StorePlace> claim_place(const std::string& path, bool overwrite, long pretend_file_system);

/// Finds the file of a former process of the same run again. The live file may have been elsewhere
/// and be gone while there is a file at `path`. Then the former process has copied everything, and
/// the file at `path` is the live file. Fails like reclaim_file.
Result<StorePlace> reclaim_place(const std::string& path, const std::string& live_path);

/// Returns f_type of statfs for the folder of `path`; 0 if statfs fails.
long file_system_of(const std::string& path);
/// True for NFS, Lustre, GPFS, BeeGFS and CIFS. Several hosts may write there, and WAL cannot work.
bool is_network_file_system(long type);

/// Makes a folder for this process alone in $TMPDIR (or /tmp), mode 0700. Fails with
/// kPermissionDenied, kNotFound, kExhausted or kInternal if the folder cannot be made.
Result<std::string> make_live_folder();

/// Removes a database file and the files that SQLite keeps beside it. A missing file is not a
/// failure. Logs an error for the first file that cannot be deleted.
void remove_database(const std::string& path);

/// Returns true if the file can grow to `bytes`: its disk has enough free space, and this process's
/// file size limit allows it.
bool fits_file(const std::string& path, std::uint64_t bytes);

/// Reserved disk space. A file without a name occupies it, so it is freed when the process ends. If
/// the size of files is limited (RLIMIT_FSIZE), that limit is also lowered while space is reserved.
/// The lowered limit applies to the whole process, and children inherit it.
class Reserve {
 public:
  Reserve() = default;
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  ~Reserve() { release(); }

  /// Reserves `bytes` on the disk of `path`; reserves nothing if there is not enough space. Lowers
  /// a file size limit by at most a quarter.
  void take(const std::string& path, std::size_t bytes);
  void release();
  bool holds() const { return static_cast<bool>(file_); }

 private:
  void lower_limit(std::size_t bytes);

  UniqueFd file_;
  std::optional<rlim_t> limit_before_;
};

}  // namespace xylem::storage
