#pragma once

// The file of an earlier run at the path of a new run's file.

#include <string>

#include "base/result.h"

namespace xylem::storage {

struct ReplaceOptions {
  std::string path;    ///< Of the new run's file.
  std::string run_id;  ///< Of the new run.
  bool overwrite = false;
  long pretend_file_system = 0;  ///< As SqliteOptions has it.
};

/// Sets an earlier run's file aside until the new run has recorded something, so that a mistyped
/// command destroys no record: PATH becomes PATH.before-RUN, in the same folder.
///
/// Life: set_aside() before the new store is made; then keep_new() when the new run has recorded
/// something, or undo() when it has ended without. One that is destroyed in between undoes, unless
/// release() was called. The store must be closed before undo. When the process is killed in
/// between, its successor goes on by of_former(). One thread.
class ReplacedRun {
 public:
  /// With `overwrite` a run of xylem at `path` is set aside. Without it only an ended run without
  /// records is set aside. Any other file is left as it is, and make_sqlite_store decides about it.
  /// Fails with
  ///   kInvalidArgument   with `overwrite`: what stands there is a file, but not a run of xylem,
  ///   kUnavailable       another process is writing it,
  ///   kPermissionDenied, kInternal: the system does not let it be renamed.
  static Result<ReplacedRun> set_aside(const ReplaceOptions& options);

  /// What a former process of the run `run_id` has set aside, if it still is.
  static ReplacedRun of_former(const std::string& path, const std::string& run_id);

  ~ReplacedRun();
  ReplacedRun(ReplacedRun&& other) noexcept;
  ReplacedRun& operator=(ReplacedRun&&) = delete;

  /// Whether a file is set aside.
  bool holds() const;
  /// Whether a file is set aside in which something is recorded, or which cannot be read.
  bool holds_record() const;
  /// The new run takes its place for good.
  void keep_new();
  /// Removes the new run's file, and the old one stands there again if there was one. Fails with
  /// kInternal and where the old one is.
  Result<void> undo();
  /// From now on it is another process's.
  void release() { is_ours_ = false; }

 private:
  ReplacedRun(std::string path, const std::string& run_id)
      : path_(std::move(path)), aside_(path_ + ".before-" + run_id) {}

  std::string path_;
  std::string aside_;
  bool is_ours_ = true;
};

}  // namespace xylem::storage
