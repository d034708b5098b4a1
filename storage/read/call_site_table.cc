#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

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
    bytes += event.bytes;
    if (event.kind != wire::kKindMpi) return;  // A part has the times of its call.
    const Nanos duration = event.end_ns - event.begin_ns;
    calls += event.calls;
    time_ns += duration * static_cast<Nanos>(event.calls);
    max_ns = std::max(max_ns, duration);
    estimated = estimated || (event.flags & wire::kEventEstimated) != 0;
  }
};

class CallSiteRows final : public RowSource {
 public:
  explicit CallSiteRows(Connection& connection)
      : connection_(connection), stream_(connection, {.only_ranks = true, .takes = counts}) {}

  bool next() override {
    if (!is_read_) {
      read();
      at_ = totals_.begin();
    } else if (at_ != totals_.end()) {
      ++at_;
    }
    return connection_.ok() && at_ != totals_.end();
  }

  void column(sqlite3_context* out, int column) override {
    const auto& [process, site, function] = at_->first;
    const Totals& totals = at_->second;
    switch (column) {
      case 0:
        return sqlite3_result_int64(out, raw(*stream_.processes()[raw(process)].world));
      case 1:
        return sqlite3_result_int64(out, raw(*stream_.processes()[raw(process)].rank));
      case 2:
        if (const auto id = stream_.call_site(site)) sqlite3_result_int64(out, *id);
        return;
      case 3:
        return put_text(out, *function);
      case 4:
        return sqlite3_result_int64(out, to_sqlite(totals.calls));
      case 5:
        return sqlite3_result_int64(out, totals.time_ns);
      case 6:
        return sqlite3_result_int64(out, totals.max_ns);
      case 7:
        return sqlite3_result_int64(out, to_sqlite(totals.bytes));
      default:
        return sqlite3_result_int(out, totals.estimated ? 1 : 0);
    }
  }

 private:
  /// The function's name stays where it is as long as the stream lives.
  using Key = std::tuple<ProcessIndex, CallSiteId, const std::string*>;

  // The blocks of a collective are parts of its own bytes.
  static bool counts(const wire::Event& event, CallRole) {
    return (event.flags & wire::kEventBlock) == 0;
  }

  void read() {
    is_read_ = true;
    EventReader::Item item;
    auto latest = totals_.end();
    while (stream_.next(item)) {
      const Key key{item.process, item.event->site, &stream_.function_name(item)};
      if (latest == totals_.end() || latest->first != key) latest = totals_.try_emplace(key).first;
      latest->second.add(*item.event);
    }
  }

  Connection& connection_;
  EventReader stream_;
  std::map<Key, Totals> totals_;
  std::map<Key, Totals>::const_iterator at_;
  bool is_read_ = false;
};

class CallSiteTable final : public RowTable {
  std::unique_ptr<RowSource> open(Connection& connection) override {
    return std::make_unique<CallSiteRows>(connection);
  }
};

}  // namespace

int register_call_site_table(sqlite3* database) {
  return register_row_table(
      database, "callsite_total",
      "CREATE TABLE callsite_total(world INTEGER, rank INTEGER, callsite INTEGER, function TEXT,"
      " calls INTEGER, time_ns INTEGER, max_ns INTEGER, bytes INTEGER, estimated INTEGER)",
      std::make_unique<CallSiteTable>());
}

}  // namespace xylem::storage
