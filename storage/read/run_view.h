#pragma once

// What a page, a terminal or a report may ask of a run, live or stored, as values.
//
//   auto view = RunView::open("run.db");
//   auto grid = view->ranks({.begin_ns = 0, .end_ns = 60 * kSecond, .columns = 800});
//
// Answers are of the size of a screen however large the run is. Sums equal what SQL gives over the
// tables of docs/storage-schema.md: nothing is smoothed, and what is an estimate says so. Times are
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

/// Answers over one read-only connection; cheap to open and best not kept while nothing is asked:
/// an open reader keeps the end of a run from making it one plain file. Each answer is of one
/// commit. One thread at a time.
///
/// All fail as RunFile::query does (kTimedOut when a deadline is set and passes), with kNotFound
/// for a world that is not there, and with kInvalidArgument for a range that ends before it begins
/// and for what exceeds a bound. A run in which no rank has been seen yet is no failure: the answer
/// is empty. Several processes that were the same rank are added up.
class RunView {
 public:
  explicit RunView(std::unique_ptr<RunFile> run) : run_(std::move(run)) {}
  /// Fails as RunFile::open.
  static Result<RunView> open(const std::string& path);

  /// Of the whole run; whether it has ended, and how far it has come.
  Result<Scope> scope();
  Result<Overview> overview();
  Result<RankGrid> ranks(const RankGridQuery& query);
  Result<FunctionTable> functions(const FunctionQuery& query);
  Result<Matrix> matrix(const MatrixQuery& query);
  Result<Timeline> timeline(const TimelineQuery& query);
  Result<HostTable> hosts();
  Result<HostSeries> series(const SeriesQuery& query);
  /// As make_tree_report, but a run of which no front end is known yet is an empty tree.
  Result<Tree> tree(std::optional<Nanos> at_ns = std::nullopt);
  Result<Notices> notices(std::uint64_t most = 200);
  /// At most kMaxNotices.
  Result<Alerts> alerts(std::uint64_t most = 200);

  /// For questions in SQL and for deadlines.
  RunFile& file() { return *run_; }

 private:
  std::unique_ptr<RunFile> run_;
};

}  // namespace xylem::storage
