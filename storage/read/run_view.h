#pragma once

// Queries on a live or finished run, for pages, terminals and reports. Answers are values.
//
//   auto view = RunView::open("run.db");
//   auto grid = view->ranks({.begin_ns = 0, .end_ns = 60 * kSecond, .columns = 800});
//
// Grids, matrices, series and timelines have a limited size, however large the run is. Sums are
// equal to the sums that SQL gives for the tables of docs/storage-schema.md. Nothing is smoothed,
// and estimates are marked. Times are nanoseconds of the run.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "storage/read/query.h"
#include "storage/read/timeline_answers.h"
#include "storage/read/view_answers.h"

namespace xylem::storage {

/// Answers queries over one read-only connection. Opening is cheap, so do not keep a RunView
/// between queries: while a reader is open, a run that ends cannot remove SQLite's log. Each answer
/// is from one commit. For several answers from the same commit, use file().hold(). Not
/// thread-safe.
///
/// Every query fails if the file cannot be read (see RunFile::query). It fails with kTimedOut after
/// a deadline, and with kNotFound for an unknown world. It fails with kInvalidArgument if a range
/// of time or of ranks ends before it begins; only for matrix(), such a range of ranks is empty. It
/// also fails with kInvalidArgument if a value is not within its limits. If a run has no ranks yet,
/// the answer is empty; this is not an error. If several processes have the same rank, their
/// numbers are added.
class RunView {
 public:
  explicit RunView(std::unique_ptr<RunFile> run) : run_(std::move(run)) {}
  /// Fails if the file cannot be opened (see RunFile::open).
  static Result<RunView> open(const std::string& path);

  /// Returns the scope of the whole run. It says, for example, whether the run has ended.
  Result<Scope> scope();
  /// overview() and findings() do not compute wait states. They name waits from the wait states
  /// that were given to use_waits(). Without these, they name waits from the estimate.
  /// run_findings.h says why. They may read events to see whether ranks compute in turn. If the run
  /// has many events, they read only some from the middle of the run.
  Result<Overview> overview();
  Result<RunFindings> findings();
  Result<RankGrid> ranks(const RankGridQuery& query);
  Result<FunctionTable> functions(const FunctionQuery& query);
  Result<Matrix> matrix(const MatrixQuery& query);
  Result<Timeline> timeline(const TimelineQuery& query);
  /// Without use_waits(), reads all events, which takes about 0.2 s for a million of them. `limit`:
  /// the maximum number of causes, and of waits; from 1 to kMaxWaits.
  Result<Waits> waits(std::uint64_t limit = 20);
  /// Reads all events, which takes about 0.1 s for a million of them. `limit`: the maximum number
  /// of call sites, from 1 to kMaxCallSites.
  Result<CallSites> call_sites(std::uint64_t limit = 20);
  /// Finds calls. Fails with kInvalidArgument if the run has no function with this name.
  Result<CallSearch> search(const CallSearchQuery& query);
  Result<UnderWay> under_way(const UnderWayQuery& query = {});
  Result<HostTable> hosts();
  Result<SeriesTable> series(const SeriesQuery& query);
  /// Like make_tree_report(), but if no front end of the run is known yet, the tree is empty.
  Result<TreeSnapshot> tree(std::optional<Nanos> at_ns = std::nullopt);
  Result<Notices> notices(std::uint64_t limit = 200);
  /// In notices() and alerts(), `limit` must be from 1 to kMaxNotices.
  Result<Alerts> alerts(std::uint64_t limit = 200);

  /// Uses these wait states of the run (RunFile::wait_states()). Null: none are known.
  void use_waits(std::shared_ptr<const WaitStates> waits) { waits_ = std::move(waits); }

  /// The run's file, for SQL queries, deadlines, and answers from the same commit.
  RunFile& file() { return *run_; }

 private:
  std::unique_ptr<RunFile> run_;
  std::shared_ptr<const WaitStates> waits_;  // Shared, see WaitStates.
};

}  // namespace xylem::storage
