#include "viz/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/quantity_text.h"
#include "viz/report_page_charts_internal.h"
#include "viz/report_text.h"
#include "viz/terminal_text.h"

namespace xylem::viz {
namespace {

using namespace storage;

// Together with the longest names below 1 MiB.
constexpr std::uint64_t kColumns = 160, kRows = 128, kBlocks = 96, kFunctions = 100;
constexpr std::size_t kListed = 100;       ///< Alerts, hosts, losses.
constexpr std::size_t kLongestText = 400;  ///< For texts of a run. A command may be long.

std::string shown(std::string_view text) {
  const std::string all = printable(text, true);
  return html_text(cells(all) > kLongestText ? padded(all, kLongestText, true) : all);
}

/// A cell: its HTML and its kind.
struct Cell {
  std::string html;
  const char* sort = "t";
};

Cell text(std::string_view what) { return {shown(what), "t"}; }
Cell number(std::uint64_t exact, const std::string& seen) {
  return {fmt::format("<data value=\"{}\">{}</data>", exact, seen), "n"};
}
Cell count(std::uint64_t exact) { return number(exact, count_text(exact)); }
Cell time(std::uint64_t ns, bool estimated = false) {
  return number(ns, (estimated ? "~" : "") + duration_text(static_cast<Nanos>(ns)));
}
Cell payload(std::uint64_t bytes) { return number(bytes, bytes == 0 ? "" : bytes_text(bytes)); }
Cell percent(double share, bool estimated = false) {
  return {(estimated ? "~" : "") + percent_text(share), "n"};
}
Cell bar(double part, double rest = 0) { return {share_bar(part, rest), "w"}; }

struct Head {
  const char* name;
  const char* sort = "n";
};

std::string table(const char* id, const std::vector<Head>& heads,
                  const std::vector<std::vector<Cell>>& rows) {
  std::string html = fmt::format("<table id=\"{}\"><thead><tr>", id);
  for (const Head& head : heads) {
    html += fmt::format("<th scope=\"col\" class=\"{}\">{}</th>", head.sort, head.name);
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    html += "<tr>";
    for (const Cell& cell : row) {
      html += fmt::format("<td class=\"{}\">{}</td>", cell.sort, cell.html);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

std::string more_text(std::uint64_t all, std::size_t shown_rows) {
  if (all <= shown_rows) return "";
  return fmt::format("<p class=\"faint\">and {} more</p>\n", count_text(all - shown_rows));
}

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string account(const Overview& overview) {
  const Report::Account& account = overview.report.account;
  if (account.ranks == 0) return "<p id=\"account\">No rank has registered.</p>\n";
  const bool is_whole = account.lost == 0 && account.complete_ranks == account.ranks;
  const auto value = [](std::uint64_t exact) { return count(exact).html; };
  const std::uint64_t known = account.stored + account.lost;
  return fmt::format(
      "<p id=\"account\" class=\"{}\">{} calls captured = {} stored + {} lost{}; {} of {} ranks are"
      " complete.</p>\n",
      is_whole ? "good" : "bad", value(account.captured), value(account.stored),
      value(account.lost),
      account.captured > known ? " + " + value(account.captured - known) + " on the way" : "",
      value(account.complete_ranks), value(account.ranks));
}

std::string head(const Overview& overview) {
  const Report::Run& run = overview.report.run;
  std::string state = overview.scope.has_ended ? "ended" : "was running when this was written";
  if (run.exit_code && *run.exit_code >= 0) {
    state += fmt::format(", exit code {}", *run.exit_code);
  }
  const std::uint64_t ranks = overview.report.account.ranks;
  std::string html = fmt::format(
      "<h1>{}</h1>\n<p class=\"faint\">{} host{}, {} rank{}, {}; {}; "
      "xylem {}, run {}</p>\n",
      shown(run.command), count_text(run.hosts), run.hosts == 1 ? "" : "s", count_text(ranks),
      ranks == 1 ? "" : "s", duration_text(overview.scope.run_end_ns), state, shown(run.version),
      shown(run.run_id));
  html += account(overview);
  for (const Report::WorldShare& share : overview.report.shares) {
    const char* const about = share.estimated ? "~" : "";
    html += fmt::format(
        "<p>World {}: {}{:.1f} % of the ranks' time is in MPI; rank {} least with "
        "{:.1f} %, rank {} most with {:.1f} %.</p>\n",
        raw(share.world), about, 100 * share.mean, raw(share.lowest.rank),
        100 * share.lowest.share(), raw(share.highest.rank), 100 * share.highest.share());
  }
  return html;
}

std::string findings(const Findings& findings) {
  if (findings.findings.empty()) return "";
  std::string html = "<h2>Findings</h2>\n<ul id=\"findings\">\n";
  for (std::size_t i = 0; i < std::min(findings.findings.size(), kShownFindings); ++i) {
    const Finding& finding = findings.findings[i];
    const char* const look = finding.severity == Severity::kGood      ? "good"
                             : finding.severity == Severity::kWarning ? "bad"
                                                                      : "faint";
    html += fmt::format("<li class=\"{}\">{}</li>\n", look, shown(finding.text));
  }
  return html + "</ul>\n";
}

std::string alerts(const Alerts& alerts) {
  std::string html = "<h2>Alerts</h2>\n";
  if (alerts.alerts.empty()) return html + "<p>None.</p>\n";
  std::vector<std::vector<Cell>> rows;
  for (const Alert& alert : alerts.alerts) {
    const auto until = alert.until_ns ? duration_text(*alert.until_ns) : std::string("still open");
    rows.push_back({text(alert_kind_name(alert.kind)), text(duration_text(alert.at_ns)),
                    text(until), text(alert.text)});
  }
  return html + table("alerts", {{"what", "t"}, {"from", "t"}, {"until", "t"}, {"", "t"}}, rows) +
         more_text(alerts.alerts_in_all, rows.size());
}

std::string functions(const FunctionTable& functions) {
  std::vector<std::vector<Cell>> rows;
  const auto whole = static_cast<double>(functions.mpi_ns);
  for (const FunctionTable::Function& f : functions.functions) {
    const double share = share_of(static_cast<double>(f.time_ns), whole);
    rows.push_back({text(f.name), count(f.calls), time(f.time_ns, f.estimated), percent(share),
                    bar(share), time(f.max_ns), payload(f.bytes)});
  }
  std::string html = "<h2>Functions, world 0, all ranks</h2>\n";
  if (rows.empty()) return html + "<p>No call of MPI was seen.</p>\n";
  return html +
         table("functions",
               {{"function", "t"},
                {"calls"},
                {"time"},
                {"share"},
                {"", "w"},
                {"longest"},
                {"payload"}},
               rows) +
         more_text(functions.functions_in_all, rows.size());
}

std::string regions(const Report& report) {
  if (report.regions.empty()) return "";
  std::vector<std::vector<Cell>> rows;
  for (const Report::Region& region : report.regions) {
    const double share = region.mpi_share();
    rows.push_back({text(region.name), count(region.ranks), count(region.visits),
                    time(static_cast<std::uint64_t>(region.time_ns)),
                    time(static_cast<std::uint64_t>(region.longest_ns)),
                    percent(share, region.estimated), bar(share)});
  }
  return "<h2>Regions, all worlds and ranks</h2>\n" +
         table("regions",
               {{"region", "t"},
                {"ranks"},
                {"visits"},
                {"time"},
                {"longest rank"},
                {"in MPI"},
                {"", "w"}},
               rows) +
         more_text(report.regions_in_all, rows.size());
}

std::string call_sites(const Report& report) {
  if (report.call_sites.empty() && report.call_sites_fault.empty()) return "";
  std::string html = "<h2>Call sites, all worlds and ranks</h2>\n";
  if (!report.call_sites_fault.empty())
    return html + "<p>" + html_text(report.call_sites_fault) + "</p>\n";
  std::vector<std::vector<Cell>> rows;
  for (const Report::CallSite& site : report.call_sites) {
    rows.push_back({text(site.place.empty() ? "not known" : site.place), text(site.caller),
                    text(site.function), count(site.calls),
                    time(static_cast<std::uint64_t>(site.time_ns), site.estimated),
                    percent(site.share, site.estimated || report.mpi_estimated), bar(site.share),
                    time(static_cast<std::uint64_t>(site.max_ns)), payload(site.bytes)});
  }
  return html +
         table("call_sites",
               {{"place", "t"},
                {"in", "t"},
                {"function", "t"},
                {"calls"},
                {"time"},
                {"of MPI time"},
                {"", "w"},
                {"longest"},
                {"payload"}},
               rows) +
         more_text(report.call_sites_in_all, rows.size());
}

HeatMap map_of(const RankGrid& grid, const char* name) {
  HeatMap map;
  map.columns = grid.columns;
  map.rows = grid.rows.size();
  map.name = name;
  for (std::uint64_t row = 0; row < map.rows; ++row) {
    for (std::uint64_t at = 0; at < map.columns; ++at) {
      map.cells.push_back(grid.share(row * map.columns + at));
    }
  }
  return map;
}

std::string ranks(const ReportPageValues& values) {
  const RankGrid& mpi = values.mpi;
  if (mpi.rows.empty() || mpi.columns == 0) return "";
  const std::string axis = fmt::format(
      "<p class=\"axis\"><span>{}</span><span>ranks 0 to {}, top to bottom; a column is {}</span>"
      "<span>{}</span></p>\n",
      duration_text(mpi.scope.begin_ns), mpi.world_size - 1, duration_text(mpi.slot_ns),
      duration_text(mpi.scope.end_ns));
  std::string html = "<h2>Share of time in MPI: ranks over time, world 0</h2>\n" +
                     heat_map(map_of(mpi, "share of time in MPI, ranks over time")) + axis +
                     heat_legend("0 %", "100 %");
  html +=
      "<h2>Share of time waiting: in blocking sends and receives, completions, collectives, "
      "probes</h2>\n" +
      heat_map(map_of(values.wait, "share of time waiting, ranks over time")) + axis +
      heat_legend("0 %", "100 %") + "<h2>Ranks</h2>\n";
  std::vector<std::vector<Cell>> rows;
  const bool about = mpi.scope.estimated;
  for (std::size_t i = 0; i < std::min(mpi.rows.size(), values.wait.rows.size()); ++i) {
    const RankGrid::Row& row = mpi.rows[i];
    const double share = row.share();
    const double wait = values.wait.rows[i].share();
    const std::string name =
        row.ranks == 1 ? std::to_string(row.first_rank)
                       : fmt::format("{}-{}", row.first_rank, row.first_rank + row.ranks - 1);
    rows.push_back({text(name), text(row.host), time(row.total, about), percent(share, about),
                    time(values.wait.rows[i].total, about), bar(wait, share - wait)});
  }
  return html + table("ranks",
                      {{"rank", "t"},
                       {"host", "t"},
                       {"in MPI"},
                       {"share"},
                       {"waiting"},
                       {"waiting, then other MPI", "w"}},
                      rows);
}

std::string matrix(const Matrix& matrix) {
  if (matrix.cells.empty()) return "";
  HeatMap map;
  map.columns = map.rows = (matrix.world_size + matrix.block - 1) / matrix.block;
  map.cells.assign(map.columns * map.rows, 0);
  map.is_square = true;
  map.name = "bytes from each rank to each other";
  std::uint64_t messages = 0, bytes = 0, max = 1;
  for (const Matrix::Cell& cell : matrix.cells) {
    messages += cell.count;
    bytes += cell.amount;
    max = std::max(max, cell.amount);
    const std::uint64_t row = cell.row / matrix.block, column = cell.column / matrix.block;
    if (row < map.rows && column < map.columns) {
      map.cells[row * map.columns + column] = static_cast<double>(cell.amount);
    }
  }
  map.max = static_cast<double>(max);
  return "<h2>Who sends to whom, world 0</h2>\n" + heat_map(map) +
         fmt::format(
             "<p class=\"axis square\"><span>from top to bottom, to left to right: ranks 0 "
             "to {}{}</span></p>\n",
             matrix.world_size - 1,
             matrix.block == 1 ? "" : fmt::format("; a cell is {} a side", matrix.block)) +
         heat_legend("0 B", bytes_text(max)) +
         fmt::format("<p id=\"matrix\">{} messages with {} in all.</p>\n", count(messages).html,
                     number(bytes, bytes_text(bytes)).html);
}

Cell rank_cell(const std::optional<Rank>& rank) {
  return text(rank ? std::to_string(raw(*rank)) : "many");
}

std::string wait_causes(const WaitSummary& waits) {
  std::vector<std::vector<Cell>> rows;
  for (const WaitSummary::Cause& cause : waits.causes) {
    std::string ranks;
    for (const Rank rank : cause.longest)
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(raw(rank));
    if (cause.ranks > cause.longest.size()) ranks += ", ...";
    const auto max = static_cast<double>(waits.causes.front().time_ns);
    rows.push_back({count(raw(cause.world)), count(raw(cause.rank)),
                    time(static_cast<std::uint64_t>(cause.time_ns)),
                    bar(share_of(static_cast<double>(cause.time_ns), max)), count(cause.ranks),
                    text(ranks)});
  }
  return table("wait_causes",
               {{"world"}, {"rank"}, {"caused waiting of"}, {"", "w"}, {"ranks"}, {"which", "t"}},
               rows);
}

std::string wait_states(const WaitSummary& waits) {
  const WaitCoverage total = waits.total();
  std::vector<std::vector<Cell>> rows;
  for (const WaitState& wait : waits.rows) {
    rows.push_back({count(raw(wait.world)), count(raw(wait.rank)), rank_cell(wait.cause_rank),
                    time(static_cast<std::uint64_t>(wait.time_ns)), count(wait.calls),
                    text(wait_kind_words(wait.kind)), text(wait.function),
                    rank_cell(wait.root_rank)});
  }
  return "<h2>Waits, and the ranks that caused them</h2>\n" +
         fmt::format(
             "<p id=\"wait_coverage\">{} of {} in blocking calls; {} of this time is"
             " analysed.</p>\n",
             time(static_cast<std::uint64_t>(total.waiting_ns)).html,
             time(static_cast<std::uint64_t>(total.blocking.time_ns)).html,
             percent_text(total.share())) +
         wait_causes(waits) +
         table("wait_states",
               {{"world"},
                {"rank"},
                {"waited for", "t"},
                {"time"},
                {"calls"},
                {"reason", "t"},
                {"function", "t"},
                {"root cause", "t"}},
               rows) +
         more_text(waits.rows_in_all, rows.size());
}

std::string waits(const ReportPageValues& values) {
  if (values.waits.summary.is_known()) return wait_states(values.waits.summary);
  const Report& report = values.overview.report;
  if (report.waits.empty()) return "";
  std::vector<std::vector<Cell>> rows;
  const auto max = static_cast<double>(report.waits.front().time_ns);
  for (const Report::Wait& wait : report.waits) {
    rows.push_back({count(raw(wait.world)), count(raw(wait.rank)), count(raw(wait.peer)),
                    time(static_cast<std::uint64_t>(wait.time_ns)),
                    bar(share_of(static_cast<double>(wait.time_ns), max)), count(wait.calls)});
  }
  return "<h2>Waits, an estimate: time of calls that received from a rank</h2>\n" +
         fmt::format(
             "<p class=\"faint\">These calls took {} of the time in MPI. Sends and"
             " collectives are not in it.</p>\n",
             percent_text(report.wait_estimate_share())) +
         table("waits", {{"world"}, {"rank"}, {"waits for"}, {"time"}, {"", "w"}, {"calls"}}, rows);
}

std::string under_way(const Report& report) {
  if (report.under_way.empty()) return "";
  std::vector<std::vector<Cell>> rows;
  for (const CallUnderWay& call : report.under_way) {
    rows.push_back({count(raw(call.world)), count(raw(call.rank)), count(raw(call.thread)),
                    text(call.function), time(static_cast<std::uint64_t>(call.duration_ns())),
                    text(duration_text(call.begin_ns)),
                    text(call.peer ? std::to_string(raw(*call.peer)) : ""),
                    text(why_no_longer(call))});
  }
  return "<h2>Under way: calls that have not returned</h2>\n" +
         table("under_way",
               {{"world"},
                {"rank"},
                {"thread"},
                {"function", "t"},
                {"for"},
                {"since", "t"},
                {"peer", "t"},
                {"", "t"}},
               rows) +
         more_text(report.under_way_in_all, report.under_way.size());
}

std::string hosts(const ReportPageValues& values) {
  std::vector<std::vector<Cell>> rows;
  for (const HostTable::Host& host : values.hosts.hosts) {
    if (rows.size() == kListed) break;
    std::string newest;
    for (const char* name : {"processors_busy", "load", "available", "idle", "memory"}) {
      const auto found = host.newest.find(name);
      if (found != host.newest.end()) newest += fmt::format("{} {:.4g}  ", name, found->second);
    }
    rows.push_back({text(host.name), count(host.ranks),
                    text(host.clock_error_ns ? duration_text(*host.clock_error_ns) : ""),
                    text(newest), text(host.lost_reason)});
  }
  std::map<std::string, std::uint64_t> roles;
  for (const TreeReport::Node& node : values.tree.report.nodes) ++roles[node.role];
  std::string html =
      "<h2>Hosts</h2>\n" +
      table(
          "hosts",
          {{"host", "t"}, {"ranks"}, {"clock within", "t"}, {"newest samples", "t"}, {"lost", "t"}},
          rows) +
      more_text(values.hosts.hosts.size(), rows.size());
  const auto counted = [&roles](const char* role, const char* one, const char* many) {
    return fmt::format("{} {}", roles[role], roles[role] == 1 ? one : many);
  };
  const bool has_programs = roles["program"] != 0;
  return html + "<p class=\"faint\">The tree had " +
         counted("comm_process", "communication process", "communication processes") +
         (has_programs ? ", " : " and ") + counted("back_end", "back end", "back ends") +
         (has_programs ? " and " + counted("program", "program", "programs") : "") + ".</p>\n";
}

std::string missing(const Report& report) {
  std::vector<std::vector<Cell>> rows;
  for (const Report::Loss& loss : report.losses) {
    rows.push_back({text(loss.part), text(loss.host), loss.calls ? count(*loss.calls) : text(""),
                    text(loss.reason)});
  }
  for (const Report::Notice& notice : report.notices) {
    rows.push_back({text(notice.level), text(notice.host), text(""), text(notice.text)});
  }
  if (rows.empty()) return "";
  return "<h2>What is missing, and notices</h2>\n" +
         table("missing", {{"what", "t"}, {"host", "t"}, {"calls"}, {"why", "t"}}, rows);
}

}  // namespace

Result<ReportPageValues> ask_report_page(RunView& run) {
  ReportPageValues values;
  std::optional<Error> failure;
  const auto put = [&failure](auto answer, auto& to) {
    if (answer) {
      to = *std::move(answer);
    } else if (!failure) {
      failure = answer.error();
    }
  };
  RankGridQuery grid;
  grid.columns = kColumns;
  grid.rows = kRows;
  if (auto held = run.file().hold(); !held) return unexpected(std::move(held.error()));
  std::shared_ptr<const WaitStates> waits;  // Shared, see WaitStates.
  put(run.file().wait_states(), waits);
  run.use_waits(std::move(waits));
  put(run.overview(), values.overview);
  if (!failure) storage::add_call_sites(run.file(), {}, values.overview.report);
  put(run.functions({.limit = kFunctions}), values.functions);
  put(run.ranks(grid), values.mpi);
  grid.value = RankValue::kWait;
  put(run.ranks(grid), values.wait);
  put(run.matrix({.blocks = kBlocks}), values.matrix);
  put(run.waits(), values.waits);
  put(run.hosts(), values.hosts);
  put(run.tree(), values.tree);
  put(run.alerts(kListed), values.alerts);
  run.file().release();
  if (failure) return unexpected(*std::move(failure));
  return values;
}

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text, true)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string make_report_page(const ReportPageValues& values) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n"
         "<meta http-equiv=\"Content-Security-Policy\""
         " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>xylem: " +
         shown(values.overview.report.run.command) + "</title>\n<style>\n" + report_page_style() +
         "</style></head>\n<body><main>\n" + head(values.overview) +
         findings(values.overview.report.findings) + alerts(values.alerts) +
         functions(values.functions) + regions(values.overview.report) +
         call_sites(values.overview.report) + ranks(values) + under_way(values.overview.report) +
         matrix(values.matrix) + waits(values) + hosts(values) + missing(values.overview.report) +
         "<p class=\"faint\">~ is an estimate: not all calls of that function were timed; all were "
         "counted.</p>\n</main></body></html>\n";
}

}  // namespace xylem::viz
