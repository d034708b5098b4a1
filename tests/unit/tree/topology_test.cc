#include "tree/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tree/topology_text.h"

namespace xylem::tree {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Process kHead{"head", 0};
const Process kA{"a", 0};
const Process kB{"b", 0};
const Process kC{"c", 0};

std::string refusal(const std::vector<Branch>& branches) {
  const auto topology = Topology::make(branches);
  if (topology) return "accepted";
  EXPECT_EQ(topology.error().code, Code::kInvalidArgument);
  return topology.error().message;
}

TEST(Topology, TakesBranchesInAnyOrder) {
  const auto down = Topology::make(std::vector<Branch>{{kHead, {kA, kB}}, {kB, {kC}}});
  const auto up = Topology::make(std::vector<Branch>{{kC, {}}, {kB, {kC}}, {kHead, {kA, kB}}});
  ASSERT_TRUE(down) << down.error().message;
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_EQ(*down, *up);
  EXPECT_EQ(down->front_end(), kHead);
  EXPECT_THAT(down->processes(), ElementsAre(kHead, kA, kB, kC));
  EXPECT_EQ(down->skeleton().parent(NodeId{3}), NodeId{2});
  EXPECT_EQ(down->process(NodeId{2}), kB);
  EXPECT_EQ(down->find(kC), NodeId{3});
  EXPECT_EQ(down->find({"c", 1}), std::nullopt);
}

TEST(Topology, TellsTreesApartByNamesAndByTheOrderOfChildren) {
  const auto one = Topology::make(std::vector<Branch>{{kHead, {kA, kB}}});
  const auto other = Topology::make(std::vector<Branch>{{kHead, {kB, kA}}});
  const auto third = Topology::make(std::vector<Branch>{{kHead, {kA}}, {kA, {kB}}});
  EXPECT_FALSE(*one == *other);
  EXPECT_FALSE(*one == *third);
  EXPECT_EQ(Topology(kHead), *Topology::make(std::vector<Branch>{{kHead, {}}}));
}

TEST(Topology, RefusesWhatIsNoTree) {
  EXPECT_THAT(refusal({}), HasSubstr("at least the front end"));
  EXPECT_THAT(refusal({{kHead, {kHead}}}), HasSubstr("cycle: head:0 => head:0"));
  EXPECT_THAT(refusal({{kA, {kB}}, {kB, {kA}}}), HasSubstr("cycle: a:0 => b:0 => a:0"));
  EXPECT_THAT(refusal({{kHead, {kA}}, {kB, {kC}}}),
              AllOf(HasSubstr("b:0 is not connected"), HasSubstr("head:0")));
  EXPECT_THAT(refusal({{kHead, {kA, kA}}}), HasSubstr("host a is named twice"));
  EXPECT_THAT(refusal({{kHead, {kA}}, {kHead, {kB}}}),
              HasSubstr("head:0 is a parent here and before"));
  EXPECT_THAT(refusal({{kHead, {{"n 1", 0}}}}), HasSubstr("'n 1' is not a host name"));
}

TEST(Topology, BlamesTheLinkThatGoesBackUp) {
  const std::vector<Branch> branches{{kB, {kA}}, {kHead, {kA}}, {kA, {kB}}};
  const auto fault = find_fault(branches);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->at.branch, 0u);
  EXPECT_EQ(fault->at.child, 0u);
  EXPECT_THAT(fault->what, HasSubstr("cycle: a:0 => b:0 => a:0"));
}

TEST(Topology, ShowsOnlyTheStartOfALongCycle) {
  std::vector<Branch> ring;
  for (std::uint32_t i = 0; i < 5000; ++i) ring.push_back({{"n", i}, {{"n", (i + 1) % 5000}}});
  EXPECT_THAT(refusal(ring), AllOf(HasSubstr("n:7 => ... => n:0"), Not(HasSubstr("n:8"))));
}

TEST(Topology, NamesASkeleton) {
  const Skeleton skeleton(std::vector<std::uint32_t>{2, 0, 0});
  const auto topology = Topology::make(skeleton, {kHead, kA, kB});
  ASSERT_TRUE(topology);
  EXPECT_EQ(*topology, *Topology::make(std::vector<Branch>{{kHead, {kA, kB}}}));
  EXPECT_FALSE(Topology::make(skeleton, {kHead, kA}));
  EXPECT_FALSE(Topology::make(skeleton, {kHead, kA, kA}));
  EXPECT_FALSE(Topology::make(skeleton, {kHead, kA, {"", 0}}));
}

}  // namespace
}  // namespace xylem::tree
