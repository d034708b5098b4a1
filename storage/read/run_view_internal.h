#pragma once

// What the answers of a RunView have in common: scope, ranges, processes, names.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/saturating.h"
#include "storage/read/host_value.h"
#include "storage/read/inquiry_internal.h"
#include "storage/read/run_view.h"

namespace xylem::storage {

/// A process of the world asked for.
struct Member {
  std::uint64_t rank = 0;
  std::int64_t leaf = 0;
};

/// Times cut into slots of equal length; the last one ends with the range.
struct Slots {
  Nanos begin_ns = 0, end_ns = 0, slot_ns = 1;
  std::uint64_t count = 0;
  /// For a `count` above 0. A file may hold any time: one outside is in the first slot or the last.
  std::uint64_t of(Nanos at) const {
    if (at <= begin_ns) return 0;
    const Nanos after = saturating_subtract(at, begin_ns);
    return std::min(static_cast<std::uint64_t>(after / slot_ns), count - 1);
  }
};

/// Ranks in rows of equally many.
struct RankRows {
  std::uint64_t first = 0, end = 0, group = 1;
  std::uint64_t count() const { return (end - first + group - 1) / group; }
};

/// One answer in the making. Failures stick, as in Inquiry; of the first one the answer fails.
class ViewReader {
 public:
  explicit ViewReader(RunFile& run) : inquiry(run), run_(run) { read_scope(); }

  void fail(Code code, std::string sentence) {
    if (!inquiry.failure) inquiry.failure = Error{code, std::move(sentence)};
  }
  bool ok() const { return !inquiry.failure; }
  /// False, and a failure, when `value` is not within 1 and `most`.
  bool check(const char* what, std::uint64_t value, std::uint64_t most);

  /// Cuts a range of time into at most `columns` slots, each a multiple of `unit`; the range is
  /// widened to whole units. The scope says so. `what` names the parameter that is too many.
  Slots slots(const TimeRange& range, std::uint64_t columns, Nanos unit,
              const char* what = "columns");
  /// The range as asked for.
  Slots one_slot(const TimeRange& range);

  /// Ranks of the world, and how many; 0 when no world is known yet. Fails for one that is not
  /// there.
  std::uint64_t read_world(WorldId world);
  /// As many rows as fit; after read_world.
  RankRows rows(const RankRange& ranks, std::uint64_t world_size, std::uint64_t most);
  /// By id of the table `process`; those whose rank is in the rows.
  std::unordered_map<std::int64_t, Member> members(WorldId world, const RankRows& rows);

  struct Function {
    std::string name, function_class;
  };
  const std::map<std::int64_t, Function>& functions();
  /// Of a number that has no name too.
  Function function(std::int64_t id);
  /// Files before schema 8 have none, and their `host_metric` is a table.
  bool has_services() { return inquiry.has_table("service"); }
  /// See host_value.h.
  std::string host_values() {
    auto table = host_value_table(run_);
    if (table) return *std::move(table);
    fail(table.error().code, table.error().message);
    return {};
  }

  /// Of all times; see host_value.h.
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
  std::map<std::int64_t, Function> functions_;
};

/// Makes one answer while the file is held still.
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

/// A long call by window, and whose it was.
struct LongWindow {
  std::int64_t process = 0;
  Timeline::LongCall call;
};

/// Fills the grid from windows; in `longest`, unless null, the longest calls of the range, longest
/// first: for each rank and window the longest of it.
void read_grid(ViewReader& reader, const RankGridQuery& query, RankGrid& grid,
               std::vector<LongWindow>* longest);

constexpr std::size_t kLongestCalls = 10;

}  // namespace xylem::storage
