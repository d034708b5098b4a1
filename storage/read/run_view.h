#pragma once

// The queries of pages, terminals and reports on a run, live or stored, as values.
//
//   auto view = RunView::open("run.db");
//   auto grid = view->ranks({.begin_ns = 0, .end_ns = 60 * kSecond, .columns = 800});
//
// Answers have the size of a screen for runs of any size. Sums equal those of SQL over the tables
// of docs/storage-schema.md: nothing is smoothed, and estimates are marked. Times are nanoseconds
// of the run.

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

/// Answers over one read-only connection; cheap to open. Close it between queries: an open reader
/// prevents the end of a run from making its file one plain file. Each answer is of one commit. One
/// thread at a time.
///
/// All fail as RunFile::query does (kTimedOut when a deadline is set and passes), with kNotFound
/// for an unknown world, and with kInvalidArgument for a range that ends before it begins or for
/// values above a limit. For a run without ranks so far the answer is empty; this is not an error.
/// Several processes with the same rank are added up.
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

  /// For SQL queries and deadlines.
  RunFile& file() { return *run_; }

 private:
  std::unique_ptr<RunFile> run_;
};

}  // namespace xylem::storage
