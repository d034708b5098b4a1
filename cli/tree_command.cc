#include "cli/tree_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "cli/report_command.h"
#include "storage/query.h"
#include "tree/topology_text.h"

namespace xylem {
namespace {

using storage::integer_of;
using storage::text_of;

struct Node {
  std::int64_t id = 0;
  std::string role, host, state;
  std::optional<std::int64_t> parent;
  std::int64_t level = 0;
  std::int64_t ranks = 0;      ///< Here; after count_below, here and below.
  std::int64_t back_ends = 0;  ///< Below, itself included.
  std::optional<Nanos> round_trip_ns;
  std::vector<std::size_t> children;
  bool in_tree = false;  ///< Reached from the front end.
};

Result<std::vector<Node>> read_nodes(storage::RunFile& run) {
  const auto rows = run.rows(
      "SELECT n.id, n.role, n.host, n.state, n.parent, n.level, (SELECT count(*) FROM process p"
      " WHERE p.leaf = n.leaf AND p.world IS NOT NULL), l.round_trip_ns"
      " FROM node n LEFT JOIN link l ON l.node = n.id ORDER BY n.id");
  if (!rows) return unexpected(rows.error());
  std::vector<Node> nodes;
  std::map<std::int64_t, std::size_t> place;
  for (const auto& row : *rows) {
    Node node;
    node.id = integer_of(row[0]);
    node.role = text_of(row[1]);
    node.host = text_of(row[2]);
    node.state = text_of(row[3]);
    if (row[4].index() != 0) node.parent = integer_of(row[4]);
    node.level = integer_of(row[5]);
    node.ranks = integer_of(row[6]);
    if (row[7].index() != 0) node.round_trip_ns = integer_of(row[7]);
    node.back_ends = node.role == "back_end" ? 1 : 0;
    place[node.id] = nodes.size();
    nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].parent) continue;
    const auto parent = place.find(*nodes[i].parent);
    if (parent != place.end()) nodes[parent->second].children.push_back(i);
  }
  return nodes;
}

/// The nodes below `root`, itself first, parents before children. A file may tell of a cycle: what
/// was reached once is not followed again.
std::vector<std::size_t> walk(std::vector<Node>& nodes, std::size_t root) {
  std::vector<std::size_t> order;
  std::vector<std::size_t> waiting = {root};
  while (!waiting.empty()) {
    const std::size_t at = waiting.back();
    waiting.pop_back();
    if (std::exchange(nodes[at].in_tree, true)) continue;
    order.push_back(at);
    waiting.insert(waiting.end(), nodes[at].children.rbegin(), nodes[at].children.rend());
  }
  return order;
}

void count_below(std::vector<Node>& nodes, const std::vector<std::size_t>& order) {
  for (const std::size_t at : std::views::reverse(order)) {
    for (const std::size_t child : nodes[at].children) {
      nodes[at].ranks += nodes[child].ranks;
      nodes[at].back_ends += nodes[child].back_ends;
    }
  }
}

std::string count_of(std::int64_t count, const char* what) {
  return count_text(static_cast<std::uint64_t>(count)) + ' ' + what + (count == 1 ? "" : "s");
}

std::string line_of(const Node& node) {
  std::string text = fmt::format("{} {} on {}, {}:", node.role, node.id, node.host, node.state);
  if (node.role != "back_end") text += ' ' + count_of(node.back_ends, "back end") + ',';
  text += ' ' + count_of(node.ranks, "rank");
  if (node.round_trip_ns) text += ", round trip " + duration_text(*node.round_trip_ns);
  return text;
}

void print_text(std::vector<Node>& nodes, std::size_t root, std::ostream& out) {
  const auto order = walk(nodes, root);
  count_below(nodes, order);
  std::map<std::int64_t, std::size_t> depth;
  for (const std::size_t at : order) {
    const Node& node = nodes[at];
    const bool is_root = at == root;
    const std::size_t indent = is_root ? 0 : depth[*node.parent] + 1;
    depth[node.id] = indent;
    out << std::string(2 * indent, ' ') << line_of(node) << '\n';
  }
  bool first = true;
  for (const Node& node : nodes) {
    if (node.in_tree) continue;
    if (std::exchange(first, false)) out << "not attached:\n";
    out << "  " << line_of(node) << '\n';
  }
}

void print_json(const std::vector<Node>& nodes, std::ostream& out) {
  const auto text = [](const std::string& value) { return storage::to_json(value); };
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : "null";
  };
  out << '[';
  const char* between = "\n";
  for (const Node& node : nodes) {
    out << between
        << fmt::format(
               R"({{"id": {}, "role": {}, "host": {}, "parent": {}, "level": {}, "state": {}, )"
               R"("ranks": {}, "round_trip_ns": {}}})",
               node.id, text(node.role), text(node.host), number(node.parent), node.level,
               text(node.state), node.ranks, number(node.round_trip_ns));
    between = ",\n";
  }
  out << "\n]\n";
}

/// The front end and the communication processes; back ends attach by themselves.
Result<std::string> topology_of(std::vector<Node>& nodes, std::size_t root) {
  std::map<std::string, std::uint32_t> used;
  std::vector<tree::Process> names(nodes.size());
  const auto is_inner = [&](std::size_t at) { return nodes[at].role != "back_end"; };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_inner(i)) names[i] = {nodes[i].host, used[nodes[i].host]++};
  }
  std::vector<tree::Branch> branches;
  for (const std::size_t at : walk(nodes, root)) {
    tree::Branch branch{names[at], {}};
    for (const std::size_t child : nodes[at].children) {
      if (is_inner(child)) branch.children.push_back(names[child]);
    }
    if (is_inner(at) && !branch.children.empty()) branches.push_back(std::move(branch));
  }
  if (branches.empty()) return print(tree::Topology(names[root]));
  const auto topology = tree::Topology::make(branches);
  if (!topology) return unexpected(topology.error());
  return print(*topology);
}

}  // namespace

int run_tree(const TreeOptions& options, std::ostream& out, std::ostream& err) {
  const auto fail = [&err](const std::string& sentence) {
    err << "xylem tree: " << sentence << '\n';
    return 1;
  };
  auto run = storage::RunFile::open(options.file);
  if (!run) return fail(run.error().message);
  auto nodes = read_nodes(**run);
  if (!nodes) return fail(nodes.error().message);
  const auto root = std::ranges::find(*nodes, std::string("front_end"), &Node::role);
  if (root == nodes->end()) {
    return fail(options.file + ": it tells of no front end; the run ended before it had a tree");
  }
  const auto at = static_cast<std::size_t>(root - nodes->begin());
  if (options.topology) {
    const auto text = topology_of(*nodes, at);
    if (!text) return fail(text.error().message);
    out << *text;
  } else if (options.json) {
    print_json(*nodes, out);
  } else {
    print_text(*nodes, at, out);
  }
  out.flush();
  return 0;
}

void add_tree_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand("tree", "The overlay of a run, live or finished");
  const auto options = std::make_shared<TreeOptions>();
  command->add_option("FILE", options->file, "The run's file")->required();
  CLI::Option* topology =
      command->add_flag("--topology", options->topology, "The inner tree as a topology file");
  command->add_flag("--json", options->json, "An array of processes")->excludes(topology);
  command->callback([options, &code] { code = run_tree(*options, std::cout, std::cerr); });
}

}  // namespace xylem
