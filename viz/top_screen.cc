// The screen: a head of three lines, the findings, the panes' names, a pane, and a line for keys.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/quantity_text.h"
#include "base/saturating.h"
#include "viz/top_panes_internal.h"

namespace xylem::viz {
namespace {

using namespace storage;

constexpr std::size_t kGap = 1;         ///< Blanks between columns.
constexpr std::size_t kTwoPanes = 140;  ///< From this width on, the overview has two columns.
/// A screen of this height has findings, in up to so large a part of it.
constexpr std::size_t kFindingsFrom = 16, kFindingsPart = 6;

/// Returns the width of each column; 0 if there is no room for it.
std::vector<std::size_t> widths_of(const Table& table, std::size_t room) {
  const std::vector<Column>& columns = table.columns;
  std::vector<std::size_t> widths;
  std::size_t used = 0;
  for (const Column& column : columns) {
    widths.push_back(column.width);
    used += column.width + kGap;
  }
  while (used > room + kGap) {
    std::size_t worst = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (widths[i] != 0 && columns[i].need > 0 &&
          (worst == columns.size() || columns[i].need > columns[worst].need)) {
        worst = i;
      }
    }
    if (worst == columns.size()) break;  // Longer lines are cut at the edge of the screen.
    used -= widths[worst] + kGap;
    widths[worst] = 0;
  }
  std::size_t left = room + kGap - std::min(used, room + kGap);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t max_width = 0;  // No text needs more than the longest of its column.
    for (const auto& row : table.rows) {
      max_width = std::max(max_width, row[i].part >= 0 ? columns[i].max_width : cells(row[i].text));
    }
    max_width = std::min(max_width, columns[i].max_width);
    if (widths[i] == 0 || max_width <= widths[i]) continue;
    const std::size_t more = std::min(left, max_width - widths[i]);
    widths[i] += more;
    left -= more;
  }
  return widths;
}

std::string text_of(const Cell& cell, const Column& column, std::size_t width, bool utf8) {
  if (cell.part >= 0) return bar(cell.part, cell.rest, width, utf8);
  return padded(printable(cell.text, utf8), width, utf8, column.align);
}

Line row_line(const std::vector<Cell>& cells, const std::vector<Column>& columns,
              const std::vector<std::size_t>& widths, bool utf8) {
  Line line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (widths[i] == 0) continue;
    if (!line.empty()) line.push_back({std::string(kGap, ' ')});
    line.push_back({text_of(cells[i], columns[i], widths[i], utf8), cells[i].look});
  }
  return line;
}

/// `ways` has several texts, longest first. Returns the first that fits, or else the last.
Line first_that_fits(const std::vector<Line>& ways, std::size_t width) {
  for (const Line& way : ways) {
    std::size_t used = 0;
    for (const Piece& piece : way) used += cells(piece.text);
    if (used <= width) return way;
  }
  return ways.back();
}

std::string plural(std::uint64_t count, const char* what) {
  return count_text(count) + ' ' + what + (count == 1 ? "" : "s");
}

std::string run_state(const Overview& overview) {
  const Nanos lasted = overview.scope.run_end_ns;
  if (!overview.scope.has_ended) return "running, " + duration_text(lasted);
  const auto& code = overview.report.run.exit_code;
  const std::string end = code && *code > 0 ? fmt::format("exit code {}", *code) : "ended";
  return end + " after " + duration_text(lasted);
}

Line title_line(const TopAnswers& answers, const TopChoice& choice, const ScreenForm& form) {
  std::string left = " xylem", right = "no answer yet ";
  if (answers.overview) {
    left = " " + printable(answers.overview->report.run.command, form.utf8);
    right = (choice.is_paused ? "PAUSED, " : "") + run_state(*answers.overview) + ' ';
  }
  const std::size_t room = form.width - std::min(form.width, cells(right) + 1);
  return {{padded(left, room, form.utf8) + ' ' + right, Look::kTitle}};
}

Line account_line(const Overview& overview, std::size_t width) {
  const Report::Account& account = overview.report.account;
  if (account.ranks == 0) return {{"no rank has registered yet"}};
  const std::uint64_t known = account.stored + account.lost;
  const std::uint64_t on_the_way = account.captured > known ? account.captured - known : 0;
  const bool is_whole = account.complete_ranks == account.ranks;
  const Look look = account.lost != 0 || (overview.scope.has_ended && !is_whole) ? Look::kBad
                    : is_whole                                                   ? Look::kGood
                                                                                 : Look::kPlain;
  const std::string captured = count_text(account.captured), lost = count_text(account.lost);
  const std::string sum = captured + " calls captured = " + count_text(account.stored) +
                          " stored + " + lost + " lost" +
                          (on_the_way == 0 ? "" : " + " + count_text(on_the_way) + " on the way");
  const std::string complete = fmt::format(
      "; {} of {} complete", count_text(account.complete_ranks), plural(account.ranks, "rank"));
  return first_that_fits({{{sum + complete, look}},
                          {{sum, look}},
                          {{captured + " calls, " + lost + " lost", look}},
                          {{lost + " lost", look}}},
                         width);
}

Line share_line(const Overview& overview, const TopChoice& choice, std::size_t width) {
  const Report& report = overview.report;
  std::string text =
      plural(report.account.ranks, "rank") + " on " + plural(report.run.hosts, "host");
  std::vector<Line> ways = {{{text}}};
  if (overview.calls_per_s) {
    text += ", " + count_text(saturating_cast<std::uint64_t>(*overview.calls_per_s)) + " calls/s";
    ways.insert(ways.begin(), Line{{text}});
  }
  for (const Report::WorldShare& share : report.shares) {
    if (share.world != choice.world) continue;
    text += fmt::format(", {}{} in MPI", share.estimated ? "~" : "", percent_text(share.mean));
    ways.insert(ways.begin(), Line{{text}});
    text += fmt::format(": rank {} {}, rank {} {}", raw(share.lowest.rank),
                        percent_text(share.lowest.share()), raw(share.highest.rank),
                        percent_text(share.highest.share()));
    ways.insert(ways.begin(), Line{{text}});
  }
  return first_that_fits(ways, width);
}

/// Breaks a text into lines of at most `width` cells, between words.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    std::string& last = lines.back();
    if (last.empty()) {
      last = word;
    } else if (cells(last) + 1 + cells(word) <= width) {
      last += ' ' + word;
    } else {
      lines.push_back("  " + word);
    }
    at = end + 1;
  }
  return lines;
}

/// The findings of the chosen world and of hosts, as far as there is room; 0: all that are shown.
std::vector<Line> finding_lines(const Overview& overview, const TopChoice& choice,
                                const ScreenForm& form, std::size_t room) {
  std::vector<Line> lines;
  std::size_t shown = 0;
  for (const Finding& finding : overview.report.findings.findings) {
    if (finding.world && *finding.world != choice.world) continue;
    if (shown++ == kShownFindings) break;
    const Look look = finding.severity == Severity::kGood      ? Look::kGood
                      : finding.severity == Severity::kWarning ? Look::kStrong
                                                               : Look::kPlain;
    const std::string text = printable(finding.text, form.utf8);
    const auto parts = wrapped(text, form.width);
    if (room != 0 && lines.size() + parts.size() > room) {
      if (lines.empty()) lines.push_back({{text, look}});
      break;
    }
    for (const std::string& part : parts) lines.push_back({{part, look}});
  }
  return lines;
}

Line panes_line(const TopChoice& choice, std::size_t width) {
  Line line;
  std::size_t all = 0;
  for (std::size_t i = 0; i < kTopPanes; ++i) all += name(static_cast<TopPane>(i)).size() + 5;
  for (std::size_t i = 0; i < kTopPanes; ++i) {
    const auto pane = static_cast<TopPane>(i);
    const bool is_chosen = pane == choice.pane;
    const bool is_short = all > width && !is_chosen;
    line.push_back({fmt::format(" {}{}{} ", i + 1, is_short ? "" : " ", is_short ? "" : name(pane)),
                    is_chosen ? Look::kTitle : Look::kPlain});
  }
  return line;
}

Line keys_line(const TopAnswers& answers, const TopChoice& choice, const ScreenForm& form) {
  if (choice.is_typing) {
    return {{"filter: " + choice.filter + '_', Look::kStrong}, {"  Enter keeps it, Esc ends it"}};
  }
  if (!answers.fault.empty()) return {{printable(answers.fault, form.utf8), Look::kBad}};
  Line line;
  if (!choice.filter.empty()) line.push_back({"filter: " + choice.filter + "  ", Look::kStrong});
  line.push_back(
      {"q quit  ? help  p pause  s sort  / filter  l last seconds  w world", Look::kFaint});
  return line;
}

std::vector<Line> help_lines() {
  constexpr std::array kHelp = {
      "1 to 6, Tab     overview, functions, ranks, waits, tree, notices",
      "s, r            sort by the next column; reverse",
      "/               filter: a part of a name or host; ranks as 3 or 8-15; Esc ends it",
      "l               the last seconds only, or the whole run",
      "w               the next world (MPI_COMM_WORLD) of the run",
      "p, space        pause: nothing is read until it is pressed again",
      "arrows, j k, PgUp PgDn, Home End    scroll",
      "q, ctrl-C       quit",
      "",
      "Shares of functions are of the time in MPI of all ranks, those of ranks of the",
      "time in which a rank was watched, over its threads. A rank's bar: waiting (in",
      "blocking calls, completions, collectives, probes), then other MPI. In call: how",
      "long a rank has been in a call that has not returned, which, and the other rank.",
      "~ is an estimate: not all calls of that function were timed.",
  };
  std::vector<Line> lines;
  lines.reserve(std::size(kHelp));
  for (const char* line : kHelp) lines.push_back({{line}});
  return lines;
}

/// Draws two panes side by side, of equal width.
std::vector<Line> side_by_side(const std::vector<Line>& left, const std::vector<Line>& right,
                               std::size_t width, bool utf8) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    Line line = i < left.size() ? cut(left[i], width, utf8) : Line{};
    std::size_t used = 0;
    for (const Piece& piece : line) used += cells(piece.text);
    line.push_back({std::string(width + 2 - used, ' ')});
    if (i < right.size()) line.insert(line.end(), right[i].begin(), right[i].end());
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<Line> overview_lines(const TopAnswers& answers, const TopChoice& choice,
                                 const ScreenForm& form, std::size_t height) {
  TopChoice all = choice;  // A filter applies to only one kind of line.
  all.filter.clear();
  const Table functions = functions_table(answers, all), ranks = ranks_table(answers, all);
  std::vector<Line> last;
  if (answers.tree) last.push_back({{printable(tree_sentence(answers.tree->report), form.utf8)}});
  if (answers.overview) {
    const Report& report = answers.overview->report;
    const std::uint64_t open = answers.alerts ? answers.alerts->open : 0;
    last.push_back(
        {{fmt::format("{}{}, {}", open == 0 ? "" : plural(open, "open alert") + ", ",
                      report.losses.empty() ? std::string("nothing is lost")
                                            : plural(report.losses.size(), "kind") + " of loss",
                      plural(report.notices_in_all, "notice")),
          report.losses.empty() && open == 0 ? Look::kPlain : Look::kBad}});
  }
  const bool is_wide = form.width >= kTwoPanes;
  const std::size_t room = height == 0 ? 0 : height - std::min(height, last.size());
  const std::size_t width = is_wide ? (form.width - 2) / 2 : form.width;
  // If the panes are one below the other, the ranks get half of the lines, or fewer if there are
  // few ranks.
  const std::size_t lower_room = std::min(room - room / 2, ranks.rows.size() + 2);
  const std::size_t upper_room = is_wide || height == 0 ? room : room - lower_room;
  std::vector<Line> lines = draw_table(functions, width, upper_room, 0, form.utf8);
  const std::vector<Line> lower =
      draw_table(ranks, width, is_wide || height == 0 ? room : room - lines.size(), 0, form.utf8);
  if (is_wide) {
    lines = side_by_side(lines, lower, width, form.utf8);
  } else {
    lines.insert(lines.end(), lower.begin(), lower.end());
  }
  if (height != 0) lines.resize(std::max(room, lines.size()));
  lines.insert(lines.end(), last.begin(), last.end());
  return lines;
}

}  // namespace

std::vector<Line> draw_table(const Table& table, std::size_t width, std::size_t height,
                             std::size_t scroll, bool utf8) {
  const std::vector<std::size_t> widths = widths_of(table, width);
  std::vector<Line> lines;
  if (!table.title.empty()) lines.push_back({{printable(table.title, utf8), Look::kStrong}});
  if (table.rows.empty()) {
    lines.push_back({{table.none, Look::kFaint}});
  } else {
    std::vector<Cell> heads;
    for (const Column& column : table.columns) heads.push_back({column.head, Look::kFaint});
    lines.push_back(row_line(heads, table.columns, widths, utf8));
  }
  for (std::size_t i = scroll; i < table.rows.size(); ++i) {
    if (height != 0 && lines.size() >= height) break;
    lines.push_back(row_line(table.rows[i], table.columns, widths, utf8));
  }
  if (height != 0 && lines.size() > height) lines.resize(height);
  return lines;
}

TopScreen draw_top(const TopAnswers& answers, const TopChoice& choice, const ScreenForm& form) {
  TopScreen screen;
  std::vector<Line>& lines = screen.lines;
  lines.push_back(title_line(answers, choice, form));
  if (answers.overview) {
    lines.push_back(account_line(*answers.overview, form.width));
    if (form.height == 0 || form.height > 8) {
      lines.push_back(share_line(*answers.overview, choice, form.width));
    }
    if (form.height == 0 || form.height >= kFindingsFrom) {
      const std::size_t max_lines = form.height == 0 ? 0 : form.height / kFindingsPart;
      for (Line& line : finding_lines(*answers.overview, choice, form, max_lines)) {
        lines.push_back(std::move(line));
      }
    }
    screen.extent.worlds = answers.overview->report.worlds_in_all;
  }
  if (form.is_interactive && form.height > 6) lines.push_back(panes_line(choice, form.width));
  const std::size_t foot = form.is_interactive ? 1 : 0;
  std::size_t room = 0;
  if (form.height != 0) room = form.height - std::min(form.height, lines.size() + foot);

  std::vector<Line> body;
  if (choice.shows_help) {
    body = help_lines();
  } else if (choice.pane == TopPane::kOverview) {
    body = overview_lines(answers, choice, form, room);
  } else {
    Table table = pane_table(choice.pane, answers, choice);
    if (!choice.filter.empty()) table.none = "nothing has '" + choice.filter + "' in it";
    const std::size_t head = table.title.empty() ? 1 : 2;
    screen.extent.page = room - std::min(room, head);
    const std::size_t rows = table.rows.size();
    screen.extent.max_scroll = room == 0 ? 0 : rows - std::min(rows, screen.extent.page);
    body = draw_table(table, form.width, room, std::min(choice.scroll, screen.extent.max_scroll),
                      form.utf8);
  }
  if (form.height == 0 || room > 0) lines.insert(lines.end(), body.begin(), body.end());
  if (!form.is_interactive && !answers.fault.empty()) {
    lines.push_back({{printable(answers.fault, form.utf8), Look::kBad}});
  }
  if (form.height != 0) {
    lines.resize(form.height - std::min(form.height, foot));
    if (form.is_interactive) lines.push_back(keys_line(answers, choice, form));
  }
  for (Line& line : lines) line = cut(line, form.width, form.utf8);
  return screen;
}

}  // namespace xylem::viz
