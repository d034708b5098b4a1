#pragma once

// The files of a run, from the start to the end of its front end: the run's own file, and the file
// of an earlier run at the same path.

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "storage/write/replaced_run.h"
#include "storage/write/store.h"

namespace xylem::storage {

struct RecordOptions {
  std::string path;  ///< As in SqliteOptions.
  /// For a successor of a front end: live_path() of the former store. Empty in the first front end.
  std::string live_path;
  RunFacts facts;                            ///< A successor needs only run_id.
  bool overwrite = false;                    ///< As in ReplaceOptions.
  long pretend_file_system = 0;              ///< As in SqliteOptions.
  AlertLimits alerts = {};                   ///< As in SqliteOptions.
  AlertListener on_alert{};                  ///< As in SqliteOptions.
  std::shared_ptr<const StreamFold> fold{};  ///< As in SqliteOptions.
};

/// Decides which of the two runs' files is at the path in the end. A run without data never
/// replaces a run with data. If the job was not started and there is no data, the run leaves no
/// file.
///
/// Order of calls: open(); keep() when the run has data; then end() or leave_to_successor(). The
/// destructor closes the store. If the run began in this process and none of keep(), end() and
/// leave_to_successor() was called, it also restores the earlier run's file. A successor's
/// destructor changes no file. If the process is killed, a successor continues with open(). Not
/// thread-safe.
class RunRecord {
 public:
  /// Begins the run: sets an earlier run's file aside, makes the store and calls
  /// Store::begin_run(). Fails if ReplacedRun::set_aside(), make_sqlite_store() or
  /// Store::begin_run() fails. In a successor, continues the former store; fails if
  /// resume_sqlite_store() fails, and then leaves all files as they are. If the start of a run
  /// fails while a file is set aside, this file is renamed back and the new run's file is removed.
  static Result<RunRecord> open(const RecordOptions& options);

  /// Returns the store. It is valid until end().
  Store& store() { return *store_; }
  /// Returns the state that former front ends have left. In the first front end only the epoch is
  /// set. Call it once.
  Past take_past() { return std::move(past_); }

  /// Call it when the run has data. Deletes the earlier run's file. If the system does not allow
  /// that, logs an error.
  void keep() { replaced_.keep_new(); }

  /// Closes the store; no other thread must use it any more. `holds_data` is true if this or a
  /// former front end has called keep(). Returns true if an earlier run with data gets its path
  /// back. If the file of that run cannot be renamed, logs an error and also returns true.
  bool end(bool job_was_started, bool holds_data);

  /// Call it if another front end has taken over the run. That front end then decides about the
  /// files.
  void leave_to_successor() { replaced_.release(); }

 private:
  RunRecord(ReplacedRun replaced, ResumedStore opened)
      : replaced_(std::move(replaced)),
        store_(std::move(opened.store)),
        past_(std::move(opened.past)) {}

  ReplacedRun replaced_;  // Destroyed last: the store must be closed before the files are renamed.
  std::unique_ptr<Store> store_;
  Past past_;
};

}  // namespace xylem::storage
