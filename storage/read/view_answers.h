#pragma once

// Arguments and results of the queries of RunView (run_view.h), as values.
//
// Times are nanoseconds of the run; ranges are [begin, end). An answer owns all its data. Answers
// with single calls are in timeline_answers.h.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "storage/alert/alert_rules.h"
#include "storage/read/report.h"
#include "storage/read/tree_report.h"
#include "storage/read/under_way.h"
#include "storage/read/wait_summary.h"

namespace xylem::storage {

/// The common part of all answers.
struct Scope {
  Nanos begin_ns = 0, end_ns = 0;  ///< The time that the answer covers.
  Nanos run_begin_ns = 0;          ///< Usually 0; earlier if a window or an event begins earlier.
  /// End of the run; for a live run, the newest known time. Never earlier than the newest sample of
  /// a host.
  Nanos run_end_ns = 0;
  bool has_ended = false;
  /// True if some times of the answer are estimated from sampled calls.
  bool estimated = false;
  /// Number of lost calls of the whole run. No answer contains these calls.
  std::uint64_t lost_calls = 0;
  /// Number of ranks of the whole run whose account is not complete, for example because the rank
  /// still runs.
  std::uint64_t incomplete_ranks = 0;
};

/// Ranks [first_rank, end_rank) of a world; all ranks by default.
struct RankRange {
  WorldId world{};
  std::optional<std::uint64_t> first_rank = {}, end_rank = {};
};

/// The times [begin_ns, end_ns) of the run; the whole run by default.
struct TimeRange {
  std::optional<Nanos> begin_ns = {}, end_ns = {};
};

/// The quantity in a cell of a grid. It is summed over the windows that begin in the cell.
enum class RankValue {
  kMpi,    ///< Time in MPI, ns.
  kWait,   ///< Time in calls that wait for others (is_waiting() of summaries), ns.
  kBytes,  ///< Payload of all calls, bytes.
  kCalls,
};

struct RankGridQuery {
  RankRange ranks = {};
  TimeRange range = {};
  RankValue value = RankValue::kMpi;
  std::uint64_t columns = 600;  ///< Maximum number of time slots; 1 to kMaxColumns.
  std::uint64_t rows = 256;     ///< Maximum number of rows; 1 to kMaxRows.
};

/// A grid of ranks and time. The length of a slot is a multiple of the run's window length, so no
/// window is in two slots. The range is extended to whole windows. If the number of ranks times the
/// number of windows is above a million, the length of a slot is a multiple of 8, 64, 512 or 4096
/// windows, and the range is extended to whole groups of this size. For the share of time in MPI,
/// divide a cell of kMpi by the same cell of `watched`.
struct RankGrid {
  struct Row {
    std::uint64_t first_rank = 0, ranks = 0;
    std::string host;  ///< Empty: several hosts, or unknown.
    std::uint64_t total = 0;
    std::uint64_t watched_ns = 0;  ///< Sum of `watched`.
    /// Share of the row's watched time, 0 to 1. Only for kMpi and kWait.
    double share() const;
  };
  Scope scope;
  std::uint64_t world_size = 0;
  Nanos slot_ns = 0;  ///< The last slot may be shorter; it ends at scope.end_ns.
  std::uint64_t columns = 0;
  std::vector<Row> rows;
  std::vector<std::uint64_t> cells;  ///< Stored row by row, `columns` cells for each row.
  /// The time in which the row's ranks were watched in each slot, in the order of `cells`, times
  /// the largest number of their threads that called MPI at the same time (at most 64). Empty
  /// unless the value is kMpi or kWait.
  std::vector<std::uint64_t> watched;
  /// Share of the watched time of a cell, 0 to 1; 0 if no rank was watched. Only for kMpi and
  /// kWait.
  double share(std::size_t cell) const;
  /// Only in Timeline::densities: names of classes of functions, and for each cell the index of the
  /// class with the most time. Cells without any time have index 0.
  std::vector<std::string> classes;
  std::vector<std::uint8_t> dominant;
};

struct FunctionQuery {
  RankRange ranks = {};
  /// If a start or an end is given, the sums are made from windows, and the range is extended to
  /// whole windows. This is also done if `series` or `distribution` is set. Otherwise the sums are
  /// the totals of the run.
  TimeRange range = {};
  /// Maximum number of time slots in each function's series, up to kMaxColumns; 0: no series. If
  /// there are many windows, the length of a slot is a multiple of a group of 8, 64, 512, 4096 or
  /// 32768 windows. Then the range is extended to whole groups.
  std::uint64_t series = 0;
  bool distribution = false;
  /// Maximum number of functions. The functions with the most time are kept.
  std::uint64_t limit = 100;
};

/// The functions of a world, summed over ranks and time.
struct FunctionTable {
  struct Function {
    std::string name, function_class;
    std::uint64_t calls = 0, time_ns = 0, bytes = 0, max_ns = 0, ranks = 0;
    bool estimated = false;
    std::vector<std::uint64_t> series_ns;  ///< Time in each slot.
    /// Distribution of durations. The key is a power of two P. The value is the number of calls
    /// that took at least P / 2 ns and less than P ns. Powers without calls have no entry. For
    /// sampled functions the numbers are estimated from the timed calls.
    std::map<std::uint64_t, std::uint64_t> distribution;
  };
  Scope scope;
  std::uint64_t mpi_ns = 0;  ///< Time in all functions.
  Nanos slot_ns = 0;         ///< 0: there is no series.
  std::vector<Function> functions;
  std::uint64_t functions_in_all = 0;
};

enum class MatrixValue {
  kMessages,  ///< Messages that the row's ranks sent to the column's ranks: number and bytes.
  kWaits,  ///< Calls in which the row's ranks waited for the column's ranks: number and time in ns.
};

struct MatrixQuery {
  WorldId world{};
  MatrixValue value = MatrixValue::kMessages;
  /// Ranks of the rows and columns. An end above the world's size means the world's size.
  std::uint64_t first_row = 0, end_row = ~std::uint64_t{0};
  std::uint64_t first_column = 0, end_column = ~std::uint64_t{0};
  std::uint64_t blocks = 256;  ///< Maximum number of blocks on each side; 1 to kMaxBlocks.
};

/// The messages or waits between ranks, over the whole run. Missing cells are 0.
struct Matrix {
  struct Cell {
    std::uint64_t row = 0, column = 0;  ///< First ranks of the blocks.
    std::uint64_t count = 0;            ///< Number of messages or calls.
    std::uint64_t amount = 0;           ///< Bytes or ns.
  };
  Scope scope;
  std::uint64_t world_size = 0;
  std::uint64_t first_row = 0, end_row = 0, first_column = 0, end_column = 0;
  std::uint64_t block = 1;  ///< Number of ranks on each side of a cell.
  std::vector<Cell> cells;  ///< Sorted by row, then by column.
  /// Lost messages of the rows' ranks. In a matrix of waits, `lost_messages` counts receives that
  /// were lost or could not be followed, and `lost_bytes` is 0.
  std::uint64_t lost_messages = 0, lost_bytes = 0;
};

/// Arguments for RunView::under_way().
struct UnderWayQuery {
  RankRange ranks = {};
  std::uint64_t limit = 1000;  ///< Maximum number of calls; 1 to kMaxCalls.
};

/// The calls of a world that have not returned, and calls in which a process ended or a host was
/// lost.
struct UnderWay {
  Scope scope;
  std::vector<CallUnderWay> calls;  ///< The longest first.
  std::uint64_t calls_in_all = 0;
};

/// The hosts and the names of their series.
struct HostTable {
  struct Host {
    LeafId leaf{};
    std::string name;
    std::string lost_reason;              ///< Empty: not lost.
    std::uint64_t ranks = 0;              ///< Processes that registered as ranks.
    std::optional<Nanos> clock_error_ns;  ///< Maximum error of the host's times; nullopt: unknown.
    /// Keyed by the name of the series: the newest value of each host fact, and each metric in the
    /// newest sample of each service.
    std::map<std::string, double> newest;
  };
  Scope scope;
  std::vector<Host> hosts;
  std::vector<std::string> series;  ///< Names of the series of hosts, sorted.
  /// Names of series of ranks. A series of hosts may have the same name.
  std::vector<std::string> rank_series;
};

struct SeriesQuery {
  std::string name;
  std::optional<LeafId> leaf = {};  ///< nullopt: all hosts, up to `limit` of them.
  TimeRange range = {};
  std::uint64_t columns = 300;
  /// If set, the answer has the series of this world's ranks, up to `limit`, instead of the series
  /// of hosts.
  std::optional<WorldId> world = {};
  /// A rank of the world. nullopt: all ranks of the world; if `leaf` is set, only the ranks of that
  /// host.
  std::optional<Rank> rank = {};
  std::uint64_t limit = 256;  ///< Maximum number of lines; 1 to kMaxLines.
};

/// A series of each host or rank, reduced to slots.
struct SeriesTable {
  struct Point {
    std::uint64_t slot = 0;  ///< Slots without a sample have no point.
    double min = 0, mean = 0, max = 0;
    std::uint64_t samples = 0;
  };
  struct Line {
    LeafId leaf{};
    std::string host;
    std::vector<Point> points;
    std::optional<Rank> rank = {};  ///< nullopt: a series of the host.
  };
  Scope scope;
  std::string name;
  Nanos slot_ns = 0;
  std::vector<Line> lines;
  bool is_of_ranks = false;
  /// Number of hosts or ranks with this series. If there are more than `limit`, the number may be
  /// too high: the others are counted if they have samples of the service, even if these samples do
  /// not contain this series.
  std::uint64_t lines_in_all = 0;
  /// If not 0, there are too many samples for one answer. Then, for each host or rank, only the
  /// first sample in each interval of this length is read. The other samples are missing.
  Nanos look_ns = 0;
};

/// The findings of the run (findings.h).
struct RunFindings {
  Scope scope;
  Findings found;
};

struct Overview {
  Scope scope;
  /// The report. The lists have the lengths of ReportLimits, with two exceptions: up to kMaxWorlds
  /// worlds, and no host loads.
  Report report;
  std::uint64_t window_ns = 0;  ///< Length of the run's windows.
  /// Captured calls divided by the run's time; nullopt: the time is 0.
  std::optional<double> calls_per_s;
};

struct Notices {
  struct Notice {
    Nanos at_ns = 0;
    std::string host, role, level, text;
    std::uint64_t dropped = 0;  ///< Number of earlier notices that were dropped.
  };
  Scope scope;
  std::vector<Notice> notices;  ///< Newest first.
  std::uint64_t notices_in_all = 0;
};

/// Alerts (alert_rules.h).
struct Alerts {
  Scope scope;
  /// Open alerts first, then closed alerts; in both groups the newest first.
  std::vector<Alert> alerts;
  std::uint64_t alerts_in_all = 0;
  std::uint64_t open = 0;  ///< Number of open alerts, listed or not.
};

/// Waits and their causes, from events (wait_summary.h).
struct Waits {
  Scope scope;
  WaitSummary summary;
};

/// Call sites, of all worlds and ranks, from events (report.h).
struct CallSites {
  Scope scope;
  Nanos mpi_ns = 0;                     ///< As in Report; the shares are of this time.
  std::vector<Report::CallSite> sites;  ///< The place with the most time first.
  std::uint64_t sites_in_all = 0;
  std::string fault;  ///< Why the events could not be read; empty if they were.
};

/// The tree at one moment (tree_report.h).
struct TreeSnapshot {
  Scope scope;
  TreeReport report;
};

/// Limits of the values in queries. A larger value fails with kInvalidArgument.
constexpr std::uint64_t kMaxColumns = 2000;
constexpr std::uint64_t kMaxRows = 1024;
constexpr std::uint64_t kMaxBlocks = 512;
constexpr std::uint64_t kMaxCalls = 100'000;
constexpr std::uint64_t kMaxNotices = 10'000;
constexpr std::uint64_t kMaxWaits = 10'000;
constexpr std::uint64_t kMaxCallSites = 10'000;
constexpr std::uint64_t kMaxLines = 256;
/// Maximum number of worlds in an Overview. It is large because the page lets users choose a world.
constexpr std::uint64_t kMaxWorlds = 1000;

}  // namespace xylem::storage
