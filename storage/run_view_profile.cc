// Answers from windows. A window lies in the slot in which it begins, and slots are whole windows,
// so the sums of a grid are exactly those of the rows.

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "storage/run_view_internal.h"
#include "wire/profile.h"

namespace xylem::storage {
namespace {

std::string within(const Slots& slots) {
  return " WHERE begin_ns >= " + std::to_string(slots.begin_ns) + " AND begin_ns < " +
         std::to_string(slots.end_ns);
}

bool is_waiting(const std::string& function_class) {
  return function_class == "completion" || function_class == "collective" ||
         function_class == "probe";
}

/// Keeps the longest few of many.
class Longest {
 public:
  struct Found {
    std::uint64_t duration_ns = 0, rank = 0;
    std::int64_t function = 0;
    Nanos begin_ns = 0, end_ns = 0;
    bool operator>(const Found& other) const {
      return std::tie(duration_ns, other.begin_ns, other.rank) >
             std::tie(other.duration_ns, begin_ns, rank);
    }
  };
  void offer(const Found& found) {
    if (found.duration_ns <= shortest_ || found.duration_ns == 0) return;
    found_.push_back(found);
    std::ranges::sort(found_, std::greater<>());
    if (found_.size() > kLongestCalls) found_.pop_back();
    if (found_.size() == kLongestCalls) shortest_ = found_.back().duration_ns;
  }
  const std::vector<Found>& found() const { return found_; }

 private:
  std::vector<Found> found_;
  std::uint64_t shortest_ = 0;
};

/// What members() gives, for rows that come with many of a process in a row.
class RankOf {
 public:
  explicit RankOf(std::unordered_map<std::int64_t, Member> members)
      : members_(std::move(members)) {}
  const Member* operator()(std::int64_t process) {
    if (process != last_ || !asked_) {
      const auto found = members_.find(process);
      member_ = found == members_.end() ? nullptr : &found->second;
      last_ = process;
      asked_ = true;
    }
    return member_;
  }
  const std::unordered_map<std::int64_t, Member>& all() const { return members_; }

 private:
  std::unordered_map<std::int64_t, Member> members_;
  std::int64_t last_ = 0;
  bool asked_ = false;
  const Member* member_ = nullptr;
};

void name_hosts(ViewReader& reader, const RankOf& rank_of, RankGrid& grid, const RankRows& rows) {
  std::map<std::int64_t, std::string> names;
  for (const auto& row : reader.inquiry.ask("SELECT leaf, name FROM host")) {
    names[integer_of(row[0])] = text_of(row[1]);
  }
  std::vector<std::set<std::int64_t>> leaves(grid.rows.size());
  for (const auto& [process, member] : rank_of.all()) {
    leaves[(member.rank - rows.first) / rows.group].insert(member.leaf);
  }
  for (std::size_t i = 0; i < grid.rows.size(); ++i) {
    if (leaves[i].size() == 1) grid.rows[i].host = names[*leaves[i].begin()];
  }
}

}  // namespace

void read_grid(ViewReader& reader, const RankGridQuery& query, RankGrid& grid,
               std::vector<Timeline::LongCall>* longest) {
  const Slots slots = reader.slots(query.range, query.columns, reader.window_ns);
  grid.world_size = reader.read_world(query.ranks.world);
  const RankRows rows = reader.rows(query.ranks, grid.world_size, query.rows);
  if (!reader.ok()) return;
  grid.slot_ns = slots.slot_ns;
  grid.columns = slots.count;
  for (std::uint64_t first = rows.first; first < rows.end; first += rows.group) {
    grid.rows.push_back({first, std::min(rows.group, rows.end - first), "", 0});
  }
  grid.cells.assign(grid.rows.size() * grid.columns, 0);
  RankOf rank_of(reader.members(query.ranks.world, rows));
  name_hosts(reader, rank_of, grid, rows);

  std::set<std::int64_t> waiting;
  for (const auto& [id, function] : reader.functions()) {
    if (is_waiting(function.function_class)) waiting.insert(id);
  }
  constexpr std::array kColumns = {"time_ns", "time_ns", "bytes", "calls"};
  const bool of_times = query.value == RankValue::kMpi || query.value == RankValue::kWait;
  Longest found;
  reader.inquiry.scan(std::string("SELECT process, begin_ns, function, estimated, ") +
                          kColumns[static_cast<std::size_t>(query.value)] +
                          (longest != nullptr ? ", max_ns, end_ns" : "") + " FROM profile_row" +
                          within(slots),
                      [&](std::span<const Value> row) {
                        const Member* member = rank_of(integer_of(row[0]));
                        if (member == nullptr) return;
                        const std::int64_t function = integer_of(row[2]);
                        if (query.value == RankValue::kWait && !waiting.contains(function)) return;
                        const std::uint64_t at = (member->rank - rows.first) / rows.group;
                        const std::uint64_t amount = count_of(row[4]);
                        grid.cells[at * grid.columns + slots.of(integer_of(row[1]))] += amount;
                        grid.rows[at].total += amount;
                        reader.scope.estimated |= of_times && integer_of(row[3]) != 0;
                        if (longest != nullptr) {
                          found.offer({count_of(row[5]), member->rank, function, integer_of(row[1]),
                                       integer_of(row[6])});
                        }
                      });
  if (longest == nullptr) return;
  for (const Longest::Found& call : found.found()) {
    longest->push_back({call.rank, reader.function(call.function).name, call.duration_ns,
                        call.begin_ns, call.end_ns});
  }
}

Result<RankGrid> RunView::ranks(const RankGridQuery& query) {
  return answer_of<RankGrid>(*run_, [&query](ViewReader& reader, RankGrid& grid) {
    read_grid(reader, query, grid, nullptr);
  });
}

namespace {

/// Sums of one function number; numbers of one name are added up at the end.
struct FunctionSums {
  FunctionTable::Function sums;
  std::set<std::uint64_t> ranks;
  wire::LogHistogram histogram;
};

void add_row(FunctionSums& into, const Member& member, std::span<const Value> row) {
  FunctionTable::Function& sums = into.sums;
  sums.calls += count_of(row[2]);
  sums.time_ns += count_of(row[3]);
  sums.max_ns = std::max(sums.max_ns, count_of(row[4]));
  sums.bytes += count_of(row[5]);
  sums.estimated |= integer_of(row[6]) != 0;
  into.ranks.insert(member.rank);
}

/// The start of rows as add_row takes them.
constexpr const char* kSums = "SELECT process, function, calls, time_ns, max_ns, bytes, estimated";

void read_function_windows(ViewReader& reader, const FunctionQuery& query, const Slots& slots,
                           RankOf& rank_of, std::map<std::int64_t, FunctionSums>& functions) {
  const bool has_series = query.series != 0;
  reader.inquiry.scan(std::string(kSums) + ", begin_ns" +
                          (query.distribution ? ", histogram" : "") + " FROM profile_row" +
                          within(slots),
                      [&](std::span<const Value> row) {
                        const Member* member = rank_of(integer_of(row[0]));
                        if (member == nullptr) return;
                        FunctionSums& into = functions[integer_of(row[1])];
                        add_row(into, *member, row);
                        if (has_series) {
                          into.sums.series_ns.resize(slots.count);
                          into.sums.series_ns[slots.of(integer_of(row[7]))] += count_of(row[3]);
                        }
                        if (!query.distribution) return;
                        const auto* bytes = std::get_if<Blob>(&row[8]);
                        if (bytes == nullptr) return;
                        const auto histogram = wire::LogHistogram::from_bytes(*bytes);
                        if (!histogram)
                          return reader.fail(histogram.error().code, histogram.error().message);
                        into.histogram.merge(*histogram);
                      });
}

void merge_into(FunctionSums& into, FunctionSums& from) {
  into.sums.calls += from.sums.calls;
  into.sums.time_ns += from.sums.time_ns;
  into.sums.max_ns = std::max(into.sums.max_ns, from.sums.max_ns);
  into.sums.bytes += from.sums.bytes;
  into.sums.estimated |= from.sums.estimated;
  into.ranks.merge(from.ranks);
  into.histogram.merge(from.histogram);
  auto& series = into.sums.series_ns;
  series.resize(std::max(series.size(), from.sums.series_ns.size()));
  for (std::size_t i = 0; i < from.sums.series_ns.size(); ++i) {
    series[i] += from.sums.series_ns[i];
  }
}

FunctionTable::Function finished(const std::string& name, FunctionSums& sums) {
  FunctionTable::Function function = std::move(sums.sums);
  function.name = name;
  function.ranks = sums.ranks.size();
  for (std::size_t bucket = 0; bucket < wire::LogHistogram::kBuckets; ++bucket) {
    const std::uint64_t count = sums.histogram.count(bucket);
    // The end of the last bucket is beyond 64 bits.
    const std::uint64_t bound =
        bucket + 1 < wire::LogHistogram::kBuckets ? std::uint64_t{1} << bucket : ~std::uint64_t{0};
    if (count != 0) function.distribution[bound] = count;
  }
  return function;
}

}  // namespace

Result<FunctionTable> RunView::functions(const FunctionQuery& query) {
  return answer_of<FunctionTable>(*run_, [&query](ViewReader& reader, FunctionTable& table) {
    const bool of_windows =
        query.range.begin_ns || query.range.end_ns || query.series != 0 || query.distribution;
    const Slots slots = of_windows
                            ? reader.slots(query.range, std::max<std::uint64_t>(query.series, 1),
                                           reader.window_ns, "series")
                            : Slots{};
    const std::uint64_t world_size = reader.read_world(query.ranks.world);
    const RankRows rows = reader.rows(query.ranks, world_size, kMostRows);
    if (!reader.ok()) return;
    table.slot_ns = query.series != 0 ? slots.slot_ns : 0;
    RankOf rank_of(reader.members(query.ranks.world, rows));
    std::map<std::int64_t, FunctionSums> by_number;
    if (of_windows) {
      read_function_windows(reader, query, slots, rank_of, by_number);
    } else {
      reader.inquiry.scan(std::string(kSums) + " FROM function_sum",
                          [&](std::span<const Value> row) {
                            const Member* member = rank_of(integer_of(row[0]));
                            if (member == nullptr) return;
                            add_row(by_number[integer_of(row[1])], *member, row);
                          });
    }
    std::map<std::string, FunctionSums> by_name;
    for (auto& [number, sums] : by_number) {
      const ViewReader::Function function = reader.function(number);
      FunctionSums& into = by_name[function.name];
      into.sums.function_class = function.function_class;
      merge_into(into, sums);
    }
    for (auto& [name, sums] : by_name) {
      table.mpi_ns += sums.sums.time_ns;
      reader.scope.estimated |= sums.sums.estimated;
      table.functions.push_back(finished(name, sums));
    }
    table.functions_in_all = table.functions.size();
    std::ranges::stable_sort(table.functions, std::greater<>(), &FunctionTable::Function::time_ns);
    if (table.functions.size() > query.most) table.functions.resize(query.most);
  });
}

}  // namespace xylem::storage
