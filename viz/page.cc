#include "viz/page.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

namespace xylem::viz {
namespace {

using storage::Report;

/// Text that stands for itself in HTML, between tags and in quotes.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
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

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string scaled(double number, double base, const std::vector<const char*>& units) {
  std::size_t unit = 0;
  while (std::abs(number) >= base && unit + 1 < units.size()) {
    number /= base;
    ++unit;
  }
  return fmt::format("{:.3g} {}", number, units[unit]);
}

std::string duration(double ns) {
  if (std::abs(ns) >= 100e9) return fmt::format("{:.0f} s", ns / 1e9);
  return scaled(ns, 1000, {"ns", "µs", "ms", "s"});
}

std::string payload(std::uint64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// "~" before what is an estimate.
std::string mark(bool estimated, const std::string& number) {
  return estimated ? "~" + number : number;
}

using Line = std::vector<std::string>;

/// A table; cells are text. Nothing at all without lines.
std::string table(const std::string& title, const Line& heads, const std::vector<Line>& lines) {
  if (lines.empty()) return "";
  std::string html = "<h2>" + escaped(title) + "</h2>\n<table><thead><tr>";
  for (const std::string& head : heads) html += "<th scope=\"col\">" + escaped(head) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const Line& line : lines) {
    html += "<tr>";
    for (const std::string& cell : line) html += "<td>" + escaped(cell) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

std::string account_sentence(const Report& report) {
  const Report::Account& account = report.account;
  if (account.ranks == 0) return "No rank has called MPI_Init yet.";
  std::string sentence = grouped(account.captured) + " calls captured, " + grouped(account.stored) +
                         " stored, " + grouped(account.lost) + " lost; " +
                         grouped(account.complete_ranks) + " of " + grouped(account.ranks) +
                         (account.ranks == 1 ? " rank is" : " ranks are") + " complete";
  if (account.lost_of_unknown_ranks != 0) {
    sentence += "; " + grouped(account.lost_of_unknown_ranks) + " more are lost of unknown ranks";
  }
  return sentence + ".";
}

std::string facts(const storage::Overview& overview) {
  const Report::Run& run = overview.report.run;
  std::vector<Line> lines = {
      {"command", run.command},
      {"state", run.elapsed_ns ? "ended" + (run.exit_code && *run.exit_code >= 0
                                                ? ", exit code " + std::to_string(*run.exit_code)
                                                : std::string())
                               : "running, or its front end died"},
      {"time", duration(static_cast<double>(overview.scope.run_end_ns))},
      {"hosts", grouped(run.hosts)},
      {"ranks", grouped(overview.report.account.ranks)},
      {"account", account_sentence(overview.report)},
  };
  if (overview.calls_per_s) {
    lines.push_back({"calls a second", grouped(static_cast<std::uint64_t>(*overview.calls_per_s))});
  }
  for (const Report::WorldShare& share : overview.report.shares) {
    lines.push_back(
        {fmt::format("time in MPI, world {}", raw(share.world)),
         mark(share.estimated, percent(share.mean)) +
             fmt::format(" of the ranks' time; rank {} least with {}, rank {} most with {}",
                         raw(share.least.rank), percent(share.least.share()), raw(share.most.rank),
                         percent(share.most.share()))});
  }
  std::string html = "<table><tbody>\n";
  for (const Line& line : lines) {
    html += "<tr><th scope=\"row\">" + escaped(line[0]) + "</th><td>" + escaped(line[1]) +
            "</td></tr>\n";
  }
  return html + "</tbody></table>\n";
}

std::string functions(const Report& report) {
  std::vector<Line> lines;
  for (const Report::Function& function : report.functions) {
    const auto time = static_cast<double>(function.time_ns);
    lines.push_back({function.name, grouped(function.calls),
                     mark(function.estimated, duration(time)), percent(function.share),
                     duration(static_cast<double>(function.max_ns)), payload(function.bytes)});
  }
  return table("Functions with most time, all ranks",
               {"function", "calls", "time", "of MPI time", "longest", "payload"}, lines);
}

std::string waits(const Report& report) {
  std::vector<Line> lines;
  for (const Report::Wait& wait : report.waits) {
    lines.push_back({std::to_string(raw(wait.world)), std::to_string(raw(wait.rank)),
                     std::to_string(raw(wait.peer)), duration(static_cast<double>(wait.time_ns)),
                     grouped(wait.calls)});
  }
  return table("Who waits for whom most", {"world", "rank", "waits for", "time", "calls"}, lines);
}

std::string missing(const Report& report) {
  const auto count = [](const std::optional<std::uint64_t>& number) {
    return number ? grouped(*number) : std::string();
  };
  std::vector<Line> losses, notices;
  for (const Report::Loss& loss : report.losses) {
    losses.push_back({loss.part, loss.host, count(loss.calls), count(loss.messages), loss.reason});
  }
  for (const Report::Notice& notice : report.notices) {
    notices.push_back({notice.level, notice.host, notice.role, notice.text, grouped(notice.times)});
  }
  return table("Missing", {"part", "host", "calls", "messages", "why"}, losses) +
         table("Notices", {"level", "host", "who", "what", "times"}, notices);
}

std::string links() {
  constexpr std::array kPaths = {
      std::array{"overview", "what stands here, as numbers"},
      std::array{"ranks?columns=100", "time in MPI of each rank, slot by slot"},
      std::array{"functions", "calls, time and payload of each function"},
      std::array{"matrix", "who sent how much to whom; with value=waits who waited for whom"},
      std::array{"timeline", "single calls of a short time, else windows"},
      std::array{"hosts", "hosts and their newest samples"},
      std::array{"series?name=idle", "a series of each host"},
      std::array{"tree", "the overlay"},
      std::array{"notices", "warnings and errors"},
      std::array{"query?sql=SELECT%20*%20FROM%20account", "SQL"},
      std::array{"server", "what this server has refused"},
  };
  std::string html = "<h2>As JSON</h2>\n<ul>\n";
  for (const auto& [path, what] : kPaths) {
    html += "<li><a href=\"/api/v1/" + escaped(path) + "\">/api/v1/" + escaped(path) +
            "</a>: " + escaped(what) + "</li>\n";
  }
  return html + "</ul>\n";
}

}  // namespace

std::string make_page(const storage::Overview& overview) {
  const std::string title = escaped(overview.report.run.command);
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n<title>xylem: " +
         title +
         "</title>\n<link rel=\"stylesheet\" href=\"/style.css\"></head>\n<body><main>\n<h1>" +
         title + "</h1>\n" + facts(overview) + functions(overview.report) + waits(overview.report) +
         missing(overview.report) + links() +
         "<p>Numbers with ~ are estimates: not all calls of that function were timed.</p>\n"
         "</main></body></html>\n";
}

std::string page_style() {
  return "html{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}\n"
         "main{max-width:70rem;margin:1rem auto;padding:0 1rem}\n"
         "h1{font-size:1.3rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin-top:1.6rem}\n"
         "table{border-collapse:collapse}\n"
         "th,td{text-align:left;vertical-align:top;padding:.15rem .9rem .15rem 0;"
         "border-bottom:1px solid #8884;font-variant-numeric:tabular-nums}\n";
}

}  // namespace xylem::viz
