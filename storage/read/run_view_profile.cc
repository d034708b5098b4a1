// Answers from windows. A window lies in the slot in which it begins, and slots are whole windows,
// so the sums of a grid are exactly those of the rows.

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "storage/read/run_view_internal.h"
#include "storage/read/watched_internal.h"
#include "storage/read/window_source_internal.h"
#include "wire/profile.h"

namespace xylem::storage {
namespace {

/// Keeps the longest few of many.
class Longest {
 public:
  struct Found {
    std::uint64_t duration_ns = 0;
    Rank rank{};
    FunctionKey function{};
    ProcessKey process{};
    Nanos begin_ns = 0;  ///< Of the cell that it is in,
    int level = 0;       ///< at this level: 0 is a window.
    bool operator>(const Found& other) const {
      return std::tie(duration_ns, other.begin_ns, other.rank, other.function) >
             std::tie(other.duration_ns, begin_ns, rank, function);
    }
  };
  void offer(const Found& found) {
    if (found.duration_ns == 0) return;
    if (found_.size() == kLongestCalls && !(found > found_.back())) return;
    found_.insert(std::ranges::upper_bound(found_, found, std::greater<>()), found);
    if (found_.size() > kLongestCalls) found_.pop_back();
  }
  const std::vector<Found>& found() const { return found_; }

 private:
  std::vector<Found> found_;
};

/// Looks up members. Quick if many rows of the same process follow each other.
class RankOf {
 public:
  explicit RankOf(std::unordered_map<ProcessKey, Member> members) : members_(std::move(members)) {}
  const Member* operator()(ProcessKey process) {
    if (process != last_ || !asked_) {
      const auto found = members_.find(process);
      member_ = found == members_.end() ? nullptr : &found->second;
      last_ = process;
      asked_ = true;
    }
    return member_;
  }
  const std::unordered_map<ProcessKey, Member>& all() const { return members_; }

 private:
  std::unordered_map<ProcessKey, Member> members_;
  ProcessKey last_{};
  bool asked_ = false;
  const Member* member_ = nullptr;
};

void name_hosts(ViewReader& reader, const std::unordered_map<ProcessKey, Member>& members,
                RankGrid& grid, const RankRows& rows) {
  std::map<LeafId, std::string> names;
  for (const auto& row : reader.inquiry.ask("SELECT leaf, name FROM host")) {
    names[id_of<LeafId>(row[0])] = text_of(row[1]);
  }
  std::vector<std::set<LeafId>> leaves(grid.rows.size());
  for (const auto& [process, member] : members) {
    leaves[rows.of(member.rank)].insert(member.leaf);
  }
  for (std::size_t i = 0; i < grid.rows.size(); ++i) {
    if (leaves[i].size() == 1) grid.rows[i].host = names[*leaves[i].begin()];
  }
}

/// Adds up the cells of a grid.
class GridSums {
 public:
  GridSums(ViewReader& reader, RankValue value, const Slots& slots, const RankRows& rows,
           RankOf& rank_of, RankGrid& grid)
      : reader_(reader),
        value_(value),
        of_times_(value == RankValue::kMpi || value == RankValue::kWait),
        slots_(slots),
        rows_(rows),
        rank_of_(rank_of),
        grid_(grid) {
    const bool is_old =
        integer_of(reader.inquiry.ask_one("PRAGMA user_version", 1)[0]) < kBlockingCallsWaitSince;
    for (const auto& [id, function] : reader.functions()) {
      const bool waits = is_old ? is_waiting_by_class(function.function_class)
                                : is_waiting(function.name, function.function_class);
      if (waits) waiting_.insert(id);
    }
  }

  void take(const WindowSource& source, const WindowSource::Part& part) {
    const Nanos cell_ns = source.cell_ns(part.level);
    const bool good = decode_cells(
        part.bytes, [&](std::uint64_t place, std::uint64_t number, const CellSums& sums) {
          take(process_at(part.block, place), part.begin_ns + static_cast<Nanos>(number) * cell_ns,
               part.level, sums);
        });
    if (!good) reader_.fail(Code::kCorrupt, "a summary of windows is damaged");
  }

  void take(std::span<const Value> row) {
    CellSums sums;
    sums.max_function = id_of<FunctionKey>(row[2]);
    sums.estimated = integer_of(row[3]) != 0;
    sums.time_ns = count_of(row[4]);
    if (waiting_.contains(sums.max_function)) sums.wait_ns = sums.time_ns;
    sums.bytes = count_of(row[5]);
    sums.calls = count_of(row[6]);
    sums.max_ns = count_of(row[7]);
    take(id_of<ProcessKey>(row[0]), floor_to(integer_of(row[1]), reader_.window_ns), 0, sums);
  }

  /// Returns the longest calls. Opens each cell that may have one of them, down to its windows.
  std::vector<Longest::Found> longest(WindowSource& source) {
    for (int level = kSummaryLevels - 1; level > 0; --level) {
      Longest finer;
      for (const Longest::Found& found : longest_.found()) {
        if (found.level < level) {
          finer.offer(found);
        } else {
          open(source, found, finer);
        }
      }
      longest_ = finer;
    }
    return longest_.found();
  }

 private:
  void take(ProcessKey process, Nanos begin_ns, int level, const CellSums& sums) {
    if (begin_ns < slots_.begin_ns || begin_ns >= slots_.end_ns) return;
    const Member* member = rank_of_(process);
    if (member == nullptr) return;
    const std::uint64_t at = rows_.of(member->rank);
    const std::uint64_t amount = amount_of(sums);
    grid_.cells[at * grid_.columns + slots_.of(begin_ns)] += amount;
    grid_.rows[at].total += amount;
    reader_.scope.estimated |= of_times_ && sums.estimated;
    longest_.offer({sums.max_ns, member->rank, sums.max_function, process, begin_ns, level});
  }

  std::uint64_t amount_of(const CellSums& sums) const {
    switch (value_) {
      case RankValue::kMpi:
        return sums.time_ns;
      case RankValue::kWait:
        return sums.wait_ns;
      case RankValue::kBytes:
        return sums.bytes;
      case RankValue::kCalls:
        return sums.calls;
    }
    return 0;
  }

  /// Opens a cell. Its parts are slots of the level below.
  void open(WindowSource& source, const Longest::Found& found, Longest& finer) {
    const std::int64_t block = block_of(found.process);
    const Nanos cell_ns = source.cell_ns(found.level - 1);
    source.scan_part(found.level - 1, found.begin_ns, block, [&](const WindowSource::Part& part) {
      static_cast<void>(decode_cells(
          part.bytes, [&](std::uint64_t place, std::uint64_t number, const CellSums& sums) {
            if (process_at(block, place) != found.process) return;
            finer.offer({sums.max_ns, found.rank, sums.max_function, found.process,
                         part.begin_ns + static_cast<Nanos>(number) * cell_ns, part.level});
          }));
    });
  }

  ViewReader& reader_;
  RankValue value_;
  bool of_times_;
  Slots slots_;
  RankRows rows_;
  RankOf& rank_of_;
  RankGrid& grid_;
  std::set<FunctionKey> waiting_;
  Longest longest_;
};

/// Number of cells that can be added up in about 50 ms.
constexpr std::uint64_t kMaxCells = 1u << 20;

/// Returns the finest level of which the range has at most kMaxCells cells.
int level_for(ViewReader& reader, const TimeRange& range, const WindowSource& source,
              std::uint64_t processes) {
  const Slots all = reader.one_slot(range);
  int level = 0;
  while (level + 1 < kSummaryLevels &&
         static_cast<std::uint64_t>((all.end_ns - all.begin_ns) / source.cell_ns(level)) >
             kMaxCells / std::max<std::uint64_t>(processes, 1)) {
    ++level;
  }
  return level;
}

}  // namespace

void start_grid(ViewReader& reader, const RankRows& rows, const Slots& slots,
                const std::unordered_map<ProcessKey, Member>& members, RankGrid& grid) {
  grid.slot_ns = slots.slot_ns;
  grid.columns = slots.count;
  for (std::uint64_t first = rows.first; first < rows.end; first += rows.group) {
    grid.rows.push_back({first, std::min(rows.group, rows.end - first), "", 0});
  }
  grid.cells.assign(grid.rows.size() * grid.columns, 0);
  name_hosts(reader, members, grid, rows);
}

void read_watched(ViewReader& reader, WorldId world, const RankRows& rows, const Slots& slots,
                  RankGrid& grid) {
  const WatchedColumns columns(reader.inquiry);
  WatchedGrid watched(slots, grid.rows.size());
  reader.inquiry.scan(
      "SELECT p.rank, " + columns.sql() + " FROM process p WHERE TRUE" + of_ranks(world, rows),
      [&](std::span<const Value> row) {
        watched.add((count_of(row[0]) - rows.first) / rows.group,
                    WatchedColumns::read(row.subspan(1)));
      });
  grid.watched = watched.take();
  for (std::size_t i = 0; i < grid.watched.size(); ++i) {
    grid.rows[i / grid.columns].watched_ns += grid.watched[i];
  }
}

void read_grid(ViewReader& reader, const RankGridQuery& query, RankGrid& grid,
               std::vector<LongWindow>* longest) {
  grid.world_size = reader.read_world(query.ranks.world);
  const RankRows rows = reader.rows(query.ranks, grid.world_size, query.rows);
  if (!reader.ok()) return;
  RankOf rank_of(reader.members(query.ranks.world, rows));
  WindowSource source(reader);
  const int level = level_for(reader, query.range, source, rank_of.all().size());
  const Slots slots = reader.slots(query.range, query.columns, source.cell_ns(level));
  if (!reader.ok()) return;
  start_grid(reader, rows, slots, rank_of.all(), grid);
  if (query.value == RankValue::kMpi || query.value == RankValue::kWait) {
    read_watched(reader, query.ranks.world, rows, slots, grid);
  }

  GridSums sums(reader, query.value, slots, rows, rank_of, grid);
  source.scan_cells(level, slots.begin_ns, slots.end_ns,
                    [&](const WindowSource::Part& part) { sums.take(source, part); });
  source.scan_new_rows(slots.begin_ns, slots.end_ns,
                       "process, begin_ns, function, estimated, time_ns, bytes, calls, max_ns",
                       [&](std::span<const Value> row) { sums.take(row); });
  if (longest == nullptr) return;
  for (const Longest::Found& call : sums.longest(source)) {
    longest->push_back({call.process,
                        {call.rank, reader.function(call.function).name, call.duration_ns,
                         call.begin_ns, call.begin_ns + reader.window_ns}});
  }
}

namespace {

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

double RankGrid::Row::share() const { return share_of(total, watched_ns); }

double RankGrid::share(std::size_t cell) const {
  return cell < watched.size() ? share_of(cells[cell], watched[cell]) : 0;
}

Result<RankGrid> RunView::ranks(const RankGridQuery& query) {
  return answer_of<RankGrid>(*run_, [&query](ViewReader& reader, RankGrid& grid) {
    read_grid(reader, query, grid, nullptr);
  });
}

namespace {

/// Sums of one function. Functions with the same name are added up at the end.
struct FunctionSums {
  FunctionTable::Function sums;
  std::unordered_map<std::int64_t, std::uint64_t> callers;  ///< By block; one bit for each process.
  wire::LogHistogram histogram;
};

void add(FunctionSums& into, std::int64_t block, const SlotSums& from) {
  FunctionTable::Function& sums = into.sums;
  sums.calls += from.calls;
  sums.time_ns += from.time_ns;
  sums.max_ns = std::max(sums.max_ns, from.max_ns);
  sums.bytes += from.bytes;
  sums.estimated |= from.estimated;
  into.callers[block] |= from.processes;
}

/// The first columns of rows, as slot_of() needs them.
constexpr const char* kSums = "process, function, calls, time_ns, max_ns, bytes, estimated";

SlotSums slot_of(std::span<const Value> row) {
  SlotSums sums;
  sums.calls = count_of(row[2]);
  sums.time_ns = count_of(row[3]);
  sums.max_ns = count_of(row[4]);
  sums.bytes = count_of(row[5]);
  sums.estimated = integer_of(row[6]) != 0;
  sums.processes = std::uint64_t{1} << place_in_block(id_of<ProcessKey>(row[0]));
  return sums;
}

/// Reads functions of windows.
class FunctionWindows {
 public:
  FunctionWindows(ViewReader& reader, const FunctionQuery& query, WindowSource& source,
                  RankOf& rank_of)
      : reader_(reader), query_(query), source_(source), rank_of_(rank_of) {
    sort_blocks();
  }

  /// Chooses slots that can be read quickly.
  Slots choose_slots() {
    const Slots all = reader_.one_slot(query_.range);
    if (query_.series == 0) {
      level_ = kSummaryLevels - 1;
      return reader_.slots(query_.range, 1, reader_.window_ns);
    }
    level_ = -1;
    if (source_.count_rows(all.begin_ns, all.end_ns) > kMaxRows) level_ = 0;
    while (level_ >= 0 && level_ + 1 < kSummaryLevels &&
           source_.count_parts(level_, all.begin_ns, all.end_ns) > kMaxParts) {
      ++level_;
    }
    return reader_.slots(query_.range, query_.series, source_.cell_ns(level_ + 1), "series");
  }

  void read(const Slots& slots, std::map<FunctionKey, FunctionSums>& functions) {
    slots_ = slots;
    functions_ = &functions;
    const Nanos begin = slots.begin_ns;
    const Nanos end = slots.end_ns;
    const auto take_block = [this](const WindowSource::Part& part) { take_all(part); };
    const auto take_some = [this](const WindowSource::Part& part) { take_members(part); };
    if (mixed_.empty() && !has_others_) {
      source_.scan_slots(level_, begin, end, "functions", {}, take_block);
    } else {
      if (!whole_.empty()) {
        source_.scan_slots(level_, begin, end, "functions", whole_, take_block);
      }
      if (!mixed_.empty()) {
        source_.scan_slots(level_, begin, end, "by_process", mixed_, take_some);
      }
    }
    source_.scan_rows_beside(
        level_, begin, end,
        std::string(kSums) + ", begin_ns" + (query_.distribution ? ", histogram" : ""),
        [this](std::span<const Value> row) { take_row(row); });
  }

 private:
  // The sums of a block are of all its processes. They can be used if all are requested.
  void sort_blocks() {
    std::map<std::int64_t, std::pair<bool, bool>> blocks;  // Has members; has others.
    for (const auto& row : reader_.inquiry.ask("SELECT id FROM process")) {
      const auto process = id_of<ProcessKey>(row[0]);
      auto& [members, others] = blocks[block_of(process)];
      (rank_of_.all().contains(process) ? members : others) = true;
    }
    for (const auto& [block, has] : blocks) {
      if (has.first) (has.second ? mixed_ : whole_).push_back(block);
      has_others_ |= has.second;
    }
  }

  void put(FunctionKey function, std::int64_t block, Nanos begin_ns, const SlotSums& sums) {
    FunctionSums& into = (*functions_)[function];
    add(into, block, sums);
    if (query_.series != 0) {
      into.sums.series_ns.resize(slots_.count);
      into.sums.series_ns[slots_.of(begin_ns)] += sums.time_ns;
    }
    if (!query_.distribution) return;
    for (const auto& [bucket, count] : sums.histogram.counts()) {
      into.histogram.add(bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1), count);
    }
  }

  void take_all(const WindowSource::Part& part) {
    check(decode_functions(part.bytes, [&](FunctionKey function, const SlotSums& sums) {
      put(function, part.block, part.begin_ns, sums);
    }));
  }

  void take_members(const WindowSource::Part& part) {
    check(decode_by_process(part.bytes,
                            [&](std::uint64_t place, FunctionKey function, const SlotSums& sums) {
                              const Member* const member = rank_of_(process_at(part.block, place));
                              if (member != nullptr) put(function, part.block, part.begin_ns, sums);
                            }));
  }

  void check(bool good) {
    if (!good) reader_.fail(Code::kCorrupt, "a summary of windows is damaged");
  }

  void take_row(std::span<const Value> row) {
    const auto process = id_of<ProcessKey>(row[0]);
    if (rank_of_(process) == nullptr) return;
    const auto function = id_of<FunctionKey>(row[1]);
    put(function, block_of(process), integer_of(row[7]), slot_of(row));
    if (!query_.distribution) return;
    const auto* bytes = std::get_if<Blob>(&row[8]);
    if (bytes == nullptr) return;
    const auto histogram = wire::LogHistogram::from_bytes(*bytes);
    if (!histogram) return reader_.fail(histogram.error().code, histogram.error().message);
    (*functions_)[function].histogram.merge(*histogram);
  }

  /// Number of rows and of parts that can be read in about 50 ms.
  static constexpr std::uint64_t kMaxRows = 150'000;
  static constexpr std::uint64_t kMaxParts = 10'000;

  ViewReader& reader_;
  const FunctionQuery& query_;
  WindowSource& source_;
  RankOf& rank_of_;
  Slots slots_;
  int level_ = -1;
  std::map<FunctionKey, FunctionSums>* functions_ = nullptr;
  std::vector<std::int64_t> whole_, mixed_;  ///< Blocks of which all, or some, are requested.
  bool has_others_ = false;
};

void merge_into(FunctionSums& into, FunctionSums& from) {
  into.sums.calls += from.sums.calls;
  into.sums.time_ns += from.sums.time_ns;
  into.sums.max_ns = std::max(into.sums.max_ns, from.sums.max_ns);
  into.sums.bytes += from.sums.bytes;
  into.sums.estimated |= from.sums.estimated;
  for (const auto& [block, mask] : from.callers) into.callers[block] |= mask;
  into.histogram.merge(from.histogram);
  auto& series = into.sums.series_ns;
  series.resize(std::max(series.size(), from.sums.series_ns.size()));
  for (std::size_t i = 0; i < from.sums.series_ns.size(); ++i) {
    series[i] += from.sums.series_ns[i];
  }
}

/// Several processes may have been the same rank.
std::uint64_t count_ranks(const FunctionSums& sums, RankOf& rank_of) {
  std::set<Rank> ranks;
  for (const auto& [block, mask] : sums.callers) {
    for (std::uint64_t place = 0; place < kBlockProcesses; ++place) {
      if ((mask >> place & 1) == 0) continue;
      if (const Member* member = rank_of(process_at(block, place))) {
        ranks.insert(member->rank);
      }
    }
  }
  return ranks.size();
}

FunctionTable::Function finished(const std::string& name, FunctionSums& sums, RankOf& rank_of) {
  FunctionTable::Function function = std::move(sums.sums);
  function.name = name;
  function.ranks = count_ranks(sums, rank_of);
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
    const std::uint64_t world_size = reader.read_world(query.ranks.world);
    const RankRows rows = reader.rows(query.ranks, world_size, kMaxRows);
    if (!reader.ok()) return;
    RankOf rank_of(reader.members(query.ranks.world, rows));
    std::map<FunctionKey, FunctionSums> by_key;
    if (of_windows) {
      WindowSource source(reader);
      FunctionWindows windows(reader, query, source, rank_of);
      const Slots slots = windows.choose_slots();
      if (!reader.ok()) return;
      table.slot_ns = query.series != 0 ? slots.slot_ns : 0;
      windows.read(slots, by_key);
    } else {
      reader.inquiry.scan(std::string("SELECT ") + kSums + " FROM function_sum",
                          [&](std::span<const Value> row) {
                            const auto process = id_of<ProcessKey>(row[0]);
                            if (rank_of(process) == nullptr) return;
                            const auto function = id_of<FunctionKey>(row[1]);
                            add(by_key[function], block_of(process), slot_of(row));
                          });
    }
    std::map<std::string, FunctionSums> by_name;
    for (auto& [key, sums] : by_key) {
      const ViewReader::Function function = reader.function(key);
      FunctionSums& into = by_name[function.name];
      into.sums.function_class = function.function_class;
      merge_into(into, sums);
    }
    for (auto& [name, sums] : by_name) {
      table.mpi_ns += sums.sums.time_ns;
      reader.scope.estimated |= sums.sums.estimated;
      table.functions.push_back(finished(name, sums, rank_of));
    }
    table.functions_in_all = table.functions.size();
    std::ranges::stable_sort(table.functions, std::greater<>(), &FunctionTable::Function::time_ns);
    if (table.functions.size() > query.limit) table.functions.resize(query.limit);
  });
}

}  // namespace xylem::storage
