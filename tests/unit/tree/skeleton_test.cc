#include "tree/skeleton.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace xylem::tree {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Skeleton grow_example() { return Skeleton(std::vector<std::uint32_t>{2, 2, 1, 0, 0, 0}); }

TEST(Skeleton, OfNothingIsTheFrontEndAlone) {
  const Skeleton skeleton;
  EXPECT_EQ(skeleton.size(), 1u);
  EXPECT_EQ(skeleton.comm_processes(), 0u);
  EXPECT_EQ(skeleton.depth(), 0u);
  EXPECT_EQ(skeleton.parent(kFrontEndNode), kFrontEndNode);
  EXPECT_THAT(skeleton.children(kFrontEndNode), IsEmpty());
  EXPECT_THAT(skeleton.internal_leaves(), ElementsAre(kFrontEndNode));
  EXPECT_THAT(skeleton.nodes_at(0), ElementsAre(kFrontEndNode));
}

TEST(Skeleton, NumbersBreadthFirst) {
  const Skeleton skeleton = grow_example();
  EXPECT_EQ(skeleton.size(), 6u);
  EXPECT_EQ(skeleton.comm_processes(), 5u);
  EXPECT_EQ(skeleton.depth(), 2u);
  EXPECT_THAT(skeleton.children(NodeId{0}), ElementsAre(NodeId{1}, NodeId{2}));
  EXPECT_THAT(skeleton.children(NodeId{1}), ElementsAre(NodeId{3}, NodeId{4}));
  EXPECT_THAT(skeleton.children(NodeId{2}), ElementsAre(NodeId{5}));
  EXPECT_EQ(skeleton.parent(NodeId{5}), NodeId{2});
  EXPECT_EQ(skeleton.level(NodeId{2}), 1u);
  EXPECT_EQ(skeleton.level(NodeId{5}), 2u);
}

TEST(Skeleton, KnowsItsLevelsAndInternalLeaves) {
  const Skeleton skeleton = grow_example();
  EXPECT_THAT(skeleton.nodes_at(1), ElementsAre(NodeId{1}, NodeId{2}));
  EXPECT_THAT(skeleton.nodes_at(2), ElementsAre(NodeId{3}, NodeId{4}, NodeId{5}));
  EXPECT_THAT(skeleton.nodes_at(3), IsEmpty());
  EXPECT_THAT(skeleton.internal_leaves(), ElementsAre(NodeId{3}, NodeId{4}, NodeId{5}));
}

TEST(Skeleton, IsEqualWhenEveryNodeHasAsManyChildren) {
  EXPECT_EQ(grow_example(), grow_example());
  EXPECT_FALSE(grow_example() == Skeleton());
  EXPECT_FALSE(grow_example() == Skeleton(std::vector<std::uint32_t>{2, 1, 2, 0, 0, 0}));
}

TEST(Skeleton, HoldsTogetherForAnyTree) {
  std::mt19937 random(20251101);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 500; ++trial) {
    SCOPED_TRACE(::testing::Message() << "trial " << trial);
    std::vector<std::uint32_t> counts{0};
    const std::size_t wanted = 1 + random() % 200;
    for (std::size_t node = 0; node < counts.size() && counts.size() < wanted; ++node) {
      // The last chance to grow is taken, else the tree would end early more often than not.
      counts[node] = static_cast<std::uint32_t>(random() % 5 + (node + 1 == counts.size()));
      counts.resize(counts.size() + counts[node]);
    }
    const Skeleton skeleton(counts);
    std::size_t seen = 1;
    for (NodeId node : skeleton.nodes()) {
      ASSERT_EQ(skeleton.children(node).size(), counts[raw(node)]);
      for (NodeId child : skeleton.children(node)) {
        ASSERT_EQ(raw(child), seen++) << "children are not one run of numbers";
        ASSERT_EQ(skeleton.parent(child), node);
        ASSERT_EQ(skeleton.level(child), skeleton.level(node) + 1);
      }
    }
    ASSERT_EQ(seen, skeleton.size());
    std::size_t at_levels = 0;
    for (std::uint32_t level = 0; level <= skeleton.depth(); ++level) {
      for (NodeId node : skeleton.nodes_at(level)) ASSERT_EQ(skeleton.level(node), level);
      at_levels += skeleton.nodes_at(level).size();
    }
    ASSERT_EQ(at_levels, skeleton.size());
  }
}

TEST(SkeletonDeathTest, StopsOnListsThatAreNoTreeAndOnForeignNodes) {
  EXPECT_DEATH(Skeleton(std::vector<std::uint32_t>{}), "check failed");
  EXPECT_DEATH(Skeleton(std::vector<std::uint32_t>{2, 0}), "check failed");
  EXPECT_DEATH(Skeleton(std::vector<std::uint32_t>{0, 1, 0}), "check failed");
  EXPECT_DEATH(Skeleton().parent(NodeId{1}), "check failed");
}

}  // namespace
}  // namespace xylem::tree
