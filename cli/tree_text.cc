#include "cli/tree_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity_text.h"
#include "base/saturating.h"
#include "tree/host_list.h"
#include "tree/observed.h"
#include "tree/topology_text.h"

namespace xylem {
namespace {

using storage::TreeReport;

/// A link is slow if its round trip is more than ten times the median and more than a millisecond.
/// Below a millisecond, links within a host and between hosts differ by such factors.
constexpr Nanos kSlowest = 10;
constexpr Nanos kNeverSlow = 1 * kMillisecond;

/// Maximum depth of indentation. Deeper nodes have the same indentation, since a screen is narrow.
constexpr std::size_t kDeepest = 32;
/// A longer text makes only its own line longer.
constexpr std::size_t kWidestColumn = 200;

/// The nodes of a report as a tree. Borrows the report.
class Forest {
 public:
  using Node = TreeReport::Node;

  explicit Forest(const TreeReport& report) : nodes_(report.nodes), branches_(report.nodes.size()) {
    std::map<NodeId, Branch*> by_id;
    for (const Node& node : nodes_) by_id[node.id] = &branch_of(node);
    for (const Node& node : nodes_) {
      if (!node.parent) continue;
      const auto parent = by_id.find(*node.parent);
      if (parent != by_id.end()) parent->second->children.push_back(&node);
    }
    for (const Node& node : nodes_) {
      if (!node.parent) walk(node);
    }
    count_ranks();
  }

  struct Place {
    const Node* node;
    std::size_t depth;
  };
  /// Parents come before children, siblings in the order of ids. Nodes that cannot be reached from
  /// a front end are left out.
  const std::vector<Place>& order() const { return order_; }
  std::uint64_t ranks_below(const Node& node) const { return branch_of(node).ranks; }
  const std::vector<const Node*>& children(const Node& node) const {
    return branch_of(node).children;
  }
  bool is_attached(const Node& node) const { return branch_of(node).is_attached; }

 private:
  struct Branch {
    std::vector<const Node*> children;
    std::uint64_t ranks = 0;
    bool is_attached = false;
  };
  Branch& branch_of(const Node& node) {
    return branches_[static_cast<std::size_t>(&node - nodes_.data())];
  }
  const Branch& branch_of(const Node& node) const {
    return branches_[static_cast<std::size_t>(&node - nodes_.data())];
  }

  // A file may contain a cycle, so each node is visited once.
  void walk(const Node& root) {
    std::vector<Place> waiting = {{&root, 0}};
    while (!waiting.empty()) {
      const Place at = waiting.back();
      waiting.pop_back();
      Branch& branch = branch_of(*at.node);
      if (std::exchange(branch.is_attached, true)) continue;
      order_.push_back(at);
      for (std::size_t i = branch.children.size(); i > 0; --i) {
        waiting.push_back({branch.children[i - 1], at.depth + 1});
      }
    }
  }

  void count_ranks() {
    for (const Node& node : nodes_) branch_of(node).ranks = node.ranks;
    for (std::size_t i = order_.size(); i > 0; --i) {
      Branch& branch = branch_of(*order_[i - 1].node);
      for (const Node* child : branch.children) branch.ranks += branch_of(*child).ranks;
    }
  }

  const std::vector<Node>& nodes_;
  std::vector<Branch> branches_;  // In the order of the nodes.
  std::vector<Place> order_;
};

using Cells = std::vector<std::string>;

std::string rate_text(double per_second) {
  return per_second < 100 ? fmt::format("{:.1f}", per_second)
                          : count_text(saturating_cast<std::uint64_t>(per_second));
}

Cells cells_of(const TreeReport::Node& node, std::size_t depth, std::uint64_t ranks) {
  const std::string indent(2 * std::min(depth, kDeepest), ' ');
  Cells cells = {fmt::format("{}{} {} on {}", indent, node.role, raw(node.id), node.host),
                 node.silent_ns ? "silent " + duration_text(*node.silent_ns) : node.state,
                 count_text(ranks),
                 "",
                 "",
                 "",
                 ""};
  if (!node.link) return cells;
  const TreeReport::Link& link = *node.link;
  if (link.packets_per_s) cells[3] = rate_text(*link.packets_per_s);
  if (link.bytes_per_s) cells[4] = bytes_text(saturating_cast<std::uint64_t>(*link.bytes_per_s));
  cells[5] = bytes_text(link.queue_bytes);
  if (link.round_trip_ns) cells[6] = duration_text(*link.round_trip_ns);
  return cells;
}

// Columns of words, then numbers.
void append_rows(std::string& text, const std::vector<Cells>& rows, std::size_t words) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Cells& cells : rows) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::clamp(cells[i].size(), widths[i], kWidestColumn);
    }
  }
  for (const Cells& cells : rows) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      line += i < words ? fmt::format("{:<{}}", cells[i], widths[i])
                        : fmt::format("{:>{}}", cells[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
}

void append_tree(std::string& text, const TreeReport& report) {
  const Forest forest(report);
  std::vector<Cells> rows = {
      {"PROCESS", "STATE", "RANKS", "PACKETS/S", "BYTES/S", "QUEUE", "ROUND TRIP"}};
  for (const Forest::Place& at : forest.order()) {
    rows.push_back(cells_of(*at.node, at.depth, forest.ranks_below(*at.node)));
  }
  bool is_first = true;
  for (const TreeReport::Node& node : report.nodes) {
    if (forest.is_attached(node)) continue;
    if (std::exchange(is_first, false)) rows.push_back({"below nobody:", "", "", "", "", "", ""});
    rows.push_back(cells_of(node, 1, node.ranks));
  }
  append_rows(text, rows, 2);
}

/// Returns a fact as text for people; empty if it is unknown.
std::string fact_text(const TreeReport::Node& node, const char* name) {
  const auto known = node.facts.find(name);
  if (known == node.facts.end()) return "";
  const std::string_view fact = name;
  const double value = known->second;
  if (fact == "idle") return fmt::format("{:.0f} %", 100 * value);
  if (fact == "memory") return fmt::format("{:.1f} GiB", value);
  if (fact == "network") return fmt::format("{:g} Gbit/s", value);
  if (fact == "round_trip") return fmt::format("{:.0f} us", value);
  return fmt::format("{:.{}f}", value, fact == "cores" && value == std::floor(value) ? 0 : 2);
}

void append_hosts(std::string& text, const TreeReport& report) {
  constexpr std::array kFacts = {"cores", "idle", "run_queue", "memory", "network", "round_trip"};
  std::vector<Cells> rows = {
      {"HOST", "CORES", "IDLE", "RUN QUEUE", "FREE MEMORY", "NETWORK", "TO FRONT END"}};
  for (const TreeReport::Node& node : report.nodes) {
    Cells cells = {node.host};
    for (const char* name : kFacts) cells.push_back(fact_text(node, name));
    const auto is_known = [](const std::string& cell) { return !cell.empty(); };
    if (std::any_of(cells.begin() + 1, cells.end(), is_known)) rows.push_back(std::move(cells));
  }
  if (rows.size() > 1) append_rows(text, rows, 1);
}

void append_reasons(std::string& text, const TreeReport& report) {
  std::map<std::string, std::vector<std::string>> hosts;
  for (const TreeReport::Node& node : report.nodes) {
    if (!node.reason.empty()) hosts[node.reason].push_back(node.host);
  }
  for (auto& [reason, names] : hosts) {
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    text += "placed on " + tree::fold_hosts(names) + ": " + reason + '\n';
  }
}

/// "back_end on n[1-2]; comm_process on n3".
std::string by_role(const std::map<std::string, std::vector<std::string>>& hosts) {
  std::string text;
  for (const auto& [role, names] : hosts) {
    text += (text.empty() ? "" : "; ") + role + " on " + tree::fold_hosts(names);
  }
  return text;
}

std::optional<Nanos> middle_round_trip(const TreeReport& report) {
  std::vector<Nanos> all;
  for (const TreeReport::Node& node : report.nodes) {
    if (node.parent && node.link && node.link->round_trip_ns) {
      all.push_back(*node.link->round_trip_ns);
    }
  }
  if (all.size() < 2) return std::nullopt;
  // With an even number of links, take the smaller middle value: if there are two, one may be slow.
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::ranges::nth_element(all, middle);
  return *middle;
}

void append_attention(std::string& text, const TreeReport& report) {
  std::map<std::string, std::vector<std::string>> lost, silent, slow;
  const auto middle = middle_round_trip(report);
  for (const TreeReport::Node& node : report.nodes) {
    if (node.state == "lost") lost[node.role].push_back(node.host);
    if (node.silent_ns) silent[node.role].push_back(node.host);
    const bool has_round_trip = node.parent && node.link && node.link->round_trip_ns;
    if (!middle || !has_round_trip || node.state == "lost") continue;
    const Nanos round_trip = *node.link->round_trip_ns;
    if (round_trip > kNeverSlow && round_trip / kSlowest > *middle) {
      slow[node.role].push_back(node.host);
    }
  }
  if (!lost.empty()) text += "lost: " + by_role(lost) + '\n';
  if (!silent.empty()) text += "silent: " + by_role(silent) + '\n';
  if (!slow.empty()) {
    text += fmt::format("slow: {}; half of all round trips take {} at most\n", by_role(slow),
                        duration_text(*middle));
  }
}

void append_notices(std::string& text, const TreeReport& report) {
  for (const TreeReport::Notice& notice : report.notices) {
    text += fmt::format("{}: {} on {}: {}", notice.level, notice.role,
                        tree::fold_hosts(notice.hosts), notice.text);
    if (notice.times > notice.hosts.size()) text += fmt::format(" ({} times)", notice.times);
    text += '\n';
  }
  if (report.notices_dropped > 0) {
    text +=
        fmt::format("and {} more that were not passed on\n", count_text(report.notices_dropped));
  }
}

/// Makes text safe for a quoted label of Graphviz.
std::string label_text(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '"' || c == '\\'; }, '_');
  return text;
}

}  // namespace

std::string tree_text(const TreeReport& report) {
  std::string text = report.command + (report.has_ended ? ": ended after " : ": as it was at ") +
                     duration_text(report.at_ns) + '\n';
  append_tree(text, report);
  append_hosts(text, report);
  append_reasons(text, report);
  append_attention(text, report);
  append_notices(text, report);
  return text;
}

Result<std::string> tree_topology(const TreeReport& report) {
  const Forest forest(report);
  const auto is_inner = [](const TreeReport::Node* node) {
    return node->role != "back_end" && node->role != "program";
  };
  std::vector<tree::ObservedProcess> processes;
  for (const TreeReport::Node& node : report.nodes) {
    const bool carries = std::ranges::any_of(forest.children(node), is_inner);
    if (!is_inner(&node) || (node.state == "lost" && !carries)) continue;
    processes.push_back({node.id, node.parent.value_or(kFrontEndNode), node.host});
  }
  const auto topology = tree::topology_of(processes);
  if (!topology) return unexpected(topology.error());
  return print(*topology);
}

std::string tree_dot(const TreeReport& report) {
  std::string text = "digraph xylem {\n";
  for (const TreeReport::Node& node : report.nodes) {
    text += fmt::format("  n{} [label=\"{} {}\\n{}\\n{}\"", raw(node.id), label_text(node.role),
                        raw(node.id), label_text(node.host), label_text(node.state));
    if (node.state == "lost" || node.silent_ns) text += ", color=red";
    text += "];\n";
    if (node.parent) text += fmt::format("  n{} -> n{};\n", raw(*node.parent), raw(node.id));
  }
  return text + "}\n";
}

}  // namespace xylem
