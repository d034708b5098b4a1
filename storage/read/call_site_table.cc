#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/saturating.h"
#include "storage/read/call_site_table_internal.h"
#include "storage/read/event_reader.h"
#include "storage/read/row_table_internal.h"

namespace xylem::storage {
namespace {

struct Totals {
  std::uint64_t calls = 0;
  Nanos time_ns = 0, max_ns = 0;
  std::uint64_t bytes = 0;
  bool estimated = false;

  void add(const wire::Event& event) {
    bytes = saturating_add(bytes, event.bytes);
    if (event.kind != wire::kKindMpi) return;  // A part has the times of its call.
    const Nanos duration = saturating_subtract(event.end_ns, event.begin_ns);
    calls = saturating_add(calls, std::uint64_t{event.calls});
    time_ns = saturating_add(time_ns, saturating_multiply(duration, Nanos{event.calls}));
    max_ns = std::max(max_ns, duration);
    estimated = estimated || (event.flags & wire::kEventEstimated) != 0;
  }
};

class CallSiteRows final : public RowSource {
 public:
  explicit CallSiteRows(Connection& connection) : connection_(connection) {}

  bool next() override {
    if (!is_read_) {
      read();
    } else if (at_ < rows_.size()) {
      ++at_;
    }
    return connection_.ok() && at_ < rows_.size();
  }

  void column(sqlite3_context* out, int column) override {
    const Row& row = rows_[at_];
    switch (column) {
      case 0:
        return sqlite3_result_int64(out, raw(row.world));
      case 1:
        return sqlite3_result_int64(out, raw(row.rank));
      case 2:
        if (row.site) sqlite3_result_int64(out, *row.site);
        return;
      case 3:
        return put_text(out, row.function);
      case 4:
        return sqlite3_result_int64(out, to_sqlite(row.totals.calls));
      case 5:
        return sqlite3_result_int64(out, row.totals.time_ns);
      case 6:
        return sqlite3_result_int64(out, row.totals.max_ns);
      case 7:
        return sqlite3_result_int64(out, to_sqlite(row.totals.bytes));
      default:
        return sqlite3_result_int(out, row.totals.estimated ? 1 : 0);
    }
  }

 private:
  struct Row {
    WorldId world{};
    Rank rank{};
    std::optional<std::int64_t> site;  ///< Key of `callsite`.
    std::string function;
    Totals totals;
  };

  // The blocks of a collective are parts of its own bytes.
  static bool counts(const wire::Event& event, CallRole) {
    return (event.flags & wire::kEventBlock) == 0;
  }

  // Process by process: the order of time does not matter, and a merge would cost.
  void read() {
    is_read_ = true;
    const EventReader all(connection_, {.only_ranks = true});
    for (const EventReader::Process& process : all.processes()) {
      EventReader stream(connection_, {.process = process.id, .takes = counts});
      add_rows(process, stream);
    }
  }

  void add_rows(const EventReader::Process& process, EventReader& stream) {
    // The reader keeps the names of functions.
    using Key = std::pair<CallSiteId, const std::string*>;
    std::map<Key, Totals> totals;
    auto latest = totals.end();
    EventReader::Item item;
    while (stream.next(item)) {
      const Key key{item.event->site, &stream.function_name(item)};
      if (latest == totals.end() || latest->first != key) latest = totals.try_emplace(key).first;
      latest->second.add(*item.event);
    }
    for (const auto& [key, sum] : totals) {
      rows_.push_back(
          {*process.world, *process.rank, stream.call_site(key.first), *key.second, sum});
    }
  }

  Connection& connection_;
  std::vector<Row> rows_;
  std::size_t at_ = 0;
  bool is_read_ = false;
};

}  // namespace

int register_call_site_table(sqlite3* database) {
  return register_row_table(
      database, "callsite_total",
      "CREATE TABLE callsite_total(world INTEGER, rank INTEGER, callsite INTEGER, function TEXT,"
      " calls INTEGER, time_ns INTEGER, max_ns INTEGER, bytes INTEGER, estimated INTEGER)",
      std::make_unique<TableOf<CallSiteRows>>());
}

}  // namespace xylem::storage
