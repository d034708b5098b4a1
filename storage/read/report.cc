#include "storage/read/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/saturating.h"
#include "storage/read/alert_rows_internal.h"
#include "storage/read/inquiry.h"
#include "storage/read/run_findings_internal.h"
#include "storage/read/under_way_internal.h"
#include "storage/read/watched_internal.h"

namespace xylem::storage {
namespace {

std::string limit(std::size_t lines) { return " LIMIT " + std::to_string(lines); }

Report::Run read_run(Inquiry& inquiry) {
  Report::Run run;
  const auto row = inquiry.ask_one(
      "SELECT run_id, command, directory, user, host, version, detail, started_ns, ended_ns,"
      " exit_code FROM run",
      10);
  run.run_id = text_of(row[0]);
  run.command = text_of(row[1]);
  run.directory = text_of(row[2]);
  run.user = text_of(row[3]);
  run.host = text_of(row[4]);
  run.version = text_of(row[5]);
  run.detail = text_of(row[6]);
  run.started_realtime_ns = time_of(row[7]);
  if (!is_null(row[8])) run.elapsed_ns = time_of(row[8]) - time_of(row[7]);
  if (!is_null(row[9])) run.exit_code = saturating_cast<int>(real_of(row[9]));
  run.hosts = count_of(inquiry.ask_one("SELECT count(*) FROM host", 1)[0]);
  for (const auto& library :
       inquiry.ask("SELECT DISTINCT mpi_library FROM world WHERE mpi_library <> '' ORDER BY 1")) {
    run.mpi_libraries.push_back(text_of(library[0]));
  }
  return run;
}

void read_worlds(Inquiry& inquiry, std::size_t max_rows, Report& report) {
  report.worlds_in_all = count_of(inquiry.ask_one("SELECT count(*) FROM world", 1)[0]);
  // Files of older versions have no clocks.
  const bool has_clocks =
      count_of(inquiry.ask_one(
          "SELECT count(*) FROM pragma_table_info('process') WHERE name = 'clock'", 1)[0]) != 0;
  const std::string clock = has_clocks ? "coalesce(max(p.clock), '')" : "''";
  for (const auto& row : inquiry.ask(
           "SELECT w.id, w.program, w.size, coalesce(p.processes, 0), p.clock FROM world w LEFT "
           "JOIN"
           " (SELECT world, count(*) AS processes, " +
           clock +
           " AS clock, total((SELECT sum(time_ns)"
           " FROM function_sum s WHERE s.process = p.id)) AS time_ns FROM process p WHERE world IS"
           " NOT NULL GROUP BY world) p ON p.world = w.id ORDER BY p.time_ns DESC, w.id" +
           limit(max_rows))) {
    report.worlds.push_back({id_of<WorldId>(row[0]), text_of(row[1]), count_of(row[2]),
                             count_of(row[3]), text_of(row[4])});
  }
  std::ranges::sort(report.worlds, {}, &Report::World::id);
}

Report::Account read_account(Inquiry& inquiry, std::size_t max_rows) {
  Report::Account account;
  const std::string inexact = "NOT complete OR lost <> 0";
  const auto sums = inquiry.ask_one(
      "SELECT count(*), sum(complete), sum(captured), sum(stored), sum(lost), sum(" + inexact +
          ") FROM account",
      6);
  account.ranks = count_of(sums[0]);
  account.complete_ranks = count_of(sums[1]);
  account.captured = count_of(sums[2]);
  account.stored = count_of(sums[3]);
  account.lost = count_of(sums[4]);
  account.inexact_ranks = count_of(sums[5]);
  account.lost_of_unknown_ranks = count_of(
      inquiry.ask_one("SELECT (SELECT coalesce(sum(calls), 0) FROM given_up WHERE stream = 2) +"
                      " (SELECT coalesce(sum(ring_lost), 0) FROM process WHERE world IS NOT NULL) -"
                      " (SELECT coalesce(sum(lost), 0) FROM account)",
                      1)[0]);
  for (const auto& row : inquiry.ask(
           "SELECT world, rank, captured, stored, lost, complete FROM account WHERE " + inexact +
           " ORDER BY captured - stored DESC, complete, world, rank" + limit(max_rows))) {
    account.inexact.push_back({id_of<WorldId>(row[0]), id_of<Rank>(row[1]), count_of(row[2]),
                               count_of(row[3]), count_of(row[4]), integer_of(row[5]) != 0});
  }
  return account;
}

Report::EventAccount read_event_account(Inquiry& inquiry) {
  const auto row = inquiry.ask_one(
      "SELECT sum(events), sum(stored_events), sum(lost_events), count(*), sum(complete)"
      " FROM account_event",
      5);
  return {count_of(row[0]), count_of(row[1]), count_of(row[2]), count_of(row[3]), count_of(row[4])};
}

// Files before schema 24 do not have the cost of records.
std::optional<Report::CaptureCost> read_capture_cost(Inquiry& inquiry) {
  if (!inquiry.has_table("process_record_cost")) return std::nullopt;
  for (const auto& row : inquiry.ask(
           "SELECT c.world, c.rank, CAST(round(c.ns) AS INTEGER), min(1.0, c.ns /"
           "  (max(1, coalesce(p.until_ns, p.last_ns) - p.since_ns) * max(1, p.threads))) AS share"
           " FROM (SELECT world, rank, sum(time_ns) AS ns FROM capture_cost GROUP BY world, rank) c"
           " JOIN process p ON p.world = c.world AND p.rank = c.rank WHERE share IS NOT NULL"
           " ORDER BY share DESC, c.world, c.rank LIMIT 1")) {
    return Report::CaptureCost{id_of<WorldId>(row[0]), id_of<Rank>(row[1]), integer_of(row[2]),
                               real_of(row[3])};
  }
  return std::nullopt;
}

void read_regions(Inquiry& inquiry, std::size_t max_rows, Report& report) {
  if (!inquiry.has_table("process_region")) return;
  report.regions_in_all =
      count_of(inquiry.ask_one("SELECT count(DISTINCT region) FROM region_total", 1)[0]);
  for (const auto& row : inquiry.ask(
           "SELECT region, count(DISTINCT world || ' ' || rank), sum(visits), sum(time_ns) AS time,"
           " max(time_ns), sum(mpi_ns),"
           " max(estimated) FROM region_total GROUP BY region ORDER BY time DESC, region" +
           limit(max_rows))) {
    report.regions.push_back({text_of(row[0]), count_of(row[1]), count_of(row[2]),
                              integer_of(row[3]), integer_of(row[4]), integer_of(row[5]),
                              integer_of(row[6]) != 0});
  }
}

void read_functions(Inquiry& inquiry, std::size_t max_rows, Report& report) {
  const auto sums = inquiry.ask_one(
      "SELECT sum(time_ns), count(DISTINCT function), max(estimated)"
      " FROM function_total",
      3);
  report.mpi_ns = integer_of(sums[0]);
  report.functions_in_all = count_of(sums[1]);
  report.mpi_estimated = integer_of(sums[2]) != 0;
  for (const auto& row : inquiry.ask(
           "SELECT function, max(class), sum(calls), sum(bytes), sum(time_ns) AS time, max(max_ns),"
           " max(estimated) FROM function_total GROUP BY function ORDER BY time DESC, function" +
           limit(max_rows))) {
    Report::Function function;
    function.name = text_of(row[0]);
    function.function_class = text_of(row[1]);
    function.calls = count_of(row[2]);
    function.bytes = count_of(row[3]);
    function.time_ns = integer_of(row[4]);
    function.max_ns = integer_of(row[5]);
    function.estimated = integer_of(row[6]) != 0;
    if (report.mpi_ns > 0) {
      function.share = static_cast<double>(function.time_ns) / static_cast<double>(report.mpi_ns);
    }
    report.functions.push_back(std::move(function));
  }
}

std::string after_slash(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// FILE:LINE, or OBJECT+0xOFFSET without debugging information.
std::string place_of(const Value& file, const Value& line, const Value& object,
                     const Value& offset) {
  if (!is_null(file)) return after_slash(text_of(file)) + ":" + std::to_string(integer_of(line));
  if (is_null(object)) return {};
  return fmt::format("{}+{:#x}", after_slash(text_of(object)), count_of(offset));
}

void read_call_sites(Inquiry& inquiry, std::size_t max_rows, Report& report) {
  if (!inquiry.has_table("callsite")) return;
  if (inquiry.ask("SELECT 1 FROM callsite LIMIT 1").empty()) return;
  // Calls in one line are one row: the compiler may have made several of one.
  for (const auto& row : inquiry.ask(
           "SELECT function, max(file), max(line), max(object), max(offset), max(caller),"
           " sum(calls), sum(bytes), sum(time) AS time, max(longest), max(estimated),"
           " count(*) OVER () FROM (SELECT t.function, c.file, c.line, c.object, c.offset,"
           " c.function AS caller, t.calls, t.bytes, t.time_ns AS time, t.max_ns AS longest,"
           " t.estimated, iif(c.line IS NULL, t.callsite, c.file || ':' || c.line) AS place"
           " FROM callsite_total t LEFT JOIN callsite c ON c.id = t.callsite)"
           " GROUP BY place, function ORDER BY time DESC, place, function LIMIT " +
           std::to_string(max_rows))) {
    Report::CallSite site;
    site.function = text_of(row[0]);
    site.place = place_of(row[1], row[2], row[3], row[4]);
    site.caller = is_null(row[5]) ? "" : text_of(row[5]);
    site.calls = count_of(row[6]);
    site.bytes = count_of(row[7]);
    site.time_ns = integer_of(row[8]);
    site.max_ns = integer_of(row[9]);
    site.estimated = integer_of(row[10]) != 0;
    if (report.mpi_ns > 0) {
      site.share = static_cast<double>(site.time_ns) / static_cast<double>(report.mpi_ns);
    }
    report.call_sites_in_all = count_of(row[11]);
    report.call_sites.push_back(std::move(site));
  }
}

/// max / mean - 1; 0 when nothing was spent at all.
double imbalance(double max, double sum, std::size_t count) {
  return sum <= 0 ? 0 : max * static_cast<double>(count) / sum - 1;
}

Report::WorldShare share_of_world(WorldId world, std::vector<Report::RankShare> ranks,
                                  std::size_t shown) {
  Report::WorldShare share;
  share.world = world;
  share.ranks = ranks.size();
  double shares = 0, mpi = 0, max_mpi = 0, other = 0, max_other = 0;
  for (const Report::RankShare& rank : ranks) {
    const auto in_mpi = static_cast<double>(rank.mpi_ns);
    const double outside = std::max(0.0, static_cast<double>(rank.span_ns) - in_mpi);
    shares += rank.share();
    share.estimated |= rank.estimated;
    mpi += in_mpi;
    max_mpi = std::max(max_mpi, in_mpi);
    other += outside;
    max_other = std::max(max_other, outside);
  }
  share.mean = shares / static_cast<double>(ranks.size());
  share.mpi_imbalance = imbalance(max_mpi, mpi, ranks.size());
  share.other_imbalance = imbalance(max_other, other, ranks.size());
  const auto lower = [](const auto& a, const auto& b) {
    return std::pair(a.share(), a.rank) < std::pair(b.share(), b.rank);
  };
  const auto [lowest, highest] = std::minmax_element(ranks.begin(), ranks.end(), lower);
  share.lowest = *lowest;
  share.highest = *highest;
  if (ranks.size() > shown) {
    std::sort(ranks.begin(), ranks.end(), lower);
    const auto half = static_cast<std::ptrdiff_t>(shown / 2);
    ranks.erase(ranks.begin() + half, ranks.end() - half);
  }
  share.shown = std::move(ranks);
  return share;
}

std::vector<Report::WorldShare> read_shares(Inquiry& inquiry, const std::vector<Report::World>& of,
                                            std::size_t shown) {
  std::string ids;
  for (const Report::World& world : of)
    ids += (ids.empty() ? "" : ", ") + std::to_string(raw(world.id));
  std::map<WorldId, std::vector<Report::RankShare>> worlds;
  const WatchedColumns watched(inquiry);
  for (const auto& row : inquiry.ask(
           "SELECT p.world, p.rank, (SELECT sum(time_ns) FROM function_sum s WHERE s.process ="
           " p.id), (SELECT max(estimated) FROM function_sum s WHERE s.process = p.id), " +
           watched.sql() + " FROM process p WHERE p.world IN (" + ids +
           ") AND p.first_ns IS NOT NULL ORDER BY p.world, p.rank")) {
    const Watched span = WatchedColumns::read(std::span(row).subspan(4));
    worlds[id_of<WorldId>(row[0])].push_back({id_of<Rank>(row[1]), integer_of(row[2]),
                                              static_cast<Nanos>(span.time_ns()),
                                              integer_of(row[3]) != 0});
  }
  std::vector<Report::WorldShare> shares;
  shares.reserve(worlds.size());
  for (auto& [world, ranks] : worlds) {
    shares.push_back(share_of_world(world, std::move(ranks), shown));
  }
  return shares;
}

void read_waits(Inquiry& inquiry, std::size_t max_rows, Report& report) {
  report.waits_in_all_ns =
      integer_of(inquiry.ask_one("SELECT sum(time_ns) FROM wait_matrix", 1)[0]);
  for (const auto& row :
       inquiry.ask("SELECT world, rank, peer, time_ns, calls FROM wait_matrix WHERE time_ns > 0"
                   " ORDER BY time_ns DESC, world, rank, peer" +
                   limit(max_rows))) {
    report.waits.push_back({id_of<WorldId>(row[0]), id_of<Rank>(row[1]), id_of<Rank>(row[2]),
                            integer_of(row[3]), count_of(row[4])});
  }
}

std::vector<Report::Loss> read_losses(Inquiry& inquiry, std::size_t max_rows) {
  // Ranks that are not watched, where files have them (schema 15): counted, for `loss` has a row
  // for each.
  const std::string ranks = inquiry.has_table("unwatched_total")
                                ? " UNION ALL SELECT 'rank', host, reason, ranks, NULL, NULL, NULL"
                                  " FROM unwatched_total"
                                : "";
  std::vector<Report::Loss> losses;
  for (const auto& row : inquiry.ask(
           "SELECT * FROM (SELECT part, host, reason,"
           " count(*) * (wave IS NOT NULL OR part NOT IN ('window', 'chunk')) AS count,"
           " sum(calls) AS calls, sum(messages), sum(bytes) FROM loss"
           " WHERE part NOT IN ('series', 'rank') GROUP BY part, host, reason, wave IS NULL" +
           ranks + ") ORDER BY calls IS NOT NULL, calls DESC, part, host" + limit(max_rows))) {
    Report::Loss loss{
        text_of(row[0]), text_of(row[1]), text_of(row[2]), count_of(row[3]), {}, {}, {}};
    if (!is_null(row[4])) loss.calls = count_of(row[4]);
    if (!is_null(row[5])) loss.messages = count_of(row[5]);
    if (!is_null(row[6])) loss.bytes = count_of(row[6]);
    losses.push_back(std::move(loss));
  }
  return losses;
}

// Files before schema 12 have no streams.
void read_streams(Inquiry& inquiry, Report& report) {
  if (!inquiry.has_table("stream_leaf")) return;
  for (const auto& row : inquiry.ask(
           "SELECT s.name, count(a.leaf), total(a.complete), total(a.sent), total(a.stored),"
           " total(a.lost), (SELECT count(DISTINCT wave) FROM stream_part p WHERE p.stream = s.id)"
           " FROM stream s LEFT JOIN stream_account a ON a.stream = s.name GROUP BY s.id"
           " ORDER BY s.name")) {
    report.streams.push_back({text_of(row[0]), count_of(row[1]), count_of(row[2]), count_of(row[3]),
                              count_of(row[4]), count_of(row[5]), count_of(row[6])});
  }
}

// A service without samples has a reason, which its agents have told of.
std::string why_no_sample(Inquiry& inquiry, const std::string& service) {
  for (const auto& row :
       inquiry.ask("SELECT host, text FROM notice WHERE instr(text || ' ', " +
                   sql_quoted(" service=" + service + " ") + ") ORDER BY at_ns DESC LIMIT 1")) {
    return text_of(row[0]) + ": " + text_of(row[1]);
  }
  return "nobody has told why";
}

// Files before schema 8 have no services. Back ends of their first version name those that others
// of the host have, too.
void read_services(Inquiry& inquiry, std::size_t max_hosts, Report& report) {
  if (!inquiry.has_table("service")) return;
  for (const auto& row :
       inquiry.ask("SELECT service, sum(captured > 0), sum(complete AND captured > 0),"
                   " sum(captured), sum(stored), sum(lost) FROM service_account GROUP BY service"
                   " ORDER BY service")) {
    Report::Service service{text_of(row[0]),  count_of(row[1]), count_of(row[2]),
                            count_of(row[3]), count_of(row[4]), count_of(row[5])};
    if (service.captured == 0) service.why = why_no_sample(inquiry, service.name);
    report.services.push_back(std::move(service));
  }
  if (report.services.empty() || max_hosts == 0) return;
  for (const auto& row : inquiry.ask(
           "SELECT h.name, total(busy) / 100 / nullif(count(busy), 0), avg(load), min(available),"
           " count(*) FROM (SELECT leaf, at_ns,"
           "  sum(CASE WHEN name LIKE 'cpu.%' THEN value END) AS busy,"
           "  max(CASE WHEN name = 'load.1m' THEN value END) AS load,"
           "  max(CASE WHEN name = 'memory.MemAvailable' THEN value END) * 1024 AS available"
           "  FROM series_value WHERE service = 'host' AND name IN ('cpu.user', 'cpu.nice',"
           "  'cpu.system', 'cpu.irq', 'cpu.softirq', 'load.1m',"
           "  'memory.MemAvailable') GROUP BY leaf, at_ns) s JOIN host h ON h.leaf = s.leaf"
           " GROUP BY s.leaf ORDER BY 2 DESC, h.name" +
           limit(max_hosts))) {
    report.host_loads.push_back(
        {text_of(row[0]), real_of(row[1]), real_of(row[2]), real_of(row[3]), count_of(row[4])});
  }
}

// Files of the first schema have no such table.
void read_notices(Inquiry& inquiry, std::size_t max_rows, Report& report) {
  if (!inquiry.has_table("notice")) return;
  const auto row = inquiry.ask_one("SELECT count(*), sum(dropped) FROM notice", 2);
  report.notices_in_all = count_of(row[0]);
  if (!is_null(row[1])) report.notices_dropped = count_of(row[1]);
  for (const auto& line : inquiry.ask(
           "SELECT host, role, level, text, count(*) FROM notice GROUP BY host, role, level, text"
           " ORDER BY level, min(at_ns), host" +
           limit(max_rows))) {
    report.notices.push_back({text_of(line[0]), text_of(line[1]), text_of(line[2]),
                              text_of(line[3]), count_of(line[4])});
  }
}

}  // namespace

double Report::Region::mpi_share() const {
  return time_ns <= 0 ? 0 : static_cast<double>(mpi_ns) / static_cast<double>(time_ns);
}

double Report::RankShare::share() const {
  if (span_ns <= 0) return 0;
  return std::min(1.0, static_cast<double>(mpi_ns) / static_cast<double>(span_ns));
}

double Report::wait_estimate_share() const {
  if (mpi_ns <= 0) return 0;
  return std::min(1.0, static_cast<double>(waits_in_all_ns) / static_cast<double>(mpi_ns));
}

Result<Report> make_report(RunFile& run, const WaitStates* waits, const ReportLimits& limits) {
  Inquiry inquiry(run);
  Report report;
  report.run = read_run(inquiry);
  report.findings = make_findings(read_activity(inquiry, waits));
  read_worlds(inquiry, limits.worlds, report);
  report.account = read_account(inquiry, limits.inexact_ranks);
  report.events = read_event_account(inquiry);
  report.capture_cost = read_capture_cost(inquiry);
  read_functions(inquiry, limits.functions, report);
  read_regions(inquiry, limits.regions, report);
  report.shares = read_shares(inquiry, report.worlds, limits.ranks);
  UnderWayRows under_way = read_under_way(inquiry, "", limits.under_way);
  report.under_way = std::move(under_way.calls);
  report.under_way_in_all = under_way.in_all;
  read_waits(inquiry, limits.waits, report);
  if (waits != nullptr) report.wait_states = summarize(*waits, limits.wait_states);
  report.losses = read_losses(inquiry, limits.losses);
  read_services(inquiry, limits.host_loads, report);
  read_streams(inquiry, report);
  read_notices(inquiry, limits.notices, report);
  AlertRows alerts = read_alerts(inquiry, AlertOrder::kOldestFirst, limits.alerts);
  report.alerts = std::move(alerts.alerts);
  report.alerts_in_all = alerts.in_all;
  if (inquiry.failure) return unexpected(*std::move(inquiry.failure));
  return report;
}

// All parts are from one commit, the events too.
Result<Report> make_report(RunFile& run, const ReportLimits& limits) {
  if (auto held = run.hold(); !held) return unexpected(held.error());
  const auto waits = run.wait_states();
  auto report = waits ? make_report(run, waits->get(), limits) : unexpected(waits.error());
  if (report) add_call_sites(run, limits, *report);
  run.release();
  return report;
}

void add_call_sites(RunFile& run, const ReportLimits& limits, Report& report) {
  Inquiry inquiry(run);
  read_call_sites(inquiry, limits.call_sites, report);
  if (!inquiry.failure) return;
  report.call_sites.clear();
  report.call_sites_fault = inquiry.failure->message;
}

Result<std::vector<std::string>> verify_totals(RunFile& run) {
  Inquiry inquiry(run);
  std::vector<std::string> faults;
  const auto compare = [&](const char* what, const std::string& sql) {
    for (const auto& row : inquiry.ask(sql)) {
      faults.push_back("leaf " + to_text(row[0]) + ", lane " + to_text(row[1]) + ": " + what +
                       " says " + to_text(row[2]) + ", counted again " + to_text(row[3]));
    }
  };
  compare("stored calls",
          "SELECT leaf, lane, stored_calls, coalesce(n, 0) FROM process LEFT JOIN (SELECT process,"
          " sum(calls) AS n FROM profile_row GROUP BY process) ON process = id"
          " WHERE stored_calls <> coalesce(n, 0)");
  compare("calls by function",
          "SELECT p.leaf, p.lane, f.calls, w.calls FROM (SELECT process, sum(calls) AS calls FROM"
          " function_sum GROUP BY process) f JOIN (SELECT process, sum(calls) AS calls FROM"
          " profile_row GROUP BY process) w USING (process) JOIN process p ON p.id = f.process"
          " WHERE f.calls <> w.calls");
  compare("stored events",
          "SELECT leaf, lane, stored_events, coalesce(n, 0) FROM process LEFT JOIN (SELECT"
          " process, sum(events) AS n FROM event_chunk GROUP BY process) ON process = id"
          " WHERE stored_events <> coalesce(n, 0)");
  compare("known records",
          "SELECT leaf, lane, stored_events + given_up_events, coalesce(n, 0) FROM process LEFT"
          " JOIN (SELECT process, sum(end - first) AS n FROM chunk_seen GROUP BY process) ON"
          " process = id WHERE stored_events + given_up_events > coalesce(n, 0)");
  if (inquiry.has_table("service")) {
    compare("known samples",
            "SELECT leaf, lane, stored + lost, coalesce(n, 0) FROM service LEFT JOIN (SELECT"
            " service, sum(end - first) AS n FROM series_seen GROUP BY service) ON service = id"
            " WHERE stored + lost <> coalesce(n, 0)");
  }
  if (inquiry.has_table("stream_leaf")) {
    compare("known waves",
            "SELECT leaf, stream, stored + lost, coalesce(n, 0) FROM stream_leaf c LEFT JOIN"
            " (SELECT contributor, sum(end - first) AS n FROM stream_seen GROUP BY contributor) ON"
            " contributor = c.id WHERE stored + lost <> coalesce(n, 0)");
    compare(
        "stored waves",
        "SELECT 'all', stream, sum(stored), (SELECT total(leaves) FROM stream_part p WHERE"
        " p.stream = c.stream) AS n FROM stream_leaf c GROUP BY stream HAVING sum(stored) <> n");
  }
  if (inquiry.failure) return unexpected(*std::move(inquiry.failure));
  return faults;
}

}  // namespace xylem::storage
