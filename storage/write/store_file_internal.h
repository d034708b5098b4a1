#pragma once

// The file under a store: who may make it, where it really lives, and the room kept aside for the
// end of a run.

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::storage {

/// A file that this process has made for itself and holds against other writers.
///
/// The lock is flock's, which SQLite does not use. The descriptor must outlive SQLite's connection
/// to the file: closing it drops SQLite's own locks too.
struct ClaimedFile {
  std::string path;
  UniqueFd lock;
};

/// Makes an empty file at `path`, mode 0600. With `overwrite`, an existing run of xylem is removed
/// first, with its -wal and -shm; anything else that stands there is never removed.
/// `lock` says whether to hold it by flock (not on network file systems, where that would lock out
/// readers). Fails with
///   kAlreadyExists     it exists and `overwrite` is false,
///   kInvalidArgument   a directory, not a regular file, or not a run of xylem,
///   kUnavailable       another process is writing it,
///   kPermissionDenied, kNotFound (its folder), kExhausted.
Result<ClaimedFile> claim_file(const std::string& path, bool overwrite, bool lock);

/// Looks whether the file at `path` may be replaced by a new run's: a run of xylem that nobody
/// writes. With `lock` it is held by flock for as long as the descriptor lives.
/// Fails with kInvalidArgument (not a run of xylem), kUnavailable (another process is writing it),
/// kPermissionDenied, kNotFound.
Result<UniqueFd> hold_old_run(const std::string& path, bool lock);

/// A file that a former process of the same run has made, to go on with. `lock` as above, where it
/// can be had: a former process that stands still has it for as long as it lives.
/// Fails with kNotFound, kPermissionDenied, kInvalidArgument (not a run of xylem), else kInternal.
Result<ClaimedFile> reclaim_file(const std::string& path, bool lock);

/// f_type of statfs for the folder that `path` is in; 0 when that cannot be asked.
long file_system_of(const std::string& path);
/// NFS, Lustre, GPFS, BeeGFS or CIFS: where several hosts may write and WAL cannot work.
bool is_network_file_system(long type);

/// A folder of this process alone in $TMPDIR (or /tmp), mode 0700. Fails as claim_file.
Result<std::string> make_live_folder();

/// Removes a database file and what SQLite keeps beside it. What is not there is no failure.
void remove_database(const std::string& path);

/// Whether the file may grow to `bytes`, by the room on its disk and this process's limit.
bool fits_file(const std::string& path, std::uint64_t bytes);

/// Room kept aside: disk space held by a file without a name, so that it frees itself when the
/// process ends; and, where files of this process may not grow for ever (RLIMIT_FSIZE), a limit
/// that is lower meanwhile. The limit is the whole process's; children inherit it.
class Reserve {
 public:
  Reserve() = default;
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  ~Reserve() { release(); }

  /// Takes `bytes` on the disk of `path`; when there is not so much room, nothing. Of a limit it
  /// takes a quarter at most.
  void take(const std::string& path, std::size_t bytes);
  void release();
  bool holds() const { return static_cast<bool>(file_); }

 private:
  void lower_limit(std::size_t bytes);

  UniqueFd file_;
  std::optional<rlim_t> limit_before_;
};

}  // namespace xylem::storage
