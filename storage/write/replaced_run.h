#pragma once

// The file of an earlier run at the path of a new run's file.

#include <string>

#include "base/result.h"

namespace xylem::storage {

struct ReplaceOptions {
  std::string path;    ///< Path of the new run's file.
  std::string run_id;  ///< Id of the new run.
  bool overwrite = false;
  long pretend_file_system = 0;  ///< As in SqliteOptions.
};

/// Sets an earlier run's file aside until the new run has recorded data. So a mistyped command
/// destroys no data. The file `PATH` is renamed to `PATH.before-RUN_ID`, in the same folder.
///
/// Call set_aside() before the new store is made. Call keep_new() if the new run has recorded data,
/// or undo() if it has ended without data. If set_aside() has set a file aside and neither of these
/// nor release() was called, the destructor calls undo(). The store must be closed before undo().
/// If the process is killed before undo() or keep_new(), its successor calls of_former().
/// Not thread-safe.
class ReplacedRun {
 public:
  /// Renames the file at `path`. With `overwrite`, the file must be a run of xylem. Without
  /// `overwrite`, only an ended run without data is renamed. Any other file, and a directory, is
  /// left unchanged, and make_sqlite_store() decides about it. Fails with these codes:
  ///   kInvalidArgument   with `overwrite`: the existing file is not a run of xylem,
  ///   kUnavailable       another process is writing it,
  ///   kPermissionDenied, kInternal   the file cannot be opened or renamed.
  static Result<ReplacedRun> set_aside(const ReplaceOptions& options);

  /// Returns the file that a former process of the run `run_id` has set aside, if that file still
  /// exists. The destructor of this object changes no file: if this process fails, another
  /// successor may continue the run.
  static ReplacedRun of_former(const std::string& path, const std::string& run_id);

  ~ReplacedRun();
  ReplacedRun(ReplacedRun&& other) noexcept;
  ReplacedRun& operator=(ReplacedRun&&) = delete;

  /// True if a file is set aside.
  bool holds() const;
  /// True if the file that is set aside has data or cannot be read.
  bool holds_record() const;
  /// Deletes the old file: the new run replaces it for good. If the system does not allow that,
  /// logs an error.
  void keep_new();
  /// Removes the new run's file, and renames the old file back if there was one. Fails with
  /// kPermissionDenied or kInternal; the message has the path of the old file.
  Result<void> undo();
  /// From now on another process decides about the old file.
  void release() { owner_ = Owner::kOther; }

 private:
  /// The process or object that decides about the old file.
  enum class Owner {
    kThis,    ///< The destructor calls undo() if a file is set aside.
    kFormer,  ///< Made by of_former(): the destructor changes no file.
    kOther,   ///< Another process or object decides: holds() is false.
  };

  ReplacedRun(std::string path, const std::string& run_id);

  std::string path_;
  std::string aside_;
  Owner owner_ = Owner::kThis;
};

}  // namespace xylem::storage
