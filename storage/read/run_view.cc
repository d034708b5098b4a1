// The parts that read rows which are few by themselves; windows are in run_view_profile.cc, events
// in run_view_timeline.cc, series in run_view_series.cc.

#include "storage/read/run_view.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "storage/read/alert_rows_internal.h"
#include "storage/read/run_findings_internal.h"
#include "storage/read/run_view_internal.h"
#include "storage/read/under_way_internal.h"
#include "storage/summary_internal.h"

namespace xylem::storage {
void ViewReader::read_scope() {
  const auto run = inquiry.ask_one("SELECT started_ns, ended_ns, window_ns FROM run", 3);
  scope.has_ended = !is_null(run[1]);
  window_ns = std::max<Nanos>(time_of(run[2]), 1);
  const auto bounds = inquiry.ask_one(
      "SELECT min(first_ns), max(last_ns),"
      " min((SELECT min(begin_ns) FROM event_chunk c WHERE c.process = p.id)),"
      " max((SELECT end_ns FROM event_chunk c WHERE c.process = p.id ORDER BY begin_ns DESC"
      " LIMIT 1)), (SELECT max(at_ns) FROM link) FROM process p",
      5);
  scope.run_begin_ns = std::min<Nanos>({0, time_of(bounds[0]), time_of(bounds[2])});
  scope.run_end_ns = std::max<Nanos>({0, time_of(bounds[1]), time_of(bounds[3])});
  if (scope.has_ended) {
    scope.run_end_ns = std::max(scope.run_end_ns, time_of(run[1]) - time_of(run[0]));
  } else {
    scope.run_end_ns = std::max(scope.run_end_ns, time_of(bounds[4]));
  }
  scope.run_end_ns = std::max(scope.run_end_ns, newest_series_ns());
  scope.run_end_ns = time_of(Value(scope.run_end_ns));  // Its length is a number, too.
  scope.begin_ns = scope.run_begin_ns;
  scope.end_ns = scope.run_end_ns;
  const auto account = inquiry.ask_one(
      "SELECT (SELECT coalesce(sum(calls), 0) FROM given_up WHERE stream = 2) +"
      " (SELECT coalesce(sum(ring_lost), 0) FROM process WHERE world IS NOT NULL),"
      " (SELECT coalesce(sum(NOT complete), 0) FROM account)",
      2);
  scope.lost_calls = count_of(account[0]);
  scope.incomplete_ranks = count_of(account[1]);
}

// Samples go on after the last call of a rank. Facts of all hosts have no index by time, but come
// in its order, give or take what each host sends at once.
Nanos ViewReader::newest_series_ns() {
  constexpr const char* kNewestFact =
      "SELECT max(at_ns) FROM (SELECT at_ns FROM host_value ORDER BY rowid DESC LIMIT 1000)";
  constexpr const char* kNewestSample =
      "SELECT max((SELECT max(at_ns) FROM series_row r WHERE r.service = v.id AND r.lane = 0))"
      " FROM service v";
  if (!has_services()) return 0;
  return std::max(time_of(inquiry.ask_one(kNewestFact, 1)[0]),
                  time_of(inquiry.ask_one(kNewestSample, 1)[0]));
}

bool ViewReader::check(const char* what, std::uint64_t value, std::uint64_t max) {
  if (value >= 1 && value <= max) return true;
  fail(Code::kInvalidArgument, std::string(what) + " must be within 1 and " + std::to_string(max));
  return false;
}

bool ViewReader::resolve(const TimeRange& range, Nanos* begin_ns, Nanos* end_ns) {
  // Small enough that nothing overflows when it is widened to windows.
  constexpr Nanos kMax = std::numeric_limits<Nanos>::max() / 8;
  *begin_ns = std::clamp(range.begin_ns.value_or(scope.run_begin_ns), -kMax, kMax);
  *end_ns = std::clamp(range.end_ns.value_or(std::max(scope.run_end_ns, *begin_ns)), -kMax, kMax);
  if (*begin_ns <= *end_ns) return true;
  fail(Code::kInvalidArgument, "the range of time ends before it begins");
  return false;
}

Slots ViewReader::one_slot(const TimeRange& range) {
  Slots slots;
  if (!resolve(range, &slots.begin_ns, &slots.end_ns)) return {};
  slots.slot_ns = std::max<Nanos>(slots.end_ns - slots.begin_ns, 1);
  slots.count = slots.end_ns > slots.begin_ns ? 1 : 0;
  scope.begin_ns = slots.begin_ns;
  scope.end_ns = slots.end_ns;
  return slots;
}

Slots ViewReader::slots(const TimeRange& range, std::uint64_t columns, Nanos unit,
                        const char* what) {
  Slots slots;
  if (!check(what, columns, kMaxColumns)) return {};
  if (!resolve(range, &slots.begin_ns, &slots.end_ns)) return {};
  unit = std::clamp<Nanos>(unit, 1, std::numeric_limits<Nanos>::max() / 16);
  slots.begin_ns = floor_to(slots.begin_ns, unit);
  slots.end_ns = floor_to(slots.end_ns + unit - 1, unit);
  const auto units = static_cast<std::uint64_t>((slots.end_ns - slots.begin_ns) / unit);
  const std::uint64_t per_slot = std::max<std::uint64_t>((units + columns - 1) / columns, 1);
  slots.slot_ns = static_cast<Nanos>(per_slot) * unit;
  slots.count = (units + per_slot - 1) / per_slot;
  scope.begin_ns = slots.begin_ns;
  scope.end_ns = slots.end_ns;
  return slots;
}

std::uint64_t ViewReader::read_world(WorldId world) {
  const std::string id = std::to_string(raw(world));
  const auto row = inquiry.ask_one(
      "SELECT count(*), max(id), max(CASE WHEN id = " + id +
          " THEN size END), (SELECT max(rank) + 1 FROM process WHERE world = " + id +
          ") FROM world",
      4);
  const std::uint64_t worlds = count_of(row[0]);
  if (worlds != 0 && is_null(row[2])) {
    fail(Code::kNotFound, "there is no world " + id + " in this run; the last one is " +
                              std::to_string(count_of(row[1])));
  }
  constexpr std::uint64_t kMaxRanks = std::uint64_t{1} << 32;
  return std::min(std::max(count_of(row[2]), count_of(row[3])), kMaxRanks);
}

RankRows ViewReader::rows(const RankRange& ranks, std::uint64_t world_size,
                          std::uint64_t max_rows) {
  RankRows rows;
  if (!check("rows", max_rows, kMaxRows)) return rows;
  rows.first = std::min(ranks.first_rank.value_or(0), world_size);
  rows.end = std::min(ranks.end_rank.value_or(world_size), world_size);
  if (ranks.end_rank && ranks.first_rank && *ranks.end_rank < *ranks.first_rank) {
    fail(Code::kInvalidArgument, "the range of ranks ends before it begins");
  }
  rows.end = std::max(rows.end, rows.first);
  rows.group = std::max<std::uint64_t>((rows.end - rows.first + max_rows - 1) / max_rows, 1);
  return rows;
}

std::string of_ranks(WorldId world, const RankRows& rows) {
  return " AND p.world = " + std::to_string(raw(world)) +
         " AND p.rank >= " + std::to_string(rows.first) + " AND p.rank < " +
         std::to_string(rows.end);
}

std::unordered_map<ProcessKey, Member> ViewReader::members(WorldId world, const RankRows& rows) {
  std::unordered_map<ProcessKey, Member> members;
  for (const auto& row : inquiry.ask("SELECT p.id, p.rank, p.leaf FROM process p WHERE TRUE" +
                                     of_ranks(world, rows))) {
    members[id_of<ProcessKey>(row[0])] = {id_of<Rank>(row[1]), id_of<LeafId>(row[2])};
  }
  return members;
}

const std::map<FunctionKey, ViewReader::Function>& ViewReader::functions() {
  if (functions_.empty()) {
    for (const auto& row : inquiry.ask("SELECT id, name, class FROM function")) {
      functions_[id_of<FunctionKey>(row[0])] = {text_of(row[1]), text_of(row[2])};
    }
  }
  return functions_;
}

ViewReader::Function ViewReader::function(FunctionKey key) {
  const auto found = functions().find(key);
  if (found != functions_.end()) return found->second;
  return {"function " + std::to_string(raw(key)), ""};
}

Result<RunView> RunView::open(const std::string& path) {
  auto run = RunFile::open(path);
  if (!run) return unexpected(std::move(run.error()));
  return RunView(*std::move(run));
}

Result<Scope> RunView::scope() {
  struct Nothing {
    Scope scope;
  };
  auto answer = answer_of<Nothing>(*run_, [](ViewReader&, Nothing&) {});
  if (!answer) return unexpected(std::move(answer.error()));
  return answer->scope;
}

Result<Overview> RunView::overview() {
  return answer_of<Overview>(*run_, [this](ViewReader& reader, Overview& overview) {
    auto report = make_report(*run_, waits_.get(), {.worlds = kMaxWorlds, .host_loads = 0});
    if (!report) return reader.fail(report.error().code, report.error().message);
    overview.report = *std::move(report);
    overview.window_ns = static_cast<std::uint64_t>(reader.window_ns);
    reader.scope.estimated = overview.report.mpi_estimated;
    // The scope of one that has ended may reach to the end of its last window. Its elapsed time is
    // what is shown beside; a clock that was set back may have left none.
    Nanos lasted_ns = overview.report.run.elapsed_ns.value_or(0);
    if (lasted_ns <= 0) lasted_ns = reader.scope.run_end_ns - reader.scope.run_begin_ns;
    const auto lasted = static_cast<double>(lasted_ns);
    if (lasted > 0) {
      overview.calls_per_s =
          static_cast<double>(overview.report.account.captured) * kSecond / lasted;
    }
  });
}

Result<RunFindings> RunView::findings() {
  return answer_of<RunFindings>(*run_, [this](ViewReader& reader, RunFindings& answer) {
    answer.found = make_findings(read_activity(reader.inquiry, waits_.get()));
    for (const WorldEfficiency& world : answer.found.worlds) {
      reader.scope.estimated |= world.estimated;
    }
  });
}

namespace {

/// Sums rows of (rank, other rank, count, amount) into blocks.
void read_cells(ViewReader& reader, const std::string& sql, Matrix& matrix) {
  const std::uint64_t across =
      (matrix.end_column - matrix.first_column + matrix.block - 1) / matrix.block;
  const std::uint64_t down = (matrix.end_row - matrix.first_row + matrix.block - 1) / matrix.block;
  std::vector<Matrix::Cell> sums(across * down);
  reader.inquiry.scan(sql, [&](std::span<const Value> row) {
    const std::uint64_t down_at = (count_of(row[0]) - matrix.first_row) / matrix.block;
    const std::uint64_t across_at = (count_of(row[1]) - matrix.first_column) / matrix.block;
    Matrix::Cell& cell = sums[down_at * across + across_at];
    cell.row = matrix.first_row + down_at * matrix.block;
    cell.column = matrix.first_column + across_at * matrix.block;
    cell.count += count_of(row[2]);
    cell.amount += count_of(row[3]);
  });
  for (const Matrix::Cell& cell : sums) {
    if (cell.count != 0 || cell.amount != 0) matrix.cells.push_back(cell);
  }
}

}  // namespace

Result<Matrix> RunView::matrix(const MatrixQuery& query) {
  return answer_of<Matrix>(*run_, [&query](ViewReader& reader, Matrix& matrix) {
    if (!reader.check("blocks", query.blocks, kMaxBlocks)) return;
    matrix.world_size = reader.read_world(query.world);
    const auto cut = [&](std::uint64_t rank) { return std::min(rank, matrix.world_size); };
    matrix.first_row = cut(query.first_row);
    matrix.end_row = std::max(cut(query.end_row), matrix.first_row);
    matrix.first_column = cut(query.first_column);
    matrix.end_column = std::max(cut(query.end_column), matrix.first_column);
    const std::uint64_t ranks =
        std::max(matrix.end_row - matrix.first_row, matrix.end_column - matrix.first_column);
    matrix.block = std::max<std::uint64_t>((ranks + query.blocks - 1) / query.blocks, 1);

    const bool waits = query.value == MatrixValue::kWaits;
    const std::string other = waits ? "m.peer" : "m.destination";
    const std::string of_world = " p.world = " + std::to_string(raw(query.world)) +
                                 " AND p.rank >= " + std::to_string(matrix.first_row) +
                                 " AND p.rank < " + std::to_string(matrix.end_row);
    read_cells(reader,
               std::string("SELECT p.rank, ") + other +
                   (waits ? ", m.calls, m.time_ns FROM process p CROSS JOIN wait_sum m"
                          : ", m.messages, m.bytes FROM process p CROSS JOIN matrix_sum m") +
                   " ON m.process = p.id WHERE" + of_world + " AND " + other +
                   " >= " + std::to_string(matrix.first_column) + " AND " + other + " < " +
                   std::to_string(matrix.end_column),
               matrix);
    // Files of the first schemas did not count them.
    if (!reader.inquiry.has_column("process", "lost_messages")) return;
    const auto lost = reader.inquiry.ask_one(
        std::string(waits ? "SELECT total(lost_receives + untracked_receives), 0"
                          : "SELECT total(lost_messages), total(lost_message_bytes)") +
            " FROM process p WHERE" + of_world,
        2);
    matrix.lost_messages = count_of(lost[0]);
    matrix.lost_bytes = count_of(lost[1]);
  });
}

namespace {

// Of each service only its newest sample is opened: there may be millions, and to look into one
// costs more than to find it.
constexpr const char* kNewestSamples =
    "SELECT leaf, name, CASE WHEN per_second THEN number * scale * 1e9 / span_ns"
    " ELSE number * scale END FROM (SELECT v.leaf, m.name, m.scale, m.per_second, s.span_ns,"
    "  json_extract(s.numbers, '$[' || m.position || ']') AS number"
    "  FROM service v CROSS JOIN series_row s ON s.id = (SELECT id FROM series_row n"
    "   WHERE n.service = v.id AND n.lane = 0 ORDER BY n.at_ns DESC LIMIT 1)"
    "  CROSS JOIN series_metric m ON m.layout = s.layout)";
std::string service_series(const std::string& lanes) {
  return "SELECT DISTINCT name FROM series_metric WHERE service IN (SELECT v.name FROM service v"
         " WHERE EXISTS (SELECT 1 FROM series_row r WHERE r.service = v.id AND r.lane " +
         lanes + ")) ORDER BY name";
}

}  // namespace

Result<HostTable> RunView::hosts() {
  return answer_of<HostTable>(*run_, [](ViewReader& reader, HostTable& table) {
    std::map<LeafId, std::size_t> place;
    for (const auto& row : reader.inquiry.ask(
             "SELECT h.leaf, h.name, h.lost_reason, (SELECT count(*) FROM process p WHERE"
             " p.leaf = h.leaf AND p.world IS NOT NULL) FROM host h ORDER BY h.leaf")) {
      place[id_of<LeafId>(row[0])] = table.hosts.size();
      table.hosts.push_back(
          {id_of<LeafId>(row[0]), text_of(row[1]), text_of(row[2]), count_of(row[3]), {}, {}});
    }
    const auto host_at = [&](const Value& leaf) -> HostTable::Host* {
      const auto found = place.find(id_of<LeafId>(leaf));
      return found == place.end() ? nullptr : &table.hosts[found->second];
    };
    // SQLite takes the bare columns of a max() from the row that has it.
    reader.inquiry.scan("SELECT leaf, error_ns, max(at_ns) FROM clock GROUP BY leaf",
                        [&](std::span<const Value> row) {
                          if (auto* host = host_at(row[0])) host->clock_error_ns = time_of(row[1]);
                        });
    const auto take_newest = [&](std::span<const Value> row) {
      auto* host = host_at(row[0]);
      if (host != nullptr && !is_null(row[2])) host->newest[text_of(row[1])] = real_of(row[2]);
    };
    reader.inquiry.scan(reader.newest_host_values("SELECT leaf FROM host"),
                        [&](std::span<const Value> row) {
                          table.series.push_back(text_of(row[1]));
                          take_newest(row);
                        });
    if (reader.has_services()) {
      reader.inquiry.scan(kNewestSamples, take_newest);
      for (const auto& row : reader.inquiry.ask(service_series("= 0"))) {
        table.series.push_back(text_of(row[0]));
      }
      for (const auto& row : reader.inquiry.ask(service_series("> 0"))) {
        table.rank_series.push_back(text_of(row[0]));
      }
    }
    std::ranges::sort(table.series);
    table.series.erase(std::unique(table.series.begin(), table.series.end()), table.series.end());
  });
}

Result<Waits> RunView::waits(std::uint64_t limit) {
  return answer_of<Waits>(*run_, [this, limit](ViewReader& reader, Waits& waits) {
    if (!reader.check("most", limit, kMaxWaits)) return;
    auto states = waits_ ? Result(waits_) : run_->wait_states();
    if (!states) return reader.fail(states.error().code, states.error().message);
    waits.summary = summarize(**states, limit);
  });
}

Result<CallSites> RunView::call_sites(std::uint64_t limit) {
  return answer_of<CallSites>(*run_, [this, limit](ViewReader& reader, CallSites& answer) {
    if (!reader.check("most", limit, kMaxCallSites)) return;
    const auto sums =
        reader.inquiry.ask_one("SELECT sum(time_ns), max(estimated) FROM function_total", 2);
    Report report;
    report.mpi_ns = answer.mpi_ns = integer_of(sums[0]);
    reader.scope.estimated = integer_of(sums[1]) != 0;
    add_call_sites(*run_, {.call_sites = limit}, report);
    answer.sites = std::move(report.call_sites);
    answer.sites_in_all = report.call_sites_in_all;
    answer.fault = std::move(report.call_sites_fault);
  });
}

Result<UnderWay> RunView::under_way(const UnderWayQuery& query) {
  return answer_of<UnderWay>(*run_, [&query](ViewReader& reader, UnderWay& answer) {
    if (!reader.check("most", query.limit, kMaxCalls)) return;
    const std::uint64_t world_size = reader.read_world(query.ranks.world);
    const RankRows rows = reader.rows(query.ranks, world_size, kMaxRows);
    if (!reader.ok()) return;
    UnderWayRows found =
        read_under_way(reader.inquiry, of_ranks(query.ranks.world, rows), query.limit);
    answer.calls = std::move(found.calls);
    answer.calls_in_all = found.in_all;
  });
}

Result<TreeSnapshot> RunView::tree(std::optional<Nanos> at_ns) {
  return answer_of<TreeSnapshot>(*run_, [this, at_ns](ViewReader& reader, TreeSnapshot& tree) {
    auto report = make_tree_report(*run_, at_ns);
    if (!report && report.error().code != Code::kNotFound) {
      return reader.fail(report.error().code, report.error().message);
    }
    if (report) tree.report = *std::move(report);
  });
}

Result<Notices> RunView::notices(std::uint64_t limit) {
  return answer_of<Notices>(*run_, [limit](ViewReader& reader, Notices& notices) {
    if (!reader.check("most", limit, kMaxNotices)) return;
    // Files of the first schema have no such table.
    if (!reader.inquiry.has_column("notice", "text")) return;
    notices.notices_in_all = count_of(reader.inquiry.ask_one("SELECT count(*) FROM notice", 1)[0]);
    for (const auto& row : reader.inquiry.ask(
             "SELECT at_ns, host, role, level, text, dropped FROM notice ORDER BY at_ns DESC,"
             " rowid DESC LIMIT " +
             std::to_string(limit))) {
      notices.notices.push_back({time_of(row[0]), text_of(row[1]), text_of(row[2]), text_of(row[3]),
                                 text_of(row[4]), count_of(row[5])});
    }
  });
}

Result<Alerts> RunView::alerts(std::uint64_t limit) {
  return answer_of<Alerts>(*run_, [limit](ViewReader& reader, Alerts& alerts) {
    if (!reader.check("most", limit, kMaxNotices)) return;
    AlertRows rows = read_alerts(reader.inquiry, AlertOrder::kNewestFirst, limit);
    alerts.alerts = std::move(rows.alerts);
    alerts.alerts_in_all = rows.in_all;
    alerts.open = rows.open;
  });
}

}  // namespace xylem::storage
