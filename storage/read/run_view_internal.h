#pragma once

// The common parts of the answers of a RunView: scope, ranges, processes, names.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/saturating.h"
#include "storage/read/host_value.h"
#include "storage/read/inquiry.h"
#include "storage/read/run_view.h"
#include "storage/table_keys_internal.h"

namespace xylem::storage {

/// A process of the requested world.
struct Member {
  Rank rank{};
  LeafId leaf{};
};

/// A range of time that is divided into slots of equal length. The last slot may be shorter: it
/// ends at the end of the range.
struct Slots {
  Nanos begin_ns = 0, end_ns = 0, slot_ns = 1;
  std::uint64_t count = 0;
  /// Returns the slot of a time. `count` must be above 0. A file may contain any time: a time
  /// before the range is in the first slot, a time after the range in the last slot.
  std::uint64_t of(Nanos at) const {
    if (at <= begin_ns) return 0;
    const Nanos after = saturating_subtract(at, begin_ns);
    return std::min(static_cast<std::uint64_t>(after / slot_ns), count - 1);
  }
};

/// Ranks that are divided into rows with the same number of ranks. The last row may have fewer.
/// `first` and `end` are numbers, not ids: `end` may be above every rank.
struct RankRows {
  std::uint64_t first = 0, end = 0, group = 1;
  std::uint64_t count() const { return (end - first + group - 1) / group; }
  /// The row of a rank of [first, end).
  std::uint64_t of(Rank rank) const { return (raw(rank) - first) / group; }
};

/// Returns a condition for the table `process p`: " AND ...".
std::string of_ranks(WorldId world, const RankRows& rows);

/// Builds one answer. Keeps the first failure, as Inquiry does; the query then fails with this
/// failure. Not thread-safe: used on the thread that asks the query.
class ViewReader {
 public:
  explicit ViewReader(RunFile& run) : inquiry(run), run_(run) { read_scope(); }

  void fail(Code code, std::string sentence) {
    if (!inquiry.failure) inquiry.failure = Error{code, std::move(sentence)};
  }
  bool ok() const { return !inquiry.failure; }
  /// Returns true if `value` is from 1 to `max`. Otherwise keeps a failure and returns false.
  bool check(const char* what, std::uint64_t value, std::uint64_t max);

  /// Divides a range of time into at most `columns` slots; the length of a slot is a multiple of
  /// `unit`. The range is extended to whole units, and `scope` gets the extended range. `what` is
  /// the name of `columns` in error messages.
  Slots slots(const TimeRange& range, std::uint64_t columns, Nanos unit,
              const char* what = "columns");
  /// Returns the requested range as one slot.
  Slots one_slot(const TimeRange& range);

  /// Returns the number of ranks of the world; 0 if no world is known yet. Fails if the world does
  /// not exist.
  std::uint64_t read_world(WorldId world);
  /// Divides ranks into at most `max_rows` rows. Call it after read_world().
  RankRows rows(const RankRange& ranks, std::uint64_t world_size, std::uint64_t max_rows);
  /// Returns the processes with ranks in these rows.
  std::unordered_map<ProcessKey, Member> members(WorldId world, const RankRows& rows);

  struct Function {
    std::string name, function_class;
  };
  const std::map<FunctionKey, Function>& functions();
  /// If the file has no name for the function, a name is made from the key.
  Function function(FunctionKey key);
  /// Returns whether the file can have services. Files before schema 8 cannot. In those files
  /// `host_metric` is a table, in later files a view.
  bool has_services() { return inquiry.has_table("service"); }
  /// Returns host_value_table() of this file.
  std::string host_values() {
    auto table = host_value_table(run_);
    if (table) return *std::move(table);
    fail(table.error().code, table.error().message);
    return {};
  }

  /// Returns storage::newest_host_values() for the whole run.
  std::string newest_host_values(const std::string& leaves) {
    auto sql = storage::newest_host_values(run_, leaves, std::numeric_limits<Nanos>::max());
    if (sql) return *std::move(sql);
    fail(sql.error().code, sql.error().message);
    return {};
  }

  Inquiry inquiry;
  Scope scope;
  Nanos window_ns = 0;

 private:
  void read_scope();
  Nanos newest_series_ns();
  bool resolve(const TimeRange& range, Nanos* begin_ns, Nanos* end_ns);

  RunFile& run_;
  std::map<FunctionKey, Function> functions_;
};

/// Makes one answer. All queries for the answer see the same commit.
template <typename Answer, typename Make>
Result<Answer> answer_of(RunFile& run, Make make) {
  if (auto held = run.hold(); !held) return unexpected(held.error());
  Answer answer;
  {
    ViewReader reader(run);
    if (reader.ok()) make(reader, answer);
    run.release();
    if (!reader.ok()) return unexpected(*std::move(reader.inquiry.failure));
    answer.scope = reader.scope;
  }
  return answer;
}

/// Sets the rows of a grid, with the names of their hosts. All cells are 0.
void start_grid(ViewReader& reader, const RankRows& rows, const Slots& slots,
                const std::unordered_map<ProcessKey, Member>& members, RankGrid& grid);
/// Sets the time in which the rows' ranks were watched. Call it after start_grid().
void read_watched(ViewReader& reader, WorldId world, const RankRows& rows, const Slots& slots,
                  RankGrid& grid);

/// A long call, and the process that made it.
struct LongWindow {
  ProcessKey process{};
  Timeline::LongCall call;
};

/// Fills the grid from windows. If `longest` is not null, it gets the longest calls of the range,
/// longest first. At most one call of each process, window and function is considered.
void read_grid(ViewReader& reader, const RankGridQuery& query, RankGrid& grid,
               std::vector<LongWindow>* longest);

constexpr std::size_t kLongestCalls = 10;

}  // namespace xylem::storage
