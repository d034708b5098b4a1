#pragma once

// The record of a run, from the start of its front end to its end. The record has the run's file,
// and the file of an earlier run at the same path.

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "storage/write/replaced_run.h"
#include "storage/write/store.h"

namespace xylem::storage {

struct RecordOptions {
  std::string path;  ///< As in SqliteOptions.
  /// For a successor of a front end: live_path() of the former store. Empty: the run begins.
  std::string live_path;
  RunFacts facts;                            ///< A successor needs only run_id.
  bool overwrite = false;                    ///< As in ReplaceOptions.
  long pretend_file_system = 0;              ///< As in SqliteOptions.
  AlertLimits alerts = {};                   ///< As in SqliteOptions.
  std::shared_ptr<const StreamFold> fold{};  ///< As in SqliteOptions.
};

/// Decides which of the two runs' files is at the path in the end. The rule: a run without data
/// never replaces a run with data. A job that was not started leaves no file unless it has data.
///
/// Order of calls: open(); keep() when the run has data; then end(), or leave_to_successor(). The
/// destructor closes the store; if none of the three was called, it also restores the earlier run's
/// file. If the process is killed, a successor continues with open(). Not thread-safe.
class RunRecord {
 public:
  /// Begins the run: sets an earlier run's file aside, makes the store and calls its begin_run. In
  /// a successor, continues the former store. Fails as ReplacedRun::set_aside, make_sqlite_store
  /// and Store::begin_run, or as resume_sqlite_store. Then the earlier run's file is at the path
  /// again.
  static Result<RunRecord> open(const RecordOptions& options);

  /// Valid until end().
  Store& store() { return *store_; }
  /// The state before this front end: in the first front end only the epoch. Call it once.
  Past take_past() { return std::move(past_); }

  /// The run has data. Deletes the earlier run's file; if the system does not allow
  /// that, logs an error.
  void keep() { replaced_.keep_new(); }

  /// Closes the store; no other thread may use it any more. `holds_data`: keep() was called, here
  /// or by a former front end. Returns true if an earlier run with data is at the path again. If
  /// its file cannot be renamed, logs an error.
  bool end(bool job_was_started, bool holds_data);

  /// Another front end has taken over the run: leaves the decision to it.
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
