#include "tree/observed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tree/topology_text.h"

namespace xylem::tree {
namespace {

using ::testing::HasSubstr;

std::string printed(const std::vector<ObservedProcess>& processes) {
  const auto topology = topology_of(processes);
  return topology ? print(*topology) : topology.error().message;
}

TEST(TopologyOf, NumbersTheProcessesOfAHostByTheirIds) {
  EXPECT_EQ(printed({{NodeId{9}, NodeId{4}, "b"},
                     {NodeId{4}, NodeId{0}, "a"},
                     {NodeId{0}, NodeId{0}, "a"},
                     {NodeId{7}, NodeId{0}, "b"}}),
            "a:0 => a:1 b:0 ;\na:1 => b:1 ;\n");
  EXPECT_EQ(printed({{NodeId{0}, NodeId{0}, "head"}}), "head:0 ;\n");
}

TEST(TopologyOf, LeavesOutWhatIsNotBelowTheFrontEnd) {
  EXPECT_EQ(printed({{NodeId{0}, NodeId{0}, "a"},
                     {NodeId{2}, NodeId{77}, "b"},
                     {NodeId{3}, NodeId{3}, "c"},
                     {NodeId{4}, NodeId{5}, "d"},
                     {NodeId{5}, NodeId{4}, "d"},
                     {NodeId{6}, NodeId{0}, "b"}}),
            "a:0 => b:0 ;\n");
}

TEST(TopologyOf, SaysWhyThereIsNone) {
  EXPECT_THAT(printed({}), HasSubstr("no front end"));
  EXPECT_THAT(printed({{NodeId{0}, NodeId{0}, "two words"}}), HasSubstr("two words"));
  EXPECT_THAT(printed({{NodeId{0}, NodeId{0}, "a"}, {NodeId{0}, NodeId{0}, "b"}}),
              HasSubstr("there twice"));
}

TEST(TopologyOf, RefusesMoreProcessesThanATreeMayHave) {
  std::vector<ObservedProcess> processes;
  for (std::uint32_t id = 0; id <= kMaxCommProcesses + 1; ++id) {
    processes.push_back({NodeId{id}, kFrontEndNode, "a"});
  }
  const auto topology = topology_of(processes);
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().code, Code::kInvalidArgument);
  EXPECT_THAT(topology.error().message, HasSubstr("more than 1000000 communication processes"));
}

TEST(TopologyOf, PrintsEveryTreeSoThatItIsReadBackAsTheSameTree) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::uint32_t size = 1 + static_cast<std::uint32_t>(random() % 60);
    std::vector<ObservedProcess> processes;
    for (std::uint32_t id = 0; id < size; ++id) {
      const NodeId parent{id == 0 ? 0 : static_cast<std::uint32_t>(random() % id)};
      processes.push_back({NodeId{id}, parent, "node" + std::to_string(random() % 5)});
    }
    std::ranges::shuffle(processes, random);
    const auto topology = topology_of(processes);
    ASSERT_TRUE(topology) << topology.error().message;
    const auto again = parse_topology(print(*topology), "printed");
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(again->topology, *topology);
    ASSERT_EQ(topology->size(), size);
    // Who is whose child, by the slow way: for each process the number of children, and the hosts
    // of both ends of every branch.
    std::vector<std::pair<std::string, std::string>> observed, read;
    std::map<NodeId, std::string> hosts;
    for (const ObservedProcess& process : processes) hosts[process.id] = process.host;
    for (const ObservedProcess& process : processes) {
      if (process.id != kFrontEndNode) observed.emplace_back(hosts[process.parent], process.host);
    }
    const Skeleton& skeleton = again->topology.skeleton();
    for (const NodeId node : skeleton.nodes().subspan(1)) {
      read.emplace_back(again->topology.process(skeleton.parent(node)).host,
                        again->topology.process(node).host);
    }
    std::ranges::sort(observed);
    std::ranges::sort(read);
    ASSERT_EQ(read, observed);
  }
}

}  // namespace
}  // namespace xylem::tree
