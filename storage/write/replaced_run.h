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

/// Sets an earlier run's file aside until the new run has recorded something, so that a mistyped
/// command destroys no record: PATH becomes PATH.before-RUN, in the same folder.
///
/// Order of calls: set_aside() before the new store is made; then keep_new() when the new run has
/// recorded something, or undo() when it has ended without. The destructor undoes, unless one of
/// them or release() was called. The store must be closed before undo. If the process is killed
/// before, its successor continues with of_former(). One thread.
class ReplacedRun {
 public:
  /// With `overwrite` a run of xylem at `path` is set aside. Without it only an ended run without
  /// records is set aside. Any other file is left unchanged, and make_sqlite_store decides about
  /// it. Fails with
  ///   kInvalidArgument   with `overwrite`: the existing file is not a run of xylem,
  ///   kUnavailable       another process is writing it,
  ///   kPermissionDenied, kInternal: the system does not allow to rename it.
  static Result<ReplacedRun> set_aside(const ReplaceOptions& options);

  /// The file that a former process of the run `run_id` has set aside, if it still exists.
  static ReplacedRun of_former(const std::string& path, const std::string& run_id);

  ~ReplacedRun();
  ReplacedRun(ReplacedRun&& other) noexcept;
  ReplacedRun& operator=(ReplacedRun&&) = delete;

  /// Whether a file is set aside.
  bool holds() const;
  /// Whether the file that is set aside has records, or cannot be read.
  bool holds_record() const;
  /// The new run replaces it for good.
  void keep_new();
  /// Removes the new run's file and restores the old one, if there was one. Fails with kInternal
  /// and the path of the old one.
  Result<void> undo();
  /// Leaves it to another process.
  void release() { is_ours_ = false; }

 private:
  ReplacedRun(std::string path, const std::string& run_id)
      : path_(std::move(path)), aside_(path_ + ".before-" + run_id) {}

  std::string path_;
  std::string aside_;
  bool is_ours_ = true;
};

}  // namespace xylem::storage
