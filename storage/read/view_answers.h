#pragma once

// Questions to a run and their answers, as values: what RunView (run_view.h) takes and gives.
//
// Times are nanoseconds of the run; ranges are [begin, end). An answer owns all that it holds.

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

/// What each answer says of itself.
struct Scope {
  Nanos begin_ns = 0, end_ns = 0;  ///< What the answer covers, [begin, end).
  Nanos run_begin_ns = 0;          ///< 0, or the first event where one is before it.
  /// The run's end, or the newest that is known while it lives; not before the last sample.
  Nanos run_end_ns = 0;
  bool has_ended = false;
  bool estimated = false;              ///< Some of its times are those of sampled calls, scaled up.
  std::uint64_t lost_calls = 0;        ///< Of the whole run: calls that are in no answer.
  std::uint64_t incomplete_ranks = 0;  ///< Of the whole run: something of theirs may be missing.
};

/// Ranks [first_rank, end_rank) of a world; all of it where none is named.
struct RankRange {
  WorldId world{};
  std::optional<std::uint64_t> first_rank = {}, end_rank = {};
};

/// [begin_ns, end_ns) of the run; all of it where none is named.
struct TimeRange {
  std::optional<Nanos> begin_ns = {}, end_ns = {};
};

/// What a cell of a grid sums up over the windows that begin in it.
enum class RankValue {
  kMpi,    ///< Time in MPI, ns.
  kWait,   ///< Time in completions, collectives and probes, ns: calls that last until others come.
  kBytes,  ///< Payload of those calls.
  kCalls,
};

struct RankGridQuery {
  RankRange ranks = {};
  TimeRange range = {};
  RankValue value = RankValue::kMpi;
  std::uint64_t columns = 600;  ///< At most so many time slots; 1 to kMaxColumns.
  std::uint64_t rows = 256;     ///< At most so many rows; 1 to kMaxRows.
};

/// Ranks x time. A slot is a multiple of the run's windows, so that no window lies in two; the
/// range is widened to whole windows, or where there are more than some million windows of a rank
/// in it, to whole groups of 8, 64, 512 or 4096. Divided by the slot's length and the ranks of its
/// row, a cell of kMpi is the share of time in MPI (of several threads it may be above 1).
struct RankGrid {
  struct Row {
    std::uint64_t first_rank = 0, ranks = 0;
    std::string host;  ///< Empty: several, or not known.
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
  TimeRange range = {};  ///< Of part of the run: sums are made from windows.
  /// Time slots of each function's series, up to kMaxColumns; 0: none. Of many windows a slot, and
  /// with it the range, is a multiple of 8 of them, or of 64, and so on.
  std::uint64_t series = 0;
  bool distribution = false;
  std::uint64_t most = 100;  ///< At most so many functions, those with most time.
};

/// Functions of a world over ranks and time.
struct FunctionTable {
  struct Function {
    std::string name, function_class;
    std::uint64_t calls = 0, time_ns = 0, bytes = 0, max_ns = 0, ranks = 0;
    bool estimated = false;
    std::vector<std::uint64_t> series_ns;  ///< Time in each slot.
    /// How many calls took less than so many ns, and at least half of it: for each power of two
    /// that occurs. Of sampled functions the calls that were timed, scaled up.
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
  std::uint64_t blocks = 256;  ///< At most so many a side; 1 to kMaxBlocks.
};

/// Who sent to whom, or waited for whom, over the whole run. Cells that are not here are 0.
struct Matrix {
  struct Cell {
    std::uint64_t row = 0, column = 0;  ///< First ranks of the blocks.
    std::uint64_t count = 0;            ///< Messages, or calls.
    std::uint64_t amount = 0;           ///< Bytes, or ns.
  };
  Scope scope;
  std::uint64_t world_size = 0;
  std::uint64_t first_row = 0, end_row = 0, first_column = 0, end_column = 0;
  std::uint64_t block = 1;                          ///< Ranks a side of a cell.
  std::vector<Cell> cells;                          ///< By row, then column.
  std::uint64_t lost_messages = 0, lost_bytes = 0;  ///< Of the rows; lost receives where waits are.
};

struct TimelineQuery {
  RankRange ranks = {};
  TimeRange range = {};
  std::uint64_t columns = 600, rows = 256;  ///< Of the grid, as in RankGridQuery.
  std::uint64_t most = 5000;                ///< At most so many calls, and messages; to kMaxCalls.
};

/// What ranks did in a time: single calls where the chunks of events that meet the range are no
/// more than kMaxTimelineChunks, else windows.
struct Timeline {
  /// Of a call only `function` and its times are always known; peer, tag, comm: none when not.
  struct Call {
    std::uint64_t rank = 0;
    std::uint32_t thread = 0;
    Nanos begin_ns = 0, end_ns = 0;
    std::string function, function_class;
    std::optional<std::int64_t> peer, tag, comm;
    std::uint64_t bytes = 0, calls = 1;
    bool estimated = false;  ///< Its time stands for those of `calls` calls.
  };
  /// Payload on its way, drawn from the begin of what sent it to the end of what received it.
  struct Message {
    std::uint64_t source = 0, destination = 0;
    Nanos sent_ns = 0;
    /// None: not among the calls of this range and these ranks. By as much as clocks are apart it
    /// may be before sent_ns.
    std::optional<Nanos> received_ns;
    std::uint64_t bytes = 0;
    std::optional<std::int64_t> tag;
  };
  /// A long call: where it lies exactly, or in which window.
  struct LongCall {
    std::uint64_t rank = 0;
    std::string function;
    std::uint64_t duration_ns = 0;
    Nanos begin_ns = 0, end_ns = 0;
  };
  Scope scope;
  bool has_calls = false;  ///< Else `grid` tells.
  std::string reason;      ///< Of no single calls, with what to do; empty when there are.
  bool too_many =
      false;  ///< There are single calls, but a shorter time or fewer ranks must be asked for.
  RankGrid grid;
  std::vector<Call> calls;  ///< By rank and begin; the longest of them where there are more.
  std::uint64_t calls_in_all = 0;
  /// By time. Pairs are found by order within the range, for each source, destination,
  /// communicator and tag: near its edges a pair may be wrong.
  std::vector<Message> messages;
  std::uint64_t messages_in_all = 0;
  /// Ten, longest first. Where there are no single calls: of each rank and window only the longest.
  std::vector<LongCall> longest;
};

/// What may be asked of hosts.
struct HostTable {
  struct Host {
    LeafId leaf{};
    std::string name;
    std::string lost_reason;              ///< Empty: not lost.
    std::uint64_t ranks = 0;              ///< Processes that called MPI_Init.
    std::optional<Nanos> clock_error_ns;  ///< Bound of its times; none: not known.
    /// By name: of each series of facts, and of the newest sample of each service.
    std::map<std::string, double> newest;
  };
  Scope scope;
  std::vector<Host> hosts;
  std::vector<std::string> series;       ///< Names, sorted.
  std::vector<std::string> rank_series;  ///< Of ranks; may be names of hosts' series, too.
};

struct SeriesQuery {
  std::string name;
  std::optional<LeafId> leaf = {};  ///< None: all hosts, up to `most` of them.
  TimeRange range = {};
  std::uint64_t columns = 300;
  std::optional<WorldId> world = {};  ///< Its ranks' series, up to `most` of them, not the hosts'.
  std::optional<Rank> rank = {};      ///< Of the world; none: all, or those of `leaf`.
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
    std::optional<Rank> rank = {};  ///< None: of the host.
  };
  Scope scope;
  std::string name;
  Nanos slot_ns = 0;
  std::vector<Line> lines;
  bool is_of_ranks = false;
  /// Hosts or ranks that have such a series; beyond `most` lines, those with samples that may have
  /// the number: they are not read.
  std::uint64_t lines_in_all = 0;
  /// Not 0: of more samples than are looked at for one answer, of each host or rank only the first
  /// in so much time. What lies between is in no point.
  Nanos look_ns = 0;
};

struct Overview {
  Scope scope;
  Report report;                      ///< With short lists.
  std::uint64_t window_ns = 0;        ///< Length of the run's windows.
  std::optional<double> calls_per_s;  ///< Captured calls over the time so far, or in all; none: 0.
};

struct Notices {
  struct Notice {
    Nanos at_ns = 0;
    std::string host, role, level, text;
    std::uint64_t dropped = 0;  ///< So many before it were not passed on.
  };
  Scope scope;
  std::vector<Notice> notices;  ///< Newest first.
  std::uint64_t notices_in_all = 0;
};

/// What rules over windows have found (alert_rules.h).
struct Alerts {
  Scope scope;
  std::vector<Alert> alerts;  ///< Those that still are so first, then the newest.
  std::uint64_t alerts_in_all = 0;
  std::uint64_t open = 0;  ///< Of all of them.
};

struct Tree {
  Scope scope;
  TreeReport report;
};

/// Bounds of questions; more is kInvalidArgument.
constexpr std::uint64_t kMaxColumns = 2000;
constexpr std::uint64_t kMaxRows = 1024;
constexpr std::uint64_t kMaxBlocks = 512;
constexpr std::uint64_t kMaxCalls = 100'000;
constexpr std::uint64_t kMaxNotices = 10'000;
constexpr std::uint64_t kMaxWorlds = 1000;  ///< Of an Overview; the page offers them for choice.
constexpr std::uint64_t kMaxLines = 256;
/// Of up to 8192 calls each: what is opened in some 150 ms and 100 MB.
constexpr std::uint64_t kMaxTimelineChunks = 128;

}  // namespace xylem::storage
