#include <bit>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/read/event_reader.h"
#include "storage/read/region_spans.h"
#include "storage/read/region_table_internal.h"
#include "storage/read/row_table_internal.h"

namespace xylem::storage {
namespace {

class RegionRows final : public RowSource {
 public:
  explicit RegionRows(Connection& connection) : connection_(connection) {
    read_names();
    const EventReader all(connection_, {.only_ranks = true, .regions = true});
    processes_ = all.processes();
  }

  bool next() override {
    ++at_;
    while (at_ >= rows_.size()) {
      if (!connection_.ok() || process_ == processes_.size()) return false;
      at_ = 0;
      read(processes_[process_++]);
    }
    return true;
  }

  void column(sqlite3_context* out, int column) override {
    const auto& [span, site] = rows_[at_];
    const auto optional = [out](const auto& value) {
      if (value) sqlite3_result_int64(out, *value);
    };
    const EventReader::Process& process = processes_[process_ - 1];
    switch (column) {
      case 0:
        return sqlite3_result_int64(out, raw(*process.world));
      case 1:
        return sqlite3_result_int64(out, raw(*process.rank));
      case 2:
        return sqlite3_result_int64(out, raw(span.thread));
      case 3:
        return put_text(out, name_of(span.region));
      case 4:
        return sqlite3_result_int(out, span.depth);
      case 5:
        return optional(span.begin_ns);
      case 6:
        return optional(span.end_ns);
      default:
        return optional(site);
    }
  }

 private:
  using Row = std::pair<RegionSpan, std::optional<std::int64_t>>;

  // Files before schema 24 have no regions.
  void read_names() {
    if (!has_row(connection_, "SELECT 1 FROM sqlite_schema WHERE name = 'region_name'")) return;
    Statement names(connection_, "SELECT id, name FROM region_name");
    for (bool more = names.first(); more; more = names.next()) {
      names_.emplace(std::bit_cast<std::uint64_t>(names.integer(0)), names.text(1));
    }
  }

  std::string name_of(std::uint64_t region) const {
    const auto found = names_.find(region);
    return found == names_.end() ? "region " + std::to_string(region) : found->second;
  }

  void read(const EventReader::Process& process) {
    rows_.clear();
    EventReader stream(connection_, {.process = process.id, .regions = true, .takes = is_region});
    RegionSpans spans;
    EventReader::Item item;
    while (stream.next(item)) spans.take(*item.event);
    for (const RegionSpan& span : spans.take_ended()) add(stream, span);
    for (const RegionSpan& span : spans.open()) add(stream, span);
  }
  void add(const EventReader& stream, const RegionSpan& span) {
    rows_.emplace_back(span, stream.call_site(span.site));
  }
  static bool is_region(const wire::Event& event, CallRole) {
    return event.kind == wire::kKindRegion;
  }

  Connection& connection_;
  std::map<std::uint64_t, std::string> names_;
  std::vector<EventReader::Process> processes_;
  std::size_t process_ = 0;  // The next one to be read.
  std::vector<Row> rows_;    // Of the process before.
  std::size_t at_ = ~std::size_t{0};
};

}  // namespace

int register_region_table(sqlite3* database) {
  return register_row_table(
      database, "region",
      "CREATE TABLE region(world INTEGER, rank INTEGER, thread INTEGER, region TEXT, depth INTEGER,"
      " begin_ns INTEGER, end_ns INTEGER, callsite INTEGER)",
      std::make_unique<TableOf<RegionRows>>());
}

}  // namespace xylem::storage
