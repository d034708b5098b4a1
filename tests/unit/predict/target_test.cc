#include "predict/target/target.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "predict/replay/machine.h"
#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

Result<Target> target_of(const std::string& text) {
  const auto entries = parse_config(text, "t.toml");
  if (!entries) return unexpected(entries.error());
  return read_target(*entries, "t.toml");
}

constexpr const char* kNetwork =
    "[network]\n"
    "latency_ns = 2500\n"
    "overhead_ns = 1500\n"
    "gap_ns = 1000\n"
    "gap_per_byte_ns = 6\n"
    "overhead_per_byte_ns = 0\n"
    "eager_bytes = 65535\n";

TEST(Target, IsReadFromAFile) {
  const auto read = target_of(kNetwork);
  ASSERT_TRUE(read) << read.error().message;
  Target expected;
  expected.network = testing::network(2500, 1500, 1000, 6, 0, 65535);
  EXPECT_EQ(*read, expected);
}

TEST(Target, HasFractions) {
  const auto read = target_of(
      "[node]\nflops_per_ns = 2.5\n[network]\nlatency_ns = 1e3\noverhead_ns = 0.1\ngap_ns = "
      "\"0.18\"\n"
      "gap_per_byte_ns = 0.000001\noverhead_per_byte_ns = 123456789.123456\neager_bytes = 0\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->network,
            (LogGps{Femtoseconds{1'000'000'000}, Femtoseconds{100'000}, Femtoseconds{180'000},
                    Femtoseconds{1}, Femtoseconds{123'456'789'123'456}, 0}));
  EXPECT_EQ(read->flops_per_ns, 2.5);
}

TEST(Target, ChoosesCollectivesAsItsLibraryOrAsTheFileSays) {
  const std::string network = kNetwork;
  const CollectiveCall bcast{Collective::kBcast, 0, 20000, 1, {}, {}};
  const auto read = target_of(network + "[collectives]\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->collectives.choice.choose(bcast, 16), Algorithm::kScatterAllgather);
  EXPECT_EQ(read->collectives.reduce_fs_per_byte, 0u);
  const auto other = target_of(network + "[collectives]\nchoice = \"openmpi\"\n");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->collectives.choice.choose(bcast, 16), Algorithm::kBinomial);
  const auto fixed = target_of(network +
                               "[collectives]\nbcast = \"chain\"\nchoice = \"mpich\"\n"
                               "reduce_ns_per_byte = 0.25\n");
  ASSERT_TRUE(fixed) << fixed.error().message;
  EXPECT_EQ(fixed->collectives.choice.choose(bcast, 16), Algorithm::kChain);
  EXPECT_EQ(fixed->collectives.reduce_fs_per_byte, 250'000u);
}

TEST(Target, RefusesWrongKeysOfCollectives) {
  const std::string head = std::string(kNetwork) + "[collectives]\n";
  for (const auto& [text, message] : {
           std::pair<std::string, std::string>{
               "choice = \"intel\"\n",
               "t.toml:9: collectives.choice: 'intel' is not an MPI library that is known; write "
               "\"mpich\" or \"openmpi\""},
           {"reduce_ns_per_byte = -1\n",
            "t.toml:9: collectives.reduce_ns_per_byte: '-1' is not a time in nanoseconds; write a "
            "decimal number such as 2500 or 0.18"},
           {"reduce_ns_per_byte = 2000000\n",
            "t.toml:9: collectives.reduce_ns_per_byte: '2000000' is above the maximum of 1000000 "
            "ns"},
           {"scan = \"linar\"\n",
            "t.toml:9: collectives.scan: 'linar' is not an algorithm for it (did you mean "
            "linear?); the algorithms are linear, recursive_doubling"},
           {"bcst = \"linear\"\n",
            "t.toml:9: 'collectives.bcst' is not a key of a target (did you mean bcast?); the "
            "keys of [collectives] are choice, reduce_ns_per_byte, barrier, bcast, reduce, "
            "allreduce, allgather, allgatherv, alltoall, alltoallv, gather, gatherv, scatter, "
            "scatterv, reduce_scatter, reduce_scatter_block, scan, exscan"},
       }) {
    const auto read = target_of(head + text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message, message);
  }
}

TEST(Target, RefusesBrokenFilesWithLineAndRemedy) {
  const std::string network = kNetwork;
  const auto with = [&](const std::string& key, const std::string& value) {
    std::string text = network;
    const std::size_t at = text.find(key + " = ");
    return text.replace(at, text.find('\n', at) - at, key + " = " + value);
  };
  for (const auto& [text, message] : {
           std::pair<std::string, std::string>{
               "", "t.toml:1: network.latency_ns is missing; add it to the section [network]"},
           {"\n[network]\nlatency_ns = 1\n",
            "t.toml:3: network.overhead_ns is missing; add it to the section [network]"},
           {network + "latencyns = 5\n",
            "t.toml:8: 'network.latencyns' is not a key of a target (did you mean "
            "network.latency_ns?); the "
            "keys are network.latency_ns, network.overhead_ns, network.gap_ns, "
            "network.gap_per_byte_ns, "
            "network.overhead_per_byte_ns, network.eager_bytes, network.switch_ns, "
            "network.bandwidth_bytes_per_ns, network.header_share"},
           {network + "[nodes]\nqount = 5\n",
            "t.toml:9: 'nodes.qount' is not a key of a target (did you mean node.count?); the "
            "sections are [network], [node], [mapping], [topology], [collectives], [storage]"},
           {network + "[collective]\nbcast = \"chain\"\n",
            "t.toml:9: 'collective.bcast' is not a key of a target (did you mean "
            "collectives.bcast?); the sections are [network], [node], [mapping], [topology], "
            "[collectives], [storage]"},
           {with("gap_ns", "-1"),
            "t.toml:4: network.gap_ns: '-1' is not a time in nanoseconds; write a "
            "decimal number such as 2500 or 0.18"},
           {with("gap_ns", "\"5us\""),
            "t.toml:4: network.gap_ns: '5us' is not a time in nanoseconds; write a "
            "decimal number such as 2500 or 0.18"},
           {with("gap_ns", "inf"),
            "t.toml:4: network.gap_ns: 'inf' is not a time in nanoseconds; write a "
            "decimal number such as 2500 or 0.18"},
           {with("latency_ns", "0.0000123"),
            "t.toml:2: network.latency_ns: '0.0000123' has more than six digits after the point; "
            "round it"},
           {with("latency_ns", "0.1234567"),
            "t.toml:2: network.latency_ns: '0.1234567' has more than six "
            "digits after the point; round it"},
           {with("latency_ns", "2000000000000"),
            "t.toml:2: network.latency_ns: '2000000000000' is above the "
            "maximum of 1000000000000 ns"},
           {with("eager_bytes", "1.5"),
            "t.toml:7: network.eager_bytes: '1.5' is not a number of bytes; write "
            "a whole number such as 65535"},
           {with("eager_bytes", "[1, 2]"),
            "t.toml:7: network.eager_bytes is a list; write one value"},
           {network + "[node]\nflops_per_ns = 0\n",
            "t.toml:9: node.flops_per_ns: '0' is not possible; write a number above 0 such as 4"},
       }) {
    const auto read = target_of(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_EQ(read.error().message, message) << text;
  }
  EXPECT_TRUE(target_of("[network\n").error().message.starts_with("t.toml:1: "));
}

constexpr const char* kFabric =
    "switch_ns = 100\nbandwidth_bytes_per_ns = 2.5\nheader_share = 0.01\n";

TEST(Target, TheExampleHasAllKeysAndCanBeRead) {
  const std::string example(example_target());
  const auto read = target_of(example);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->topology.kind, TopologyKind::kFatTree);
  EXPECT_EQ(read->topology.arity, 4u);
  EXPECT_EQ(read->topology.levels, 2u);
  EXPECT_EQ(read->cores, 4u);
  EXPECT_EQ(read->fabric, (Fabric{Femtoseconds{100'000'000}, Femtoseconds{400'000}, 10'000}));
  EXPECT_EQ(read->memory, (MemoryPath{Femtoseconds{250'000'000}, Femtoseconds{100'000}}));
  for (const char* section : {"network", "node", "mapping", "topology"}) {
    const auto refused = target_of("[" + std::string(section) + "]\nx = 1\n");
    ASSERT_FALSE(refused);
    const std::string& message = refused.error().message;
    std::string keys = message.substr(message.find("the keys are ") + 13) + ", ";
    for (std::size_t end = keys.find(", "); end != std::string::npos; end = keys.find(", ")) {
      const std::string key = keys.substr(keys.find('.') + 1, end - keys.find('.') - 1);
      EXPECT_NE(example.find(key + " = "), std::string::npos) << key;
      keys.erase(0, end + 2);
    }
  }
}

TEST(Target, HasTopologiesOfAllKinds) {
  const auto of = [](const std::string& keys) {
    const auto read = target_of(std::string(kNetwork) + kFabric + "[topology]\n" + keys);
    EXPECT_TRUE(read) << read.error().message;
    return read ? read->topology : TopologyOptions{};
  };
  TopologyOptions expected;
  expected.kind = TopologyKind::kCrossbar;
  expected.nodes = 12;
  EXPECT_EQ(of("kind = \"crossbar\"\nnodes = 12\n"), expected);
  expected = {};
  expected.kind = TopologyKind::kTorus;
  expected.sizes = {4, 3, 2};
  EXPECT_EQ(of("kind = \"torus\"\nsize = \"4x3x2\"\n"), expected);
  expected.kind = TopologyKind::kMesh;
  expected.sizes = {8};
  EXPECT_EQ(of("kind = \"mesh\"\nsize = 8\n"), expected);
  expected = {};
  expected.kind = TopologyKind::kDragonfly;
  expected.dragonfly = {9, 4, 2, 2};
  EXPECT_EQ(of("kind = \"dragonfly\"\ngroups = 9\nrouters = 4\nnodes_per_router = 2\n"
               "global_links = 2\n"),
            expected);
  expected = {};
  expected.kind = TopologyKind::kGraph;
  expected.file = "a.graph";
  EXPECT_EQ(of("kind = \"graph\"\nfile = \"a.graph\"\n"), expected);
}

TEST(Target, RefusesWhatIsMissingOrHasNoEffectOrIsNotPossible) {
  const std::string network = kNetwork, fabric = network + kFabric;
  const std::string torus = "[topology]\nkind = \"torus\"\n";
  for (
      const auto& [text, message] : {
          std::pair<std::string, std::string>{
              network + "[topology]\nkind = \"ring\"\n",
              "t.toml:9: topology.kind: 'ring' is not a kind of topology; write one of crossbar, "
              "fat_tree, mesh, torus, dragonfly, graph"},
          {fabric + "[topology]\nsize = \"2x2\"\n",
           "t.toml:12: topology.kind is missing, and there is a topology; add it to the section "
           "[topology]"},
          {network + torus + "size = \"2x2\"\n",
           "t.toml:2: network.switch_ns is missing, and there is a topology; add it to the section "
           "[network]"},
          {network + "[topology]\nsize = \"2x2\"\n",
           "t.toml:9: topology.kind is missing, and there is a topology; add it to the section "
           "[topology]"},
          {network + "[node]\nmemory_per_byte_ns = 1\n",
           "t.toml:9: node.memory_per_byte_ns has no effect without a topology and with one rank "
           "on each node; raise node.cores, or remove it"},
          {fabric,
           "t.toml:8: network.switch_ns has no effect without a topology; add the section "
           "[topology], or remove it"},
          {fabric + torus,
           "t.toml:12: topology.size is missing, and topology.kind is \"torus\"; add it to the "
           "section "
           "[topology]"},
          {fabric + torus + "size = \"2x2\"\narity = 3\n",
           "t.toml:14: topology.arity has no effect for the kind torus; its keys are "
           "topology.size"},
          {fabric + torus + "size = \"2x\"\n",
           "t.toml:13: topology.size: '2x' is not possible; write one to three numbers such as "
           "\"8x8x4\""},
          {fabric + torus + "size = \"2x2x2x2\"\n",
           "t.toml:12: a mesh or torus has 1, 2 or 3 dimensions, not 4"},
          {fabric + "[topology]\nkind = \"crossbar\"\nnodes = 0\n",
           "t.toml:13: topology.nodes: '0' is not possible; write a whole number above 0 such as "
           "4"},
          {fabric + torus + "size = \"2x2\"\n[node]\ncount = 5\n",
           "t.toml:15: node.count is 5, but the topology has 4 nodes; make it larger, or use fewer "
           "nodes"},
          {network + "header_share = 1.5\n",
           "t.toml:8: network.header_share: '1.5' is not possible; write a decimal number from 0 "
           "to 1 such as 0.01, with at most six digits after the point"},
          {network + "bandwidth_bytes_per_ns = 0\n",
           "t.toml:8: network.bandwidth_bytes_per_ns: '0' is not possible; write a decimal number "
           "from 0.000001 to 1000000 such as 2.5, with at most six digits after the point"},
          {network + "[node]\ncores = 2\n",
           "t.toml:9: node.memory_latency_ns is missing, and nodes have several ranks; add it to "
           "the section [node]"},
          {network + "[node]\nprocesses = 2\nmemory_latency_ns = 1\nmemory_per_byte_ns = 1\n",
           "t.toml:9: node.slice_ns is missing, and node.processes is above node.cores; add it to "
           "the section [node]"},
          {network + "[node]\nslice_ns = 100\n",
           "t.toml:9: node.slice_ns has no effect unless node.processes is above node.cores; raise "
           "node.processes, or remove it"},
          {network + "[node]\nprocesses = 0\n",
           "t.toml:9: node.processes: '0' is not possible; write a whole number above 0 such as 4"},
          {network + "[node]\nprocesses = 2\nslice_ns = 0\n",
           "t.toml:10: node.slice_ns: '0' is not possible; write a whole number of nanoseconds "
           "from "
           "1 to 1000000000000 such as 4000000"},
          {network + "[node]\nprocessor_ratio = 0\n",
           "t.toml:9: node.processor_ratio: '0' is not possible; write a decimal number from "
           "0.000001 to 1000000 such as 1.5, with at most six digits after the point"},
          {network + "[mapping]\nkind = \"random\"\n",
           "t.toml:9: mapping.kind: 'random' is not a kind of mapping; write one of block, "
           "cyclic, file"},
          {network + "[mapping]\nkind = \"file\"\n",
           "t.toml:9: mapping.file is missing, and mapping.kind is \"file\"; add it to the section "
           "[mapping]"},
          {network + "[mapping]\nfile = \"x\"\n",
           "t.toml:9: mapping.file has no effect unless mapping.kind is \"file\"; change or remove "
           "one of them"},
          {network + "[mapping]\nkind = \"cyclic\"\n",
           "t.toml:1: node.count is missing, and the mapping is cyclic; add it to the section "
           "[node]"},
      }) {
    const auto read = target_of(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message, message) << text;
  }
}

TEST(Mapping, IsReadFromAFile) {
  const auto mapping = parse_mapping("# the first node twice\n0 0\t3\r\n\n2 # last", "m");
  ASSERT_TRUE(mapping);
  EXPECT_EQ(mapping->nodes, (std::vector<Node>{Node{0}, Node{0}, Node{3}, Node{2}}));
  EXPECT_EQ(mapping->lines, (std::vector<int>{2, 2, 2, 4}));
  EXPECT_EQ(mapping->path, "m");
  for (const auto& [text, message] :
       {std::pair<std::string, std::string>{
            "0\n1 x\n", "m:2: 'x' is not a node; write a number from 0 to 16777215"},
        {"-1", "m:1: '-1' is not a node; write a number from 0 to 16777215"},
        {"16777216", "m:1: '16777216' is not a node; write a number from 0 to 16777215"}}) {
    const auto read = parse_mapping(text, "m");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, message);
  }
}

LoadedTarget loaded(const std::string& more, const std::string& mapping = "") {
  auto read = target_of(kNetwork + more);
  EXPECT_TRUE(read) << read.error().message;
  auto topology = make_crossbar(4);
  LoadedTarget made{*read, nullptr, *parse_mapping(mapping, "maps/m"), "t.toml"};
  if (read->topology.kind != TopologyKind::kNone) made.topology = *std::move(topology);
  return made;
}

std::vector<std::uint32_t> placed(const LoadedTarget& target, std::size_t ranks) {
  const auto nodes = place_ranks(target, ranks);
  EXPECT_TRUE(nodes) << nodes.error().message;
  std::vector<std::uint32_t> numbers;
  if (nodes) {
    for (const Node it : *nodes) numbers.push_back(raw(it));
  }
  return numbers;
}

constexpr const char* kCrossbar = "[topology]\nkind = \"crossbar\"\nnodes = 4\n";
constexpr const char* kTwoCores =
    "[node]\ncores = 2\nmemory_latency_ns = 1\nmemory_per_byte_ns = 1\n";
using Numbers = std::vector<std::uint32_t>;

TEST(Mapping, PlacesRanks) {
  const std::string fabric = kFabric;
  EXPECT_EQ(placed(loaded(""), 3), Numbers());
  EXPECT_EQ(placed(loaded(fabric + kCrossbar), 3), (Numbers{0, 1, 2}));
  EXPECT_EQ(placed(loaded(kTwoCores), 5), (Numbers{0, 0, 1, 1, 2}));
  EXPECT_EQ(placed(loaded(fabric + kCrossbar + kTwoCores + "[mapping]\nkind = \"cyclic\"\n"), 6),
            (Numbers{0, 1, 2, 3, 0, 1}));
  EXPECT_EQ(placed(loaded(std::string(kTwoCores) + "count = 3\n[mapping]\nkind = \"cyclic\"\n"), 5),
            (Numbers{0, 1, 2, 0, 1}));
  EXPECT_EQ(
      placed(loaded(std::string(kTwoCores) + "[mapping]\nkind = \"file\"\nfile = \"m\"\n", "7 2 7"),
             2),
      (Numbers{7, 2}));
}

// H38. More cores put neighbours on one node, and a cyclic mapping takes them apart.
TEST(Mapping, MovesThePrediction) {
  const Program program{
      {testing::chain({testing::send(1000, 1)}), testing::chain({testing::receive(1000, 0)}),
       testing::chain({testing::compute(1)}), testing::chain({testing::compute(1)})}};
  const auto makespan = [&](const std::string& more) {
    const LoadedTarget target = loaded(kFabric + more);
    const auto nodes = place_ranks(target, program.ranks.size());
    EXPECT_TRUE(nodes);
    const auto result = replay_on(program,
                                  {target.target.network, target.target.fabric,
                                   target.target.memory, target.topology.get(), *nodes},
                                  Model::kChannels);
    EXPECT_TRUE(result);
    return result->prediction.makespan_ns;
  };
  const std::uint64_t apart = makespan(kCrossbar);
  const std::string two = std::string(kTwoCores) + kCrossbar;
  EXPECT_LT(makespan(two), apart) << "node.cores";
  const std::string cyclic = "[mapping]\nkind = \"cyclic\"\n";
  EXPECT_EQ(makespan(cyclic + two), apart) << "mapping.kind";
  std::string four = kTwoCores;
  four.replace(four.find("cores = 2"), 9, "cores = 4");
  EXPECT_LT(makespan(cyclic + four + "count = 1\n" + kCrossbar), apart) << "node.count";
}

// H38, H5. More processes on a node wait for its cores; a shorter slice changes in which order.
TEST(Mapping, PutsMoreRanksThanCoresOnANode) {
  const Program program{{testing::chain({testing::compute(100)}),
                         testing::chain({testing::compute(300)}),
                         testing::chain({testing::compute(200)})}};
  const auto ends = [&](const std::string& node) {
    const LoadedTarget target =
        loaded("[node]\nmemory_latency_ns = 1\nmemory_per_byte_ns = 1\n" + node);
    const auto nodes = place_ranks(target, program.ranks.size());
    EXPECT_TRUE(nodes);
    Machine machine;
    machine.ends = target.target.network;
    machine.memory = target.target.memory;
    machine.node_of_rank = *nodes;
    machine.cores = {target.target.cores, target.target.slice_ns};
    const auto result = replay_on(program, machine, Model::kLogGps);
    EXPECT_TRUE(result);
    return result->prediction.end_ns;
  };
  EXPECT_EQ(ends("cores = 3\n"), (std::vector<std::uint64_t>{100, 300, 200}));
  EXPECT_EQ(ends("processes = 3\nslice_ns = 1000\n"), (std::vector<std::uint64_t>{100, 400, 600}));
  EXPECT_EQ(ends("processes = 3\nslice_ns = 100\n"), (std::vector<std::uint64_t>{100, 600, 500}));
  EXPECT_EQ(ends("processes = 3\nslice_ns = 100\ncores = 2\n"),
            (std::vector<std::uint64_t>{100, 300, 300}));
  EXPECT_EQ(ends("processes = 2\nslice_ns = 1000\n"), (std::vector<std::uint64_t>{100, 400, 200}));
}

TEST(Mapping, RefusesTooManyRanks) {
  const std::string file = "[mapping]\nkind = \"file\"\nfile = \"m\"\n";
  const std::string fabric = kFabric;
  const auto refused = [](const LoadedTarget& target, std::size_t ranks) {
    const auto nodes = place_ranks(target, ranks);
    return nodes ? "" : nodes.error().message;
  };
  EXPECT_EQ(refused(loaded(fabric + kCrossbar + kTwoCores), 9),
            "t.toml: has room for 8 ranks (4 nodes, node.cores = 2), but 9 are needed; raise one "
            "of both");
  EXPECT_EQ(refused(loaded("[node]\ncount = 3\n"), 4),
            "t.toml: has room for 3 ranks (3 nodes, node.cores = 1), but 4 are needed; raise one "
            "of both");
  EXPECT_EQ(refused(loaded(fabric + kCrossbar + kTwoCores + file, "0"), 2),
            "maps/m: has nodes for 1 rank, but 2 are needed; add a node for each rank");
  EXPECT_EQ(
      refused(loaded(fabric + kCrossbar + kTwoCores + file, "0\n4"), 2),
      "maps/m:2: rank 1 is on node 4, but the target has 4 nodes, numbered from 0; use one of "
      "these");
  EXPECT_EQ(
      refused(loaded(kTwoCores + file, "1 1\n\n1\n"), 3),
      "maps/m:3: rank 2 is on node 1, which has more than 2 ranks, the maximum of a node; use "
      "another node, or raise node.cores");
}

}  // namespace
}  // namespace xylem::predict
