#pragma once

// Queries on a run, live or stored, for pages, terminals and reports. Answers are values.
//
//   auto view = RunView::open("run.db");
//   auto grid = view->ranks({.begin_ns = 0, .end_ns = 60 * kSecond, .columns = 800});
//
// Answers fit on a screen for runs of any size. Sums are the same as the sums that SQL gives for
// the tables of docs/storage-schema.md. Nothing is smoothed, and estimates are marked. Times are
// nanoseconds of the run.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "storage/read/query.h"
#include "storage/read/view_answers.h"

namespace xylem::storage {

/// Answers queries over one read-only connection, which is cheap to open. Close it between queries:
/// while any reader is open, the end of a run cannot write SQLite's log into the run's file. Each
/// answer is from one commit. Not thread-safe.
///
/// Every query fails if the file cannot be read (see RunFile::query). It fails with kTimedOut if a
/// deadline is set and passes, and with kNotFound for an unknown world. It fails with
/// kInvalidArgument for a range that ends before it begins, and for values above a limit. If a run
/// has no ranks yet, the answer is empty; this is not an error. Several processes with the same
/// rank are added together.
class RunView {
 public:
  explicit RunView(std::unique_ptr<RunFile> run) : run_(std::move(run)) {}
  /// Fails if the file cannot be opened (see RunFile::open).
  static Result<RunView> open(const std::string& path);

  /// Returns the scope of the whole run: whether it has ended, and its newest time.
  Result<Scope> scope();
  Result<Overview> overview();
  Result<RankGrid> ranks(const RankGridQuery& query);
  Result<FunctionTable> functions(const FunctionQuery& query);
  Result<Matrix> matrix(const MatrixQuery& query);
  Result<Timeline> timeline(const TimelineQuery& query);
  Result<HostTable> hosts();
  Result<HostSeries> series(const SeriesQuery& query);
  /// Like make_tree_report(), but if no front end of the run is known yet, the tree is empty.
  Result<Tree> tree(std::optional<Nanos> at_ns = std::nullopt);
  Result<Notices> notices(std::uint64_t most = 200);
  /// `most` is at most kMaxNotices.
  Result<Alerts> alerts(std::uint64_t most = 200);

  /// The run's file, for SQL queries and deadlines.
  RunFile& file() { return *run_; }

 private:
  std::unique_ptr<RunFile> run_;
};

}  // namespace xylem::storage
