#pragma once

// Queries on a run and their answers, as values: arguments and results of RunView (run_view.h).
//
// Times are nanoseconds of the run; ranges are [begin, end). An answer owns all its data.

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

namespace xylem::storage {

/// The common part of all answers.
struct Scope {
  Nanos begin_ns = 0, end_ns = 0;  ///< The time that the answer covers.
  Nanos run_begin_ns = 0;          ///< 0, or the first event, if it is earlier.
  /// The run's end, or the newest known time of a live run; not before the last sample.
  Nanos run_end_ns = 0;
  bool has_ended = false;
  bool estimated = false;              ///< Some of its times are estimated from sampled calls.
  std::uint64_t lost_calls = 0;        ///< In the whole run: calls that are in no answer.
  std::uint64_t incomplete_ranks = 0;  ///< In the whole run: ranks with missing data.
};

/// Ranks [first_rank, end_rank) of a world; by default all.
struct RankRange {
  WorldId world{};
  std::optional<std::uint64_t> first_rank = {}, end_rank = {};
};

/// [begin_ns, end_ns) of the run; by default all.
struct TimeRange {
  std::optional<Nanos> begin_ns = {}, end_ns = {};
};

/// The quantity that a cell of a grid sums over the windows that begin in it.
enum class RankValue {
  kMpi,    ///< Time in MPI, ns.
  kWait,   ///< Time in completions, collectives and probes, ns: calls that wait for others.
  kBytes,  ///< Payload of those calls.
  kCalls,
};

struct RankGridQuery {
  RankRange ranks = {};
  TimeRange range = {};
  RankValue value = RankValue::kMpi;
  std::uint64_t columns = 600;  ///< Maximum number of time slots; 1 to kMaxColumns.
  std::uint64_t rows = 256;     ///< Maximum number of rows; 1 to kMaxRows.
};

/// Ranks x time. A slot is a multiple of the run's windows, so that no window is in two slots. The
/// range is widened to whole windows; if it has more than some million windows of a rank, to whole
/// groups of 8, 64, 512 or 4096 windows. A cell of kMpi, divided by the slot's length and the ranks
/// of its row, is the share of time in MPI (with several threads it may be above 1).
struct RankGrid {
  struct Row {
    std::uint64_t first_rank = 0, ranks = 0;
    std::string host;  ///< Empty: several, or unknown.
    std::uint64_t total = 0;
  };
  Scope scope;
  std::uint64_t world_size = 0;
  Nanos slot_ns = 0;  ///< The last one may be shorter: up to scope.end_ns.
  std::uint64_t columns = 0;
  std::vector<Row> rows;
  std::vector<std::uint64_t> cells;  ///< Row by row.
};

struct FunctionQuery {
  RankRange ranks = {};
  TimeRange range = {};  ///< If it is a part of the run, sums are made from windows.
  /// Time slots of each function's series, up to kMaxColumns; 0: none. If there are many windows, a
  /// slot, and with it the range, is a multiple of 8 windows, or of 64, and so on.
  std::uint64_t series = 0;
  bool distribution = false;
  std::uint64_t most = 100;  ///< Maximum number of functions: those with most time.
};

/// Functions of a world over ranks and time.
struct FunctionTable {
  struct Function {
    std::string name, function_class;
    std::uint64_t calls = 0, time_ns = 0, bytes = 0, max_ns = 0, ranks = 0;
    bool estimated = false;
    std::vector<std::uint64_t> series_ns;  ///< Time in each slot.
    /// The number of calls that took less than a power of two of ns, and at least half of it, for
    /// each power that occurs. For sampled functions it is estimated from the timed calls.
    std::map<std::uint64_t, std::uint64_t> distribution;
  };
  Scope scope;
  std::uint64_t mpi_ns = 0;  ///< Of all functions.
  Nanos slot_ns = 0;         ///< 0: there is no series.
  std::vector<Function> functions;
  std::uint64_t functions_in_all = 0;
};

enum class MatrixValue {
  kMessages,  ///< From row to column: messages and their bytes.
  kWaits,     ///< Row waited for column: calls and their time in ns.
};

struct MatrixQuery {
  WorldId world{};
  MatrixValue value = MatrixValue::kMessages;
  std::uint64_t first_row = 0, end_row = ~std::uint64_t{0};  ///< Ranks, cut to the world's size.
  std::uint64_t first_column = 0, end_column = ~std::uint64_t{0};
  std::uint64_t blocks = 256;  ///< Maximum number on each side; 1 to kMaxBlocks.
};

/// Who sent to whom, or waited for whom, over the whole run. Missing cells are 0.
struct Matrix {
  struct Cell {
    std::uint64_t row = 0, column = 0;  ///< First ranks of the blocks.
    std::uint64_t count = 0;            ///< Messages, or calls.
    std::uint64_t amount = 0;           ///< Bytes, or ns.
  };
  Scope scope;
  std::uint64_t world_size = 0;
  std::uint64_t first_row = 0, end_row = 0, first_column = 0, end_column = 0;
  std::uint64_t block = 1;                          ///< Ranks on each side of a cell.
  std::vector<Cell> cells;                          ///< By row, then column.
  std::uint64_t lost_messages = 0, lost_bytes = 0;  ///< Of the rows; for waits: lost receives.
};

struct TimelineQuery {
  RankRange ranks = {};
  TimeRange range = {};
  std::uint64_t columns = 600, rows = 256;  ///< Of the grid, as in RankGridQuery.
  std::uint64_t most = 5000;  ///< Maximum number of calls, and of messages; to kMaxCalls.
};

/// What ranks did in a range of time: single calls if at most kMaxTimelineChunks chunks of events
/// touch the range, else windows.
struct Timeline {
  /// The function and the times of a call are always known; peer, tag and comm may be missing.
  struct Call {
    std::uint64_t rank = 0;
    std::uint32_t thread = 0;
    Nanos begin_ns = 0, end_ns = 0;
    std::string function, function_class;
    std::optional<std::int64_t> peer, tag, comm;
    std::uint64_t bytes = 0, calls = 1;
    bool estimated = false;  ///< Its time is an estimate for `calls` calls.
  };
  /// A message, drawn from the begin of the sending call to the end of the receiving call.
  struct Message {
    std::uint64_t source = 0, destination = 0;
    Nanos sent_ns = 0;
    /// None: the receive is not among the calls of this range and these ranks. It may be before
    /// sent_ns by the error of the clocks.
    std::optional<Nanos> received_ns;
    std::uint64_t bytes = 0;
    std::optional<std::int64_t> tag;
  };
  /// A long call: its exact times, or its window.
  struct LongCall {
    std::uint64_t rank = 0;
    std::string function;
    std::uint64_t duration_ns = 0;
    Nanos begin_ns = 0, end_ns = 0;
  };
  Scope scope;
  bool has_calls = false;  ///< Else see `grid`.
  std::string reason;      ///< Why there are no single calls, and what to do; else empty.
  /// A shorter time or fewer ranks would give single calls.
  bool too_many = false;
  RankGrid grid;
  std::vector<Call> calls;  ///< By rank and begin; if there are too many, the longest.
  std::uint64_t calls_in_all = 0;
  /// By time. Sends and receives are paired by order within the range, for each source,
  /// destination, communicator and tag: near the range's edges a pair may be wrong.
  std::vector<Message> messages;
  std::uint64_t messages_in_all = 0;
  /// Ten, longest first. Without single calls: only the longest of each rank and window.
  std::vector<LongCall> longest;
};

/// The hosts and the names of their series.
struct HostTable {
  struct Host {
    LeafId leaf{};
    std::string name;
    std::string lost_reason;              ///< Empty: not lost.
    std::uint64_t ranks = 0;              ///< Processes that called MPI_Init.
    std::optional<Nanos> clock_error_ns;  ///< Maximum error of its times; none: unknown.
    /// By name: the newest value of each fact and of each service.
    std::map<std::string, double> newest;
  };
  Scope scope;
  std::vector<Host> hosts;
  std::vector<std::string> series;       ///< Names, sorted.
  std::vector<std::string> rank_series;  ///< Of ranks; hosts' series may have the same names.
};

struct SeriesQuery {
  std::string name;
  std::optional<LeafId> leaf = {};  ///< None: all hosts, up to `most` of them.
  TimeRange range = {};
  std::uint64_t columns = 300;
  std::optional<WorldId> world = {};  ///< Series of its ranks instead of hosts, up to `most`.
  std::optional<Rank> rank = {};      ///< In the world; none: all, or those of `leaf`.
  std::uint64_t most = 256;           ///< Lines; 1 to kMaxLines.
};

/// A series of each host or rank, reduced to slots.
struct HostSeries {
  struct Point {
    std::uint64_t slot = 0;  ///< Slots without a sample have no point.
    double least = 0, mean = 0, most = 0;
    std::uint64_t samples = 0;
  };
  struct Line {
    LeafId leaf{};
    std::string host;
    std::vector<Point> points;
    std::optional<Rank> rank = {};  ///< None: a series of the host.
  };
  Scope scope;
  std::string name;
  Nanos slot_ns = 0;
  std::vector<Line> lines;
  bool is_of_ranks = false;
  /// Hosts or ranks that have such a series. With more than `most` lines: all that have samples,
  /// even if these may lack the number.
  std::uint64_t lines_in_all = 0;
  /// Not 0: there are too many samples for one answer, and of each host or rank only the first in
  /// this much time is read. The samples between are missing.
  Nanos look_ns = 0;
};

struct Overview {
  Scope scope;
  Report report;                      ///< With short lists.
  std::uint64_t window_ns = 0;        ///< Length of the run's windows.
  std::optional<double> calls_per_s;  ///< Captured calls over the run's time; none: the time is 0.
};

struct Notices {
  struct Notice {
    Nanos at_ns = 0;
    std::string host, role, level, text;
    std::uint64_t dropped = 0;  ///< Number of earlier ones that were not passed on.
  };
  Scope scope;
  std::vector<Notice> notices;  ///< Newest first.
  std::uint64_t notices_in_all = 0;
};

/// Alerts (alert_rules.h).
struct Alerts {
  Scope scope;
  std::vector<Alert> alerts;  ///< Open ones first, then the newest.
  std::uint64_t alerts_in_all = 0;
  std::uint64_t open = 0;  ///< Open ones of all alerts.
};

struct Tree {
  Scope scope;
  TreeReport report;
};

/// Limits of queries; a larger value is kInvalidArgument.
constexpr std::uint64_t kMaxColumns = 2000;
constexpr std::uint64_t kMaxRows = 1024;
constexpr std::uint64_t kMaxBlocks = 512;
constexpr std::uint64_t kMaxCalls = 100'000;
constexpr std::uint64_t kMaxNotices = 10'000;
constexpr std::uint64_t kMaxWorlds = 1000;  ///< In an Overview; the page lets users choose one.
constexpr std::uint64_t kMaxLines = 256;
/// Chunks have up to 8192 calls: this many take some 150 ms and 100 MB.
constexpr std::uint64_t kMaxTimelineChunks = 128;

}  // namespace xylem::storage
