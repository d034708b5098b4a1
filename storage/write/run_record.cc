#include "storage/write/run_record.h"

#include "base/log.h"

namespace xylem::storage {
namespace {

Result<ReplacedRun> replaced_run(const RecordOptions& options) {
  if (!options.live_path.empty()) {
    return ReplacedRun::of_former(options.path, options.facts.run_id);
  }
  ReplaceOptions replace;
  replace.path = options.path;
  replace.run_id = options.facts.run_id;
  replace.overwrite = options.overwrite;
  replace.pretend_file_system = options.pretend_file_system;
  return ReplacedRun::set_aside(replace);
}

Result<ResumedStore> resume_store(const RecordOptions& options) {
  ResumeOptions former;
  former.path = options.path;
  former.live_path = options.live_path;
  former.run_id = options.facts.run_id;
  former.fold = options.fold;
  former.alerts = options.alerts;
  former.on_alert = options.on_alert;
  return resume_sqlite_store(former);
}

Result<ResumedStore> begin_store(const RecordOptions& options) {
  SqliteOptions begin;
  begin.path = options.path;
  begin.pretend_file_system = options.pretend_file_system;
  begin.fold = options.fold;
  begin.alerts = options.alerts;
  begin.on_alert = options.on_alert;
  auto store = make_sqlite_store(begin);
  if (!store) return unexpected(std::move(store.error()));
  if (auto begun = (*store)->begin_run(options.facts); !begun) {
    return unexpected(std::move(begun.error()));
  }
  Past past;
  past.epoch_ns = options.facts.epoch_ns;
  return ResumedStore{*std::move(store), std::move(past)};
}

}  // namespace

Result<RunRecord> RunRecord::open(const RecordOptions& options) {
  auto replaced = replaced_run(options);
  if (!replaced) return unexpected(std::move(replaced.error()));
  auto opened = options.live_path.empty() ? begin_store(options) : resume_store(options);
  if (!opened) return unexpected(std::move(opened.error()));
  return RunRecord(*std::move(replaced), *std::move(opened));
}

bool RunRecord::end(bool job_was_started, bool holds_data) {
  store_.reset();
  const bool is_none = !job_was_started && !holds_data;
  // If a former front end could not delete the old file, it is still there.
  const bool keeps_old = !holds_data && replaced_.holds_record();
  if (is_none || keeps_old) {
    if (auto undone = replaced_.undo(); !undone) log(Level::kError, undone.error().message);
  } else {
    replaced_.keep_new();
  }
  return keeps_old;
}

}  // namespace xylem::storage
