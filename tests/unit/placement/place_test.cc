#include "placement/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace xylem::placement {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<tree::Host> make_hosts(std::size_t count, std::uint64_t processes = 2) {
  std::vector<tree::Host> hosts;
  for (std::size_t i = 1; i <= count; ++i) {
    hosts.push_back({"node" + std::to_string(i), 1, processes, 0});
  }
  return hosts;
}

Plan planned(const std::vector<tree::Host>& hosts, std::string_view shape) {
  auto plan = plan_tree(hosts, *tree::parse_shape(shape), {}, "head");
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *std::move(plan) : Plan{tree::Topology({"failed", 0}), {}, {}, {}, {}};
}

Result<Plan> plan_file(const std::vector<tree::Host>& hosts, std::string_view text) {
  auto file = tree::parse_topology(text, "x.topo");
  EXPECT_TRUE(file) << file.error().message;
  return plan_tree(hosts, *file, "head");
}

TEST(PlanTree, PutsTheTreeOfAShapeOnTheLeastLoadedHosts) {
  auto hosts = make_hosts(8);
  hosts[6].processes = 0;
  const Plan plan = planned(hosts, "kary:4");  // 2 internal leaves; loads 2 2 2 2 2 2 0 2
  EXPECT_EQ(print(plan.topology), "head:0 => node7:0 node7:1 ;\n");
  ASSERT_EQ(plan.comm_processes.size(), 2u);
  EXPECT_EQ(plan.comm_processes[1].node, NodeId{2});
  EXPECT_EQ(plan.comm_processes[1].host, HostId{6});
  EXPECT_EQ(plan.comm_processes[1].parent, kFrontEndNode);
  EXPECT_EQ(plan.comm_processes[1].level, 1u);
  ASSERT_EQ(plan.internal_leaves.size(), 2u);
  EXPECT_EQ(plan.internal_leaves[0].node, NodeId{1});
  EXPECT_EQ(plan.internal_leaves[0].host, HostId{6});
  ASSERT_TRUE(plan.even);
  EXPECT_THAT(plan.even->added, ElementsAre(0, 0, 0, 0, 0, 0, 2, 0));
}

TEST(PlanTree, PlacesBreadthFirst) {
  EXPECT_EQ(print(planned(make_hosts(8), "kary:2").topology),
            "head:0 => node1:0 node2:0 ;\n"
            "node1:0 => node3:0 node4:0 ;\n"
            "node2:0 => node5:0 node6:0 ;\n");
}

TEST(PlanTree, MakesTheFrontEndTheInternalLeafOfAFlatTree) {
  for (const char* shape : {"flat", "kary:8"}) {
    const Plan plan = planned(make_hosts(8), shape);
    EXPECT_THAT(plan.comm_processes, IsEmpty());
    ASSERT_EQ(plan.internal_leaves.size(), 1u);
    EXPECT_EQ(plan.internal_leaves[0].node, kFrontEndNode);
    EXPECT_EQ(plan.internal_leaves[0].host, tree::kNoHost);
  }
}

TEST(PlanTree, CountsBackEndsNotHostsForTheShape) {
  auto hosts = make_hosts(2);
  hosts[0].back_ends = 5;
  hosts[1].back_ends = 0;
  EXPECT_EQ(planned(hosts, "kary:2").comm_processes.size(), 5u);  // 3 internal leaves, 2 above
  EXPECT_THAT(hosts_of_back_ends(hosts),
              ElementsAre(HostId{0}, HostId{0}, HostId{0}, HostId{0}, HostId{0}));
}

TEST(PlanTree, NumbersTheProcessesOfOneNameOnceEach) {
  std::vector<tree::Host> hosts{{"head", 2, 0, 0}, {"twin", 2, 0, 0}, {"twin", 2, 0, 0}};
  EXPECT_EQ(print(planned(hosts, "kary:2").topology),
            "head:0 => head:1 twin:0 ;\nhead:1 => twin:1 head:2 ;\ntwin:0 => twin:2 ;\n");
}

TEST(PlanTree, RefusesWhatCannotBe) {
  const auto nowhere = plan_tree({}, *tree::parse_shape("balanced:1x2"), {}, "head");
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("no host"));
  const std::vector<tree::Host> odd{{"no name", 3, 0, 0}};
  EXPECT_FALSE(plan_tree(odd, *tree::parse_shape("kary:2"), {}, "head"));
  const auto missing =
      plan_tree(make_hosts(1), *tree::parse_shape("file:/none/x.topo"), {}, "head");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
}

TEST(PlanFile, PutsProcessesWhereTheFileSays) {
  const std::string text = "login:0 => node2:0 node1:5 ;\nnode2:0 => node2:1 ;\n";
  const auto plan = plan_file(make_hosts(3), text);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(print(plan->topology), text);
  EXPECT_FALSE(plan->even);
  ASSERT_EQ(plan->comm_processes.size(), 3u);
  EXPECT_EQ(plan->comm_processes[0].host, HostId{1});
  EXPECT_EQ(plan->comm_processes[1].host, HostId{0});
  EXPECT_EQ(plan->comm_processes[2].parent, NodeId{1});
  EXPECT_EQ(plan->comm_processes[2].level, 2u);
  ASSERT_EQ(plan->internal_leaves.size(), 2u);
  EXPECT_EQ(plan->internal_leaves[0].node, NodeId{2});
  EXPECT_EQ(plan->internal_leaves[1].node, NodeId{3});
}

TEST(PlanFile, SaysWhereAHostIsNamedThatIsNotThere) {
  const auto plan = plan_file(make_hosts(2), "head:0 =>\n node1:0\n node9:0 ;");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::kNotFound);
  EXPECT_EQ(plan.error().message,
            "x.topo:3: host node9 is not part of this job; use its hosts: node1 node2");
}

TEST(PlanFile, KnowsHostsByTheFirstPartOfTheirNames) {
  const std::vector<tree::Host> hosts{{"a.x.org", 1, 0, 0},
                                      {"b", 1, 0, 0},
                                      {"c.x.org", 1, 0, 0},
                                      {"c.y.org", 1, 0, 0},
                                      {"head", 1, 0, 0}};
  const auto plan = plan_file(hosts, "fe:0 => a:0 b.x.org:0 c.y.org:0 localhost:0 ;");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->comm_processes[0].host, HostId{0});
  EXPECT_EQ(plan->comm_processes[1].host, HostId{1});
  EXPECT_EQ(plan->comm_processes[2].host, HostId{3});
  EXPECT_EQ(plan->comm_processes[3].host, HostId{4});
  const auto unclear = plan_file(hosts, "fe:0 => c:0 ;");
  ASSERT_FALSE(unclear);
  EXPECT_THAT(
      unclear.error().message,
      AllOf(StartsWith("x.topo:1: host c may be c.x.org or c.y.org"), HasSubstr("in full")));
  EXPECT_FALSE(plan_file(hosts, "fe:0 => a.y.org:0 ;"));
  const auto nowhere = plan_file(make_hosts(1), "fe:0 => localhost:0 ;");
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("host localhost is not part"));
}

TEST(PlanTree, PutsTheTreeOnTheBestHostsWhenPlacedByScores) {
  auto hosts = make_hosts(8);
  Choice choice;
  choice.policy = Policy::kFuzzy;
  choice.facts = facts_of(hosts);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    choice.facts[i].set(Fact::kIdle, i == 5 ? 1 : 0);
    choice.facts[i].set(Fact::kMemory, i == 5 ? 64 : 1);
  }
  choice.rules.grades.back().value = 0;  // Hosts that are poor in all carry nothing.
  choice.rules.factors = {{Fact::kIdle, 0.5, default_functions(Fact::kIdle)},
                          {Fact::kMemory, 0.5, default_functions(Fact::kMemory)}};
  const auto plan = plan_tree(hosts, *tree::parse_shape("kary:4"), choice, "head");
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->fuzzy);
  EXPECT_FALSE(plan->even);
  EXPECT_EQ(plan->comm_processes[0].host, HostId{5}) << "the best carries the first";
  choice.room.assign(8, 0);
  choice.room[2] = choice.room[3] = 1;
  const auto limited = plan_tree(hosts, *tree::parse_shape("kary:4"), choice, "head");
  ASSERT_TRUE(limited) << limited.error().message;
  EXPECT_EQ(print(limited->topology), "head:0 => node3:0 node4:0 ;\n");
  choice.room[3] = 0;
  EXPECT_FALSE(plan_tree(hosts, *tree::parse_shape("kary:4"), choice, "head"));
}

TEST(PlanTree, JudgesByProcessesAloneWhenNothingElseIsKnown) {
  auto hosts = make_hosts(4, 64);
  hosts[2].processes = 0;
  Choice choice;
  choice.policy = Policy::kFuzzy;
  const auto plan = plan_tree(hosts, *tree::parse_shape("balanced:1x2"), choice, "head");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->fuzzy->left_out.size(), 5u);
  EXPECT_EQ(plan->comm_processes[0].host, HostId{2});
}

TEST(ReasonOf, SaysByWhatThePolicyChoseTheHost) {
  auto hosts = make_hosts(4);
  const Plan even = planned(hosts, "kary:2");
  EXPECT_EQ(reason_of(even, even.comm_processes[0], hosts),
            "even: fewest processes first, 2 there");

  Choice choice;
  choice.policy = Policy::kFuzzy;
  choice.facts.resize(4);
  for (std::size_t i = 0; i < 4; ++i) choice.facts[i].set(Fact::kIdle, i == 2 ? 1.0 : 0.1);
  const auto fuzzy = plan_tree(hosts, *tree::parse_shape("kary:2"), choice, "head");
  ASSERT_TRUE(fuzzy) << fuzzy.error().message;
  ASSERT_EQ(fuzzy->comm_processes[0].host, HostId{2});
  const Evaluation& best = fuzzy->fuzzy->hosts[2];
  const std::string& grade = fuzzy->fuzzy->rules.grades[strongest_grade(best)].name;
  EXPECT_THAT(
      reason_of(*fuzzy, fuzzy->comm_processes[0], hosts),
      ::testing::MatchesRegex("fuzzy: score [01]\\.[0-9][0-9], " + grade + " [01]\\.[0-9][0-9].*"));

  const auto file = plan_file(hosts, "head:0 => node2:0 ;");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(reason_of(*file, file->comm_processes[0], hosts), "the topology file says so");
}

TEST(ParsePolicy, KnowsEvenAndFuzzy) {
  for (const char* text : {"even", "fuzzy"}) {
    ASSERT_TRUE(parse_policy(text));
    EXPECT_EQ(to_text(*parse_policy(text)), text);
  }
  const auto unknown = parse_policy("best");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, AllOf(HasSubstr("'best'"), HasSubstr("even")));
}

TEST(Plan, ReadsBackAsTheSamePlan) {
  std::mt19937 random(5);  // Fixed, so that a failure can be repeated.
  const char* shapes[] = {"kary:2", "kary:3", "flat", "balanced:2x3", "binomial:4"};
  for (int trial = 0; trial < 1000; ++trial) {
    auto hosts = make_hosts(1 + random() % 30);
    for (auto& host : hosts) host.processes = random() % 9;
    SCOPED_TRACE(::testing::Message() << "trial " << trial);
    const Plan plan = planned(hosts, shapes[random() % 5]);
    const auto again = plan_file(hosts, print(plan.topology));
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(again->topology, plan.topology);
    for (std::size_t i = 0; i < plan.comm_processes.size(); ++i) {
      ASSERT_EQ(again->comm_processes[i].host, plan.comm_processes[i].host);
      ASSERT_EQ(again->comm_processes[i].parent, plan.comm_processes[i].parent);
    }
  }
}

TEST(AddForeignHosts, AddsEachUnknownHostOnceWithoutBackEnds) {
  std::vector<tree::Host> hosts = {
      {"node1.x.org", 1, 2, 0}, {"c.x.org", 1, 0, 0}, {"c.y.org", 1, 0, 0}};
  const auto file = tree::parse_topology(
      "front:0 => gate:0 gate:1 node1:0 ; gate:0 => localhost:0 c:0 other:3 ;", "x.topo");
  ASSERT_TRUE(file) << file.error().message;
  add_foreign_hosts(hosts, *file, "node1.x.org");
  ASSERT_EQ(hosts.size(), 5u) << "node1, localhost and c are known, the front end is not looked up";
  EXPECT_EQ(hosts[3].name, "gate");
  EXPECT_EQ(hosts[3].back_ends, 0u);
  EXPECT_EQ(hosts[4].name, "other");
  EXPECT_FALSE(plan_tree(hosts, *file, "node1.x.org")) << "c may be two hosts";
}

}  // namespace
}  // namespace xylem::placement
