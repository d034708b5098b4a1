#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>

#include "base/quantity_text.h"
#include "viz/top_panes_internal.h"

namespace xylem::viz {
namespace {

using namespace storage;

/// Returns true if `text` contains the filter, in upper or lower case.
bool holds(std::string_view text, std::string_view filter) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return std::search(text.begin(), text.end(), filter.begin(), filter.end(), same) != text.end();
}

/// Ranks [first, last] if the filter is "3" or "3-7"; `is_ranks` is false for any other filter.
struct RankFilter {
  explicit RankFilter(std::string_view text) {
    const char* const end = text.data() + text.size();
    std::from_chars_result read = std::from_chars(text.data(), end, first);
    if (read.ec != std::errc()) return;
    last = first;
    if (read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    is_ranks = read.ec == std::errc() && read.ptr == end;
  }
  bool includes(Rank rank) const { return !is_ranks || (raw(rank) >= first && raw(rank) <= last); }
  std::uint64_t first = 0, last = 0;
  bool is_ranks = false;
};

std::string about(bool estimated, const std::string& text) { return estimated ? "~" + text : text; }

/// The world, if there are several, and the time.
std::string scope_text(const TopAnswers& answers, const Scope& scope, const TopChoice& choice) {
  const bool has_worlds = answers.overview && answers.overview->report.worlds_in_all > 1;
  const std::string world = has_worlds ? fmt::format("world {}, ", raw(choice.world)) : "";
  if (!choice.is_recent) return world + "whole run";
  return world + "last " + duration_text(scope.end_ns - scope.begin_ns);
}

std::string order_text(const TopChoice& choice, TopOrder order) {
  return fmt::format("by {}{}", name(order), choice.is_reversed ? ", reversed" : "");
}

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string ranks_text(const RankGrid::Row& row) {
  if (row.ranks == 1) return std::to_string(row.first_rank);
  return fmt::format("{}-{}", row.first_rank, row.first_rank + row.ranks - 1);
}

/// Sorts by a number, largest first, or keeps the order. Then reverses the order if the user has
/// chosen this.
template <typename Row, typename Number>
void sort_by(std::vector<const Row*>& rows, const TopChoice& choice, Number number) {
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Row* a, const Row* b) { return number(*a) > number(*b); });
  if (choice.is_reversed) std::reverse(rows.begin(), rows.end());
}

double number_of(const FunctionTable::Function& function, TopOrder order) {
  switch (order) {
    case TopOrder::kCalls:
      return static_cast<double>(function.calls);
    case TopOrder::kBytes:
      return static_cast<double>(function.bytes);
    case TopOrder::kLongest:
      return static_cast<double>(function.max_ns);
    default:
      return static_cast<double>(function.time_ns);
  }
}

Nanos nanos(std::uint64_t ns) { return static_cast<Nanos>(ns); }

}  // namespace

Table functions_table(const TopAnswers& answers, const TopChoice& choice) {
  Table table;
  table.columns = {{"function", 18, Align::kLeft, 0, 32}, {"time", 9, Align::kRight, 0},
                   {"share", 8, Align::kRight, 1},        {"", 8, Align::kLeft, 4, 60},
                   {"calls", 14, Align::kRight, 2},       {"mean", 9, Align::kRight, 6},
                   {"longest", 9, Align::kRight, 5},      {"payload", 9, Align::kRight, 3}};
  table.none = "no call of MPI yet";
  if (!answers.functions) return table;
  const FunctionTable& functions = *answers.functions;
  std::vector<const FunctionTable::Function*> rows;
  for (const auto& function : functions.functions) {
    if (holds(function.name, choice.filter)) rows.push_back(&function);
  }
  if (choice.function_order == TopOrder::kName) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto* a, const auto* b) { return a->name < b->name; });
    if (choice.is_reversed) std::reverse(rows.begin(), rows.end());
  } else {
    sort_by(rows, choice, [&](const auto& f) { return number_of(f, choice.function_order); });
  }
  table.title =
      fmt::format("Functions, {}, {}: {} in MPI", scope_text(answers, functions.scope, choice),
                  order_text(choice, choice.function_order),
                  about(functions.scope.estimated, duration_text(nanos(functions.mpi_ns))));
  const auto whole = static_cast<double>(functions.mpi_ns);
  for (const FunctionTable::Function* f : rows) {
    const double share = share_of(static_cast<double>(f->time_ns), whole);
    const auto mean = mean_duration(f->calls, nanos(f->time_ns), nanos(f->max_ns), f->estimated);
    table.rows.push_back({{f->name, Look::kStrong},
                          {about(f->estimated, duration_text(nanos(f->time_ns)))},
                          {percent_text(share)},
                          {"", Look::kBar, share},
                          {count_text(f->calls)},
                          {mean ? about(f->estimated, duration_text(*mean)) : ""},
                          {duration_text(nanos(f->max_ns))},
                          {f->bytes == 0 ? "" : bytes_text(f->bytes)}});
  }
  return table;
}

namespace {

/// One row, with its values from the four grids.
struct RankLine {
  const RankGrid::Row* row = nullptr;
  double mpi = 0, wait = 0;  ///< Shares of the watched time.
  std::uint64_t calls = 0, bytes = 0;
  const CallUnderWay* under_way = nullptr;  ///< The longest call under way; null: none.
};

/// For each row, the longest call under way of its ranks; null: none. Rows come in the order of
/// ranks, calls longest first.
std::vector<const CallUnderWay*> longest_by_row(const UnderWay& under_way,
                                                const std::vector<RankGrid::Row>& rows) {
  std::vector<const CallUnderWay*> longest(rows.size(), nullptr);
  for (const CallUnderWay& call : under_way.calls) {
    const auto after = std::ranges::upper_bound(rows, std::uint64_t{raw(call.rank)}, {},
                                                &RankGrid::Row::first_rank);
    if (after == rows.begin()) continue;
    const auto at = static_cast<std::size_t>(after - rows.begin()) - 1;
    if (raw(call.rank) >= rows[at].first_rank + rows[at].ranks || longest[at] != nullptr) continue;
    longest[at] = &call;
  }
  return longest;
}

/// The duration comes first, because the end of the text is cut off if there is no room.
std::string call_text(const RankLine& line) {
  if (line.under_way == nullptr) return "";
  const CallUnderWay& call = *line.under_way;
  std::string text = duration_text(call.duration_ns()) + ' ' + call.function;
  if (call.peer) text += fmt::format(" {}", raw(*call.peer));
  if (line.row->ranks > 1) text += fmt::format(", rank {}", raw(call.rank));
  return text + (call.has_ended ? ", ended" : call.is_host_lost ? ", host lost" : "");
}

std::vector<RankLine> rank_lines(const TopAnswers::Ranks& ranks) {
  // The grids may be from different commits, so a rank may be missing in the earlier ones.
  const std::size_t rows = std::min({ranks.mpi.rows.size(), ranks.wait.rows.size(),
                                     ranks.calls.rows.size(), ranks.bytes.rows.size()});
  const auto longest = longest_by_row(ranks.under_way, ranks.mpi.rows);
  std::vector<RankLine> lines;
  for (std::size_t i = 0; i < rows; ++i) {
    const RankGrid::Row& row = ranks.mpi.rows[i];
    lines.push_back({&row, row.share(), ranks.wait.rows[i].share(), ranks.calls.rows[i].total,
                     ranks.bytes.rows[i].total, longest[i]});
  }
  return lines;
}

double number_of(const RankLine& line, TopOrder order) {
  switch (order) {
    case TopOrder::kWait:
      return line.wait;
    case TopOrder::kCalls:
      return static_cast<double>(line.calls);
    case TopOrder::kBytes:
      return static_cast<double>(line.bytes);
    case TopOrder::kRank:
      return -static_cast<double>(line.row->first_rank);
    default:
      return line.mpi;
  }
}

}  // namespace

Table ranks_table(const TopAnswers& answers, const TopChoice& choice) {
  Table table;
  table.columns = {{"rank", 9, Align::kRight, 0},   {"host", 10, Align::kLeft, 3, 24},
                   {"in MPI", 8, Align::kRight, 0}, {"waiting", 8, Align::kRight, 1},
                   {"", 10, Align::kLeft, 2, 100},  {"calls", 14, Align::kRight, 4},
                   {"payload", 9, Align::kRight, 5}};
  table.none = "no rank has registered yet";
  if (!answers.ranks) return table;
  const bool has_calls = !answers.ranks->under_way.calls.empty();
  if (has_calls) {
    const Column in_call{"in call for", 21, Align::kLeft, 1, 40};
    table.columns.insert(table.columns.begin() + 4, in_call);
  }
  const Scope& scope = answers.ranks->mpi.scope;
  const std::vector<RankLine> all = rank_lines(*answers.ranks);
  const RankFilter only(choice.filter);
  std::vector<const RankLine*> lines;
  for (const RankLine& line : all) {
    const RankGrid::Row& row = *line.row;
    const bool is_meant =
        only.is_ranks ? row.first_rank <= only.last && row.first_rank + row.ranks > only.first
                      : holds(row.host, choice.filter);
    if (is_meant) lines.push_back(&line);
  }
  sort_by(lines, choice, [&](const RankLine& l) { return number_of(l, choice.rank_order); });
  table.title = fmt::format("Ranks, {}, {}", scope_text(answers, scope, choice),
                            order_text(choice, choice.rank_order));
  for (const RankLine* line : lines) {
    table.rows.push_back({{ranks_text(*line->row), Look::kStrong},
                          {line->row->host},
                          {about(scope.estimated, percent_text(line->mpi))},
                          {about(scope.estimated, percent_text(line->wait))},
                          {"", Look::kBar, line->wait, std::max(0.0, line->mpi - line->wait)},
                          {count_text(line->calls)},
                          {line->bytes == 0 ? "" : bytes_text(line->bytes)}});
    if (!has_calls) continue;
    auto& cells = table.rows.back();
    cells.insert(cells.begin() + 4, {call_text(*line)});
  }
  return table;
}

namespace {

std::string rank_text(const std::optional<Rank>& rank) {
  return rank ? std::to_string(raw(*rank)) : "many";
}

/// Wait states, from the trace.
void add_wait_states(const storage::WaitSummary& waits, const RankFilter& only, Table& table) {
  table.title = "Who waits for whom most, whole run, from the trace";
  table.columns.push_back({"why", 18, Align::kLeft, 1});
  table.columns.push_back({"in", 13, Align::kLeft, 2});
  const double max = waits.rows.empty() ? 0 : static_cast<double>(waits.rows.front().time_ns);
  for (const storage::WaitState& wait : waits.rows) {
    if (!only.includes(wait.rank) && !(wait.cause_rank && only.includes(*wait.cause_rank)))
      continue;
    table.rows.push_back({{std::to_string(raw(wait.world))},
                          {std::to_string(raw(wait.rank)), Look::kStrong},
                          {rank_text(wait.cause_rank), Look::kStrong},
                          {duration_text(wait.time_ns)},
                          {"", Look::kBar, share_of(static_cast<double>(wait.time_ns), max)},
                          {count_text(wait.calls)},
                          {wait_kind_words(wait.kind)},
                          {wait.function}});
  }
}

/// The estimate: time in calls that received from a rank.
void add_estimates(const std::vector<Report::Wait>& waits, const RankFilter& only, Table& table) {
  table.title = "Who waits for whom, an estimate: time in calls that received from that rank";
  const double max = waits.empty() ? 0 : static_cast<double>(waits.front().time_ns);
  for (const Report::Wait& wait : waits) {
    if (!only.includes(wait.rank) && !only.includes(wait.peer)) continue;
    table.rows.push_back({{std::to_string(raw(wait.world))},
                          {std::to_string(raw(wait.rank)), Look::kStrong},
                          {std::to_string(raw(wait.peer)), Look::kStrong},
                          {duration_text(wait.time_ns)},
                          {"", Look::kBar, share_of(static_cast<double>(wait.time_ns), max)},
                          {count_text(wait.calls)}});
  }
}

}  // namespace

Table waits_table(const TopAnswers& answers, const TopChoice& choice) {
  Table table;
  table.columns = {{"world", 5, Align::kRight, 3},     {"rank", 9, Align::kRight, 0},
                   {"waits for", 9, Align::kRight, 0}, {"time", 9, Align::kRight, 0},
                   {"", 10, Align::kLeft, 2, 60},      {"calls", 14, Align::kRight, 1}};
  table.none = "no rank has waited in a receive yet";
  if (!answers.overview) return table;
  const RankFilter only(choice.filter);
  const Report& report = answers.overview->report;
  if (report.wait_states.is_known()) {
    table.none = "no rank has waited";
    add_wait_states(report.wait_states, only, table);
  } else {
    add_estimates(report.waits, only, table);
  }
  return table;
}

namespace {

std::string state_text(const TreeReport::Node& node) {
  return node.silent_ns ? fmt::format("silent {} s", *node.silent_ns / kSecond) : node.state;
}

bool is_bad(const TreeReport::Node& node) { return node.silent_ns || node.state == "lost"; }

std::string spoken(std::string role) {
  std::replace(role.begin(), role.end(), '_', ' ');
  return role;
}

std::string rate_text(const std::optional<double>& bytes_per_s) {
  if (!bytes_per_s || !(*bytes_per_s >= 0)) return "";
  return bytes_text(static_cast<std::uint64_t>(std::llround(std::min(*bytes_per_s, 1e18)))) + "/s";
}

}  // namespace

Table tree_table(const TopAnswers& answers, const TopChoice& choice) {
  Table table;
  table.columns = {{"node", 5, Align::kRight, 0},       {"what", 12, Align::kLeft, 1, 14},
                   {"host", 12, Align::kLeft, 0, 30},   {"state", 10, Align::kLeft, 0, 20},
                   {"under", 6, Align::kRight, 3},      {"ranks", 6, Align::kRight, 5},
                   {"queue", 9, Align::kRight, 2},      {"sends", 11, Align::kRight, 4},
                   {"round trip", 10, Align::kRight, 6}};
  table.none = "no process of the tree has been seen yet";
  if (!answers.tree) return table;
  const TreeReport& tree = answers.tree->report;
  std::vector<const TreeReport::Node*> nodes;
  for (const auto& node : tree.nodes) {
    if (holds(node.host, choice.filter) || holds(spoken(node.role), choice.filter) ||
        holds(state_text(node), choice.filter)) {
      nodes.push_back(&node);
    }
  }
  const auto queue = [](const TreeReport::Node& n) { return n.link ? n.link->queue_bytes : 0; };
  if (choice.tree_order == TopOrder::kName) {
    std::stable_sort(nodes.begin(), nodes.end(),
                     [](const auto* a, const auto* b) { return a->host < b->host; });
    if (choice.is_reversed) std::reverse(nodes.begin(), nodes.end());
  } else if (choice.tree_order == TopOrder::kQueue) {
    sort_by(nodes, choice, queue);
  } else if (choice.is_reversed) {
    std::reverse(nodes.begin(), nodes.end());
  }
  table.title = tree_sentence(tree);
  for (const TreeReport::Node* node : nodes) {
    const auto& link = node->link;
    table.rows.push_back(
        {{std::to_string(raw(node->id)), Look::kStrong},
         {spoken(node->role)},
         {node->host},
         {state_text(*node), is_bad(*node) ? Look::kBad : Look::kPlain},
         {node->parent ? std::to_string(raw(*node->parent)) : ""},
         {node->ranks == 0 ? "" : count_text(node->ranks)},
         {link ? bytes_text(link->queue_bytes) : ""},
         {link ? rate_text(link->bytes_per_s) : ""},
         {link && link->round_trip_ns ? duration_text(*link->round_trip_ns) : ""}});
  }
  return table;
}

std::string tree_sentence(const TreeReport& tree) {
  std::map<std::string, std::uint64_t> roles, faults;
  std::uint64_t queue = 0;
  for (const TreeReport::Node& node : tree.nodes) {
    ++roles[node.role];
    if (node.state == "lost") ++faults["lost"];
    if (node.silent_ns) ++faults["silent"];
    if (node.link) queue += node.link->queue_bytes;
  }
  const auto plural = [](std::uint64_t count, const char* what) {
    return fmt::format("{} {}{}", count_text(count), what, count == 1 ? "" : "s");
  };
  std::string text = "Tree: " + plural(roles["comm_process"], "communication process");
  if (roles["comm_process"] != 1) text.replace(text.size() - 1, 1, "es");
  text += ", " + plural(roles["back_end"], "back end");
  if (roles["program"] > 0) text += ", " + plural(roles["program"], "program");
  for (const auto& [state, count] : faults) text += fmt::format(", {} {}", count, state);
  return text + ", " + bytes_text(queue) + " queued";
}

Table notices_table(const TopAnswers& answers, const TopChoice& choice) {
  Table table;
  table.columns = {{"at", 10, Align::kRight, 1},
                   {"level", 8, Align::kLeft, 0},
                   {"host", 10, Align::kLeft, 2, 24},
                   {"what", 18, Align::kLeft, 0, 400}};
  table.none = "no alerts, nothing is missing, and no process of the tree has anything to say";
  table.title = "Alerts, what is missing, and notices of the tree's processes";
  if (answers.alerts) {
    for (const Alert& alert : answers.alerts->alerts) {
      const std::string what = alert_kind_name(alert.kind) + (": " + alert.text);
      if (!holds(what, choice.filter)) continue;
      const bool is_open = !alert.until_ns;
      table.rows.push_back({{duration_text(alert.at_ns)},
                            {is_open ? "alert" : "was so", is_open ? Look::kBad : Look::kPlain},
                            {""},
                            {what}});
    }
  }
  if (answers.overview) {
    for (const Report::Loss& loss : answers.overview->report.losses) {
      const std::string calls = loss.calls ? ", " + count_text(*loss.calls) + " calls" : "";
      const std::string what = loss.part + calls + ": " + loss.reason;
      if (!holds(what + loss.host, choice.filter)) continue;
      table.rows.push_back({{""}, {"lost", Look::kBad}, {loss.host}, {what}});
    }
  }
  if (!answers.notices) return table;
  for (const Notices::Notice& notice : answers.notices->notices) {
    const std::string what = spoken(notice.role) + ": " + notice.text;
    if (!holds(what + notice.host, choice.filter)) continue;
    table.rows.push_back({{duration_text(notice.at_ns)},
                          {notice.level, notice.level == "error" ? Look::kBad : Look::kPlain},
                          {notice.host},
                          {what}});
  }
  return table;
}

Table pane_table(TopPane pane, const TopAnswers& answers, const TopChoice& choice) {
  switch (pane) {
    case TopPane::kFunctions:
      return functions_table(answers, choice);
    case TopPane::kWaits:
      return waits_table(answers, choice);
    case TopPane::kTree:
      return tree_table(answers, choice);
    case TopPane::kNotices:
      return notices_table(answers, choice);
    default:
      return ranks_table(answers, choice);
  }
}

}  // namespace xylem::viz
