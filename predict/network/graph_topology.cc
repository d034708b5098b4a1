// Topologies from a file: links between words. Shortest paths by breadth-first search.

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "base/quoted.h"
#include "predict/network/topology.h"

namespace xylem::predict {
namespace {

constexpr std::uint32_t kUnknown = 0xffffffff;
constexpr std::uint64_t kMaxDistances = std::uint64_t{1} << 26;
constexpr std::string_view kBlanks = " \t\r";

struct Link {
  std::uint32_t a, b;
};

struct Graph {
  std::vector<Link> links;  ///< Vertices. Nodes come first.
  std::uint32_t nodes = 0;
  std::vector<std::string> switches;

  std::size_t vertices() const { return nodes + switches.size(); }
};

class GraphTopology final : public Topology {
 public:
  explicit GraphTopology(Graph graph)
      : graph_(std::move(graph)), first_(graph_.vertices() + 1), table_of_(graph_.vertices()) {
    for (const Link& it : graph_.links) {
      ++first_[it.a + 1];
      ++first_[it.b + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    outgoing_.resize(2 * graph_.links.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t i = 0; i < outgoing_.size(); ++i) outgoing_[next[from(i)]++] = i;
    std::ranges::fill(table_of_, kUnknown);
    max_tables_ = std::max<std::size_t>(1, kMaxDistances / graph_.vertices());
  }

  std::uint32_t nodes() const override { return graph_.nodes; }
  std::uint32_t channels() const override { return static_cast<std::uint32_t>(outgoing_.size()); }

  void find_path(Node source, Node destination, std::vector<ChannelId>& path) const override {
    path.clear();
    CHECK(raw(source) < nodes() && raw(destination) < nodes());
    if (source == destination) return;
    const std::uint32_t goal = raw(destination), root = root_of(goal);
    const std::vector<std::uint32_t>& distances = distances_to(root);
    std::uint32_t at = raw(source);
    while (at != root) {
      const auto is_next = [&](std::uint32_t channel) {
        const std::uint32_t next = to(channel);
        return (next >= nodes() || next == root) && distances[next] + 1 == distances[at];
      };
      const auto begin = outgoing_.begin() + first_[at], end = outgoing_.begin() + first_[at + 1];
      auto choice = goal % static_cast<std::uint32_t>(std::count_if(begin, end, is_next));
      auto channel = std::find_if(begin, end, is_next);
      for (; choice > 0; --choice) channel = std::find_if(channel + 1, end, is_next);
      path.push_back(ChannelId{*channel});
      at = to(*channel);
    }
    if (root != goal) path.push_back(ChannelId{outgoing_[first_[goal]] ^ 1});
  }

  ChannelEnds ends(ChannelId channel) const override {
    CHECK(raw(channel) < channels());
    return {Vertex{from(raw(channel))}, Vertex{to(raw(channel))}};
  }

  std::string name(Vertex vertex) const override {
    return raw(vertex) < nodes() ? Topology::name(vertex) : graph_.switches[raw(vertex) - nodes()];
  }

 private:
  // Channels 2 i and 2 i + 1 are the two directions of link i.
  std::uint32_t from(std::uint32_t channel) const {
    const Link& link = graph_.links[channel / 2];
    return channel % 2 == 0 ? link.a : link.b;
  }
  std::uint32_t to(std::uint32_t channel) const { return from(channel ^ 1); }

  /// The vertex to which distances are needed: a node with one link needs those to its switch.
  std::uint32_t root_of(std::uint32_t node) const {
    return first_[node + 1] - first_[node] == 1 ? to(outgoing_[first_[node]]) : node;
  }

  /// The distance of each vertex to `root`, without passing through nodes.
  const std::vector<std::uint32_t>& distances_to(std::uint32_t root) const {
    if (table_of_[root] != kUnknown) return tables_[table_of_[root]].distances;
    if (tables_.size() < max_tables_) {
      tables_.emplace_back();
      oldest_ = tables_.size() - 1;
    } else {
      oldest_ = (oldest_ + 1) % tables_.size();
      table_of_[tables_[oldest_].root] = kUnknown;
    }
    table_of_[root] = static_cast<std::uint32_t>(oldest_);
    Table& table = tables_[oldest_];
    table.root = root;
    table.distances.assign(graph_.vertices(), kUnknown - 1);
    table.distances[root] = 0;
    std::vector<std::uint32_t> found = {root};
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::uint32_t at = found[i];
      if (at < nodes() && at != root) continue;
      for (std::uint32_t j = first_[at]; j < first_[at + 1]; ++j) {
        const std::uint32_t next = to(outgoing_[j]);
        if (table.distances[next] != kUnknown - 1) continue;
        table.distances[next] = table.distances[at] + 1;
        found.push_back(next);
      }
    }
    return table.distances;
  }

  struct Table {
    std::uint32_t root = 0;
    std::vector<std::uint32_t> distances;
  };

  const Graph graph_;
  // The channels out of vertex v are outgoing_[first_[v]] to outgoing_[first_[v + 1] - 1].
  std::vector<std::uint32_t> first_, outgoing_;
  // Computed when needed. What they hold does not change any path.
  mutable std::vector<Table> tables_;
  mutable std::vector<std::uint32_t> table_of_;  ///< For each vertex: its index in tables_.
  mutable std::size_t oldest_ = 0;
  std::size_t max_tables_ = 1;
};

class GraphReader {
 public:
  GraphReader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<std::unique_ptr<Topology>> read() {
    while (!text_.empty()) {
      const std::size_t end = text_.find('\n');
      std::string_view line = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      ++line_;
      line = line.substr(0, line.find('#'));
      const std::string a(take_word(line)), b(take_word(line));
      if (a.empty()) continue;
      if (b.empty() || !take_word(line).empty()) {
        return wrong("a line has two words, the ends of a link, such as \"0 left\"");
      }
      if (auto added = add(a, b); !added) return unexpected(added.error());
    }
    return finish();
  }

 private:
  Unexpected wrong(const std::string& what) const {
    return unexpected(Code::kInvalidArgument,
                      std::string(name_) + ":" + std::to_string(line_) + ": " + what);
  }

  static std::string_view take_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    line.remove_prefix(word.size());
    return word;
  }

  static bool is_node(std::string_view word) {
    return word.find_first_not_of("0123456789") == std::string_view::npos;
  }

  /// For a node its number, for a switch its index.
  Result<std::uint32_t> number(const std::string& word) {
    if (!is_node(word)) {
      const auto [at, is_new] =
          switches_.emplace(word, static_cast<std::uint32_t>(graph_.switches.size()));
      if (is_new) graph_.switches.push_back(word);
      return at->second;
    }
    std::uint32_t node = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), node);
    if (failed != std::errc{} || node >= kMaxChannels / 2) {
      return wrong("node " + quoted(word) + " is above the maximum of " +
                   std::to_string(kMaxChannels / 2 - 1));
    }
    has_node_.resize(std::max<std::size_t>(has_node_.size(), node + 1));
    has_node_[node] = true;
    return node;
  }

  Result<void> add(const std::string& a, const std::string& b) {
    if (is_node(a) && is_node(b)) {
      return wrong("nodes " + quoted(a) + " and " + quoted(b) +
                   " are linked directly; put a switch between them");
    }
    if (a == b) return wrong(quoted(a) + " is linked to itself; name another end");
    if (graph_.links.size() >= kMaxChannels / 2) {
      return wrong("the graph has more than " + std::to_string(kMaxChannels / 2) +
                   " links, the maximum; make it smaller");
    }
    const auto from = number(a), to = number(b);
    if (!from) return unexpected(from.error());
    if (!to) return unexpected(to.error());
    graph_.links.push_back({*from, *to});
    of_switches_.emplace_back(!is_node(a), !is_node(b));
    return {};
  }

  Result<std::unique_ptr<Topology>> finish() {
    const auto missing = std::ranges::find(has_node_, false);
    if (has_node_.empty() || missing != has_node_.end()) {
      return wrong("node " + std::to_string(missing - has_node_.begin()) +
                   " is missing; number the nodes from 0 without gaps");
    }
    graph_.nodes = static_cast<std::uint32_t>(has_node_.size());
    for (std::size_t i = 0; i < graph_.links.size(); ++i) {
      if (of_switches_[i].first) graph_.links[i].a += graph_.nodes;
      if (of_switches_[i].second) graph_.links[i].b += graph_.nodes;
    }
    if (!is_connected()) {
      return wrong(
          "no group of connected switches has links to all nodes; add the links that are missing");
    }
    return std::unique_ptr<Topology>(std::make_unique<GraphTopology>(std::move(graph_)));
  }

  /// Whether a group of connected switches has links to all nodes.
  bool is_connected() const {
    std::vector<std::uint32_t> parent(graph_.vertices());
    std::iota(parent.begin(), parent.end(), 0u);
    const auto root = [&](std::uint32_t it) {
      for (; parent[it] != it; it = parent[it]) parent[it] = parent[parent[it]];
      return it;
    };
    const auto is_inner = [&](const Link& it) { return std::min(it.a, it.b) >= graph_.nodes; };
    for (const Link& it : graph_.links) {
      if (is_inner(it)) parent[root(it.a)] = root(it.b);
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> group_and_node;
    for (const Link& it : graph_.links) {
      if (!is_inner(it)) {
        group_and_node.emplace_back(root(std::max(it.a, it.b)), std::min(it.a, it.b));
      }
    }
    std::ranges::sort(group_and_node);
    group_and_node.erase(std::unique(group_and_node.begin(), group_and_node.end()),
                         group_and_node.end());
    std::vector<std::uint32_t> nodes_of(graph_.vertices());
    for (const auto& [group, node] : group_and_node) ++nodes_of[group];
    return std::ranges::find(nodes_of, graph_.nodes) != nodes_of.end();
  }

  std::string_view text_, name_;
  int line_ = 0;
  Graph graph_;  ///< While reading, switches are numbered from 0 too; of_switches_ tells.
  std::map<std::string, std::uint32_t> switches_;
  std::vector<bool> has_node_;
  std::vector<std::pair<bool, bool>> of_switches_;
};

}  // namespace

Result<std::unique_ptr<Topology>> parse_graph(std::string_view text, std::string_view name) {
  return GraphReader(text, name).read();
}

}  // namespace xylem::predict
