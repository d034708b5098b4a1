// Paths of all topologies, compared with breadth-first search on the graph of their channels.

#include "predict/network/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace xylem::predict {
namespace {

using Sizes = std::vector<std::uint32_t>;

std::unique_ptr<Topology> made(Result<std::unique_ptr<Topology>> result) {
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : nullptr;
}

std::uint32_t pick(std::mt19937& random, std::uint32_t below) {
  return static_cast<std::uint32_t>(random() % below);
}

std::vector<ChannelId> path_of(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  std::vector<ChannelId> path;
  topology.find_path(Node{from}, Node{to}, path);
  return path;
}

/// All channels as a graph.
class ChannelGraph {
 public:
  explicit ChannelGraph(const Topology& topology) : nodes_(topology.nodes()) {
    for (std::uint32_t i = 0; i < topology.channels(); ++i) {
      const ChannelEnds ends = topology.ends(ChannelId{i});
      EXPECT_NE(ends.from, ends.to);
      EXPECT_TRUE(raw(ends.from) >= nodes_ || raw(ends.to) >= nodes_) << "a switch at one end";
      next_[raw(ends.from)].push_back(raw(ends.to));
    }
  }

  /// Channels from `source` to each vertex that `is_allowed`, not passing through other nodes.
  template <typename Allowed>
  std::map<std::uint32_t, std::size_t> distances(std::uint32_t source, Allowed is_allowed) const {
    std::map<std::uint32_t, std::size_t> found{{source, 0}};
    std::vector<std::uint32_t> queue{source};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const std::uint32_t at = queue[i];
      const auto next = next_.find(at);
      if (next == next_.end() || (at < nodes_ && at != source)) continue;
      for (const std::uint32_t it : next->second) {
        if (is_allowed(it) && found.emplace(it, found[at] + 1).second) queue.push_back(it);
      }
    }
    return found;
  }

 private:
  std::uint32_t nodes_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> next_;
};

void expect_connected(const Topology& topology, std::uint32_t from, std::uint32_t to,
                      const std::vector<ChannelId>& path) {
  std::uint32_t at = from;
  for (const ChannelId it : path) {
    ASSERT_LT(raw(it), topology.channels());
    ASSERT_EQ(raw(topology.ends(it).from), at) << from << " to " << to;
    at = raw(topology.ends(it).to);
    ASSERT_TRUE(at >= topology.nodes() || it == path.back()) << "through a node";
  }
  ASSERT_EQ(at, to) << "from " << from;
}

template <typename Allowed>
void expect_shortest(const Topology& topology, Allowed is_allowed) {
  const ChannelGraph graph(topology);
  const std::uint32_t step = 1 + topology.nodes() / 40;
  for (std::uint32_t from = 0; from < topology.nodes(); from += step) {
    for (std::uint32_t to = 0; to < topology.nodes(); ++to) {
      const auto path = path_of(topology, from, to);
      expect_connected(topology, from, to, path);
      if (::testing::Test::HasFatalFailure()) return;
    }
    for (std::uint32_t to = 0; to < topology.nodes(); to += step) {
      const auto distances =
          graph.distances(from, [&](std::uint32_t it) { return is_allowed(from, to, it); });
      ASSERT_EQ(path_of(topology, from, to).size(), distances.at(to)) << from << " to " << to;
    }
  }
}

void expect_shortest(const Topology& topology) {
  const ChannelGraph graph(topology);
  const std::uint32_t step = 1 + topology.nodes() / 40;
  for (std::uint32_t from = 0; from < topology.nodes(); from += step) {
    const auto distances = graph.distances(from, [](std::uint32_t) { return true; });
    for (std::uint32_t to = 0; to < topology.nodes(); ++to) {
      const auto path = path_of(topology, from, to);
      expect_connected(topology, from, to, path);
      if (::testing::Test::HasFatalFailure()) return;
      ASSERT_EQ(path.size(), distances.at(to)) << from << " to " << to;
    }
  }
}

TEST(Topology, OfACrossbarHasOneSwitch) {
  for (const std::uint32_t nodes : {1u, 2u, 3u, 64u, 1000u}) {
    const auto topology = made(make_crossbar(nodes));
    ASSERT_TRUE(topology);
    EXPECT_EQ(topology->nodes(), nodes);
    expect_shortest(*topology);
    EXPECT_EQ(path_of(*topology, 0, nodes - 1).size(), nodes > 1 ? 2u : 0u);
  }
}

TEST(Topology, OfAFatTreeHasShortestPaths) {
  for (const auto& [arity, levels] : {std::pair{2u, 1u},
                                      {2u, 2u},
                                      {2u, 3u},
                                      {2u, 6u},
                                      {3u, 3u},
                                      {4u, 2u},
                                      {4u, 4u},
                                      {5u, 3u},
                                      {16u, 2u},
                                      {24u, 1u}}) {
    SCOPED_TRACE(::testing::Message() << arity << "-ary " << levels << "-tree");
    const auto topology = made(make_fat_tree(arity, levels));
    ASSERT_TRUE(topology);
    std::uint32_t nodes = 1;
    for (std::uint32_t i = 0; i < levels; ++i) nodes *= arity;
    EXPECT_EQ(topology->nodes(), nodes);
    EXPECT_EQ(path_of(*topology, 0, nodes - 1).size(), 2 * levels) << "up to the top and down";
    expect_shortest(*topology);
  }
}

TEST(Topology, OfAGridHasShortestPaths) {
  for (const bool wraps : {false, true}) {
    for (const Sizes& sizes : {Sizes{1}, Sizes{2}, Sizes{7}, Sizes{1, 1, 1}, Sizes{2, 2},
                               Sizes{3, 1, 3}, Sizes{4, 4}, Sizes{5, 3}, Sizes{8, 1, 2},
                               Sizes{2, 3, 4}, Sizes{4, 4, 4}, Sizes{5, 6, 7}, Sizes{16, 16}}) {
      SCOPED_TRACE(::testing::Message() << (wraps ? "torus" : "mesh") << " of " << sizes.size()
                                        << " dimensions, the first " << sizes[0]);
      const auto topology = made(make_grid(sizes, wraps));
      ASSERT_TRUE(topology);
      expect_shortest(*topology);
    }
  }
}

// Minimal in the groups of source and destination, as J. Kim et al. (ISCA 2008) define it.
TEST(Topology, OfADragonflyHasShortestPathsInTwoGroups) {
  for (const DragonflyShape& shape :
       {DragonflyShape{1, 1, 3, 0}, DragonflyShape{1, 4, 2, 0}, DragonflyShape{2, 1, 1, 1},
        DragonflyShape{9, 4, 2, 2}, DragonflyShape{5, 4, 1, 1}, DragonflyShape{7, 4, 2, 2},
        DragonflyShape{33, 8, 4, 4}, DragonflyShape{19, 6, 3, 3}}) {
    SCOPED_TRACE(::testing::Message() << shape.groups << " groups of " << shape.routers);
    const auto topology = made(make_dragonfly(shape));
    ASSERT_TRUE(topology);
    const std::uint32_t nodes = topology->nodes();
    EXPECT_EQ(nodes, shape.groups * shape.routers * shape.nodes_per_router);
    const auto group_of = [&](std::uint32_t vertex) {
      const std::uint32_t router =
          vertex < nodes ? vertex / shape.nodes_per_router : vertex - nodes;
      return router / shape.routers;
    };
    expect_shortest(*topology, [&](std::uint32_t from, std::uint32_t to, std::uint32_t it) {
      return group_of(it) == group_of(from) || group_of(it) == group_of(to);
    });
    EXPECT_LE(path_of(*topology, 0, nodes - 1).size(), 5u) << "injection, 3 hops, ejection";
  }
}

TEST(Topology, OfAGraphHasShortestPaths) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 40; ++trial) {
    const std::uint32_t switches = 1 + pick(random, 12), nodes = 1 + pick(random, 30);
    std::string text = "# random\n\n";
    // A tree, and more links. Parallel links and nodes with several links occur.
    for (std::uint32_t i = 1; i < switches; ++i) {
      text += "s" + std::to_string(i) + " s" + std::to_string(pick(random, i)) + "\n";
    }
    for (std::uint32_t i = pick(random, 10); i > 0 && switches > 1; --i) {
      const std::uint32_t a = pick(random, switches);
      text += "s" + std::to_string(a) + "\ts" + std::to_string((a + 1) % switches) + " # more\r\n";
    }
    for (std::uint32_t i = 0; i < nodes; ++i) {
      for (std::uint32_t j = pick(random, 4) == 0 ? 2 : 1; j > 0; --j) {
        text += std::to_string(i) + "  s" + std::to_string(pick(random, switches)) + "\n";
      }
    }
    SCOPED_TRACE(text);
    const auto topology = made(parse_graph(text, "g"));
    ASSERT_TRUE(topology);
    EXPECT_EQ(topology->nodes(), nodes);
    expect_shortest(*topology);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Topology, OfAGraphSpreadsDestinationsOverEqualPaths) {
  std::string text = "0 a\n";
  for (const char* middle : {"x", "y", "z"}) {
    text += std::string("a ") + middle + "\n" + middle + " b\n";
  }
  for (int node = 1; node < 7; ++node) text += std::to_string(node) + " b\n";
  const auto topology = made(parse_graph(text, "g"));
  ASSERT_TRUE(topology);
  for (std::uint32_t to = 1; to < 7; ++to) {
    const auto path = path_of(*topology, 0, to);
    ASSERT_EQ(path.size(), 4u);
    EXPECT_EQ(topology->name(topology->ends(path[1]).to), std::string(1, "xyz"[to % 3]));
    EXPECT_EQ(path_of(*topology, 0, to), path) << "the same at each call";
  }
  EXPECT_EQ(topology->name(Vertex{3}), "node 3");
}

TEST(Topology, RefusesBrokenGraphsWithLineAndRemedy) {
  for (const auto& [text, message] :
       {std::pair<std::string, std::string>{
            "", "g:0: node 0 is missing; number the nodes from 0 without gaps"},
        {"0 s\n2 s\n", "g:2: node 1 is missing; number the nodes from 0 without gaps"},
        {"0 s\n\n1\n", "g:3: a line has two words, the ends of a link, such as \"0 left\""},
        {"0 s 1\n", "g:1: a line has two words, the ends of a link, such as \"0 left\""},
        {"0 1\n", "g:1: nodes '0' and '1' are linked directly; put a switch between them"},
        {"0 s\ns s\n", "g:2: 's' is linked to itself; name another end"},
        {"99999999999 s\n", "g:1: node '99999999999' is above the maximum of 8388607"},
        {"0 s\n1 t\n",
         "g:2: no group of connected switches has links to all nodes; add the links that are "
         "missing"}}) {
    const auto read = parse_graph(text, "g");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_EQ(read.error().message, message);
  }
}

TEST(Topology, RefusesShapesThatAreNotPossible) {
  for (const auto& [refused, message] :
       {std::pair<Error, std::string>{make_crossbar(0).error(), "a crossbar has at least 1 node"},
        {make_crossbar(1u << 24).error(),
         "the topology has more than 16777216 channels, the maximum; make it smaller"},
        {make_fat_tree(1, 3).error(), "a fat tree has an arity of at least 2"},
        {make_fat_tree(4, 0).error(), "a fat tree has at least 1 level"},
        {make_fat_tree(4, 4'000'000'000).error(),
         "the topology has more than 16777216 channels, the maximum; make it smaller"},
        {make_grid({}, true).error(), "a mesh or torus has 1, 2 or 3 dimensions, not 0"},
        {make_grid({2, 2, 2, 2}, true).error(), "a mesh or torus has 1, 2 or 3 dimensions, not 4"},
        {make_grid({2, 0}, true).error(), "no size of a mesh or torus is 0"},
        {make_grid({4'000'000'000, 4'000'000'000, 4'000'000'000}, true).error(),
         "the topology has more than 16777216 channels, the maximum; make it smaller"},
        {make_dragonfly({0, 1, 1, 1}).error(),
         "a dragonfly has at least 1 group, 1 router per group and 1 node per router"},
        {make_dragonfly({10, 4, 2, 2}).error(),
         "a dragonfly of 10 groups needs 9 global links per group, but 4 routers with 2 each have "
         "8"},
        {make_dragonfly({100'000, 100'000, 1, 100'000}).error(),
         "the topology has more than 16777216 channels, the maximum; make it smaller"}}) {
    EXPECT_EQ(refused.code, Code::kInvalidArgument);
    EXPECT_EQ(refused.message, message);
  }
}

// A message never turns from a dimension to an earlier one, nor back: in a mesh the waits for
// channels have no cycle.
TEST(Topology, OfAGridGoesInDimensionOrder) {
  for (const bool wraps : {false, true}) {
    const std::uint32_t size[] = {5, 4, 6};
    const auto topology = made(make_grid({size[0], size[1], size[2]}, wraps));
    ASSERT_TRUE(topology);
    const std::uint32_t nodes = topology->nodes();
    const auto coordinate = [&](Vertex vertex, int dimension) {
      std::uint32_t rest = raw(vertex) - nodes;
      for (int i = 0; i < dimension; ++i) rest /= size[i];
      return rest % size[dimension];
    };
    // Dimension and direction of a channel.
    const auto turn = [&](ChannelId channel) {
      const auto [from, to] = topology->ends(channel);
      for (int i = 0; i < 3; ++i) {
        const std::uint32_t a = coordinate(from, i), b = coordinate(to, i);
        if (a != b) return std::pair(i, b == (a + 1) % size[i]);
      }
      ADD_FAILURE() << "leads nowhere";
      return std::pair(-1, false);
    };
    for (std::uint32_t from = 0; from < nodes; ++from) {
      for (std::uint32_t to = 0; to < nodes; ++to) {
        const auto path = path_of(*topology, from, to);
        for (std::size_t i = 2; i + 1 < path.size(); ++i) {
          const auto before = turn(path[i - 1]), after = turn(path[i]);
          ASSERT_TRUE(before == after || before.first < after.first) << from << " to " << to;
        }
      }
    }
  }
}

TEST(Topology, OfATorusUsesBothWaysAroundEvenly) {
  const auto topology = made(make_grid({6}, true));
  std::map<std::uint32_t, int> uses;
  for (std::uint32_t from = 0; from < 6; ++from) {
    for (std::uint32_t to = 0; to < 6; ++to) {
      for (const ChannelId it : path_of(*topology, from, to)) ++uses[raw(it)];
    }
  }
  std::set<int> counts;
  for (std::uint32_t i = 12; i < topology->channels(); ++i) counts.insert(uses[i]);
  // Each way has 6 * (1 + 2) channels of the short ways, and half of 6 * 3 for opposite nodes.
  EXPECT_EQ(topology->channels(), 24u);
  EXPECT_GE(*counts.begin(), 4);
  EXPECT_LE(*counts.rbegin(), 5);
}

TEST(Topology, OfAFatTreeSpreadsDestinationsEvenlyOverUpLinks) {
  for (const auto& [arity, levels] : {std::pair{2u, 4u}, {3u, 3u}, {4u, 3u}, {8u, 2u}}) {
    SCOPED_TRACE(::testing::Message() << arity << "-ary " << levels << "-tree");
    const auto topology = made(make_fat_tree(arity, levels));
    ASSERT_TRUE(topology);
    const std::uint32_t nodes = topology->nodes(), per_level = nodes / arity;
    // For each channel between switches: the destinations behind it.
    std::map<std::uint32_t, std::set<std::uint32_t>> destinations;
    for (std::uint32_t from = 0; from < nodes; ++from) {
      for (std::uint32_t to = 0; to < nodes; ++to) {
        const auto path = path_of(*topology, from, to);
        for (std::size_t i = 1; i + 1 < path.size(); ++i) destinations[raw(path[i])].insert(to);
      }
    }
    std::map<std::uint32_t, std::set<std::size_t>> up, down;  // By the level of the lower switch.
    for (std::uint32_t i = 0; i < topology->channels(); ++i) {
      const auto [from, to] = topology->ends(ChannelId{i});
      if (raw(from) < nodes || raw(to) < nodes) continue;
      const std::uint32_t a = (raw(from) - nodes) / per_level, b = (raw(to) - nodes) / per_level;
      (a < b ? up : down)[std::min(a, b)].insert(destinations[i].size());
    }
    std::uint32_t below = arity;  // Nodes below a switch of the level.
    for (std::uint32_t level = 0; level + 1 < levels; ++level, below *= arity) {
      // A switch sends up what is not below it. D-mod-k has chosen a part of 1 / k^level already.
      const std::size_t share = (nodes - below) / below;
      EXPECT_EQ(up[level], std::set<std::size_t>{share}) << "level " << level;
      EXPECT_EQ(down[level].size(), 1u) << "level " << level;
    }
  }
}

TEST(Topology, OfTenThousandsOfNodesNeedsNoTable) {
  const auto tree = made(make_fat_tree(32, 3)), torus = made(make_grid({64, 32, 32}, true));
  std::string text = "core0 core1\n";
  for (int i = 0; i < 500; ++i) {
    text += "s" + std::to_string(i) + " core" + std::to_string(i % 2) + "\n";
  }
  for (int i = 0; i < 20'000; ++i)
    text += std::to_string(i) + " s" + std::to_string(i % 500) + "\n";
  const auto graph = made(parse_graph(text, "g"));
  std::mt19937 random(3);
  for (const Topology* it : {tree.get(), torus.get(), graph.get()}) {
    ASSERT_TRUE(it);
    EXPECT_GE(it->nodes(), 20'000u);
    for (int i = 0; i < 2000; ++i) {
      const std::uint32_t from = pick(random, it->nodes()), to = pick(random, it->nodes());
      expect_connected(*it, from, to, path_of(*it, from, to));
    }
  }
}

}  // namespace
}  // namespace xylem::predict
