#include "placement/attach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "tree/shape.h"

namespace xylem::placement {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Chosen = std::vector<std::size_t>;

/// Leaves on these hosts, nodes numbered from 1.
std::vector<InternalLeaf> leaves_on(const std::vector<std::uint32_t>& hosts) {
  std::vector<InternalLeaf> leaves;
  for (std::uint32_t host : hosts) {
    leaves.push_back({NodeId{static_cast<std::uint32_t>(leaves.size() + 1)}, HostId{host}, 0});
  }
  return leaves;
}

std::vector<HostId> back_ends_on(const std::vector<std::uint32_t>& hosts) {
  std::vector<HostId> back_ends;
  for (std::uint32_t host : hosts) back_ends.push_back(HostId{host});
  return back_ends;
}

Chosen attached(const std::vector<HostId>& back_ends, const std::vector<InternalLeaf>& leaves) {
  const auto chosen = attach(back_ends, leaves);
  EXPECT_TRUE(chosen) << chosen.error().message;
  return chosen ? *chosen : Chosen{};
}

std::vector<std::size_t> loads_of(const Chosen& chosen, const std::vector<InternalLeaf>& leaves) {
  std::vector<std::size_t> loads;
  for (const InternalLeaf& leaf : leaves) loads.push_back(leaf.back_ends);
  for (std::size_t leaf : chosen) ++loads[leaf];
  return loads;
}

TEST(Fanout, IsTheQuotientRoundedUp) {
  EXPECT_EQ(fanout(10, 4), 3u);
  EXPECT_EQ(fanout(12, 4), 3u);
  EXPECT_EQ(fanout(0, 4), 0u);
  EXPECT_EQ(fanout(1, 4), 1u);
  EXPECT_EQ(fanout(5, 0), 0u);
}

TEST(Attach, SpreadsTenBackEndsOverFourLeaves) {
  const auto leaves = leaves_on({90, 91, 92, 93});
  const auto chosen = attached(back_ends_on({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), leaves);
  EXPECT_THAT(loads_of(chosen, leaves), ElementsAre(3, 3, 2, 2));
}

TEST(Attach, PrefersALeafOnTheSameHost) {
  EXPECT_EQ(attached(back_ends_on({3, 2, 1, 0}), leaves_on({0, 1, 2, 3})), (Chosen{3, 2, 1, 0}));
}

TEST(Attach, KeepsRoomForThoseOfTheHost) {
  // In arrival order alone, host 9's back ends would take leaf 0 before host 0's can.
  EXPECT_EQ(attached(back_ends_on({9, 9, 0, 0}), leaves_on({0, 1})), (Chosen{1, 1, 0, 0}));
}

TEST(Attach, GoesElsewhereWhenTheOwnHostIsFull) {
  EXPECT_EQ(attached(back_ends_on({0, 0, 0, 1}), leaves_on({0, 1})), (Chosen{0, 0, 1, 1}));
}

TEST(Attach, TakesTheLeastLoadedOfSeveralOnTheHost) {
  EXPECT_EQ(attached(back_ends_on({0, 0, 0}), leaves_on({0, 5, 0})), (Chosen{0, 2, 1}));
}

TEST(Attach, GivesAllToTheFrontEndWhenThereIsNoCommProcess) {
  const std::vector<InternalLeaf> front_end{{kFrontEndNode, tree::kNoHost, 0}};
  EXPECT_EQ(attached(back_ends_on({0, 1, 2}), front_end), (Chosen{0, 0, 0}));
}

TEST(Attach, DoesNotTakeUnknownHostsForTheSame) {
  std::vector<InternalLeaf> leaves = leaves_on({0, 1});
  leaves[1].host = tree::kNoHost;
  EXPECT_EQ(attached({tree::kNoHost}, leaves), (Chosen{0}));
  EXPECT_EQ(*attach_one(tree::kNoHost, leaves), 0u);
}

TEST(Attach, RefusesOnlyBackEndsWithoutAnyLeaf) {
  EXPECT_THAT(attached({}, {}), IsEmpty());
  const auto chosen = attach(back_ends_on({0}), {});
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, Code::kInvalidArgument);
  EXPECT_FALSE(attach_one(HostId{0}, {}));
}

TEST(Attach, CountsThoseAttachedAlready) {
  auto leaves = leaves_on({0, 1, 2});
  leaves[0].back_ends = 5;  // Overfull after a loss: 5 + 4 over 3 leaves is a fanout of 3.
  const auto chosen = attached(back_ends_on({0, 0, 9, 9}), leaves);
  EXPECT_THAT(loads_of(chosen, leaves), ElementsAre(5, 2, 2));
}

TEST(Attach, KeepsItsPromisesForAnyRatio) {
  std::mt19937 random(11);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 20'000; ++trial) {
    SCOPED_TRACE(::testing::Message() << "trial " << trial);
    const std::uint32_t hosts = 1 + static_cast<std::uint32_t>(random() % 12);
    std::vector<std::uint32_t> leaf_hosts(1 + random() % 10);
    std::vector<std::uint32_t> back_end_hosts(random() % 60);
    for (auto& host : leaf_hosts) host = static_cast<std::uint32_t>(random() % hosts);
    for (auto& host : back_end_hosts) host = static_cast<std::uint32_t>(random() % hosts);
    const auto leaves = leaves_on(leaf_hosts);
    const auto chosen = attached(back_ends_on(back_end_hosts), leaves);
    ASSERT_EQ(chosen.size(), back_end_hosts.size());

    const std::size_t limit = fanout(back_end_hosts.size(), leaves.size());
    for (std::size_t load : loads_of(chosen, leaves)) ASSERT_LE(load, limit);

    // The most that any attachment could keep at home: per host, back ends or room.
    std::map<std::uint32_t, std::size_t> here;
    std::map<std::uint32_t, std::size_t> room;
    for (auto host : back_end_hosts) ++here[host];
    for (auto host : leaf_hosts) room[host] += limit;
    std::size_t possible = 0;
    for (const auto& [host, count] : here) possible += std::min(count, room[host]);
    std::size_t at_home = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      at_home += leaf_hosts[chosen[i]] == back_end_hosts[i] ? 1 : 0;
    }
    // More can be at home: one that went "anywhere" cannot, as its host was full.
    ASSERT_EQ(at_home, possible);
  }
}

TEST(Attach, AttachesAllWhateverTheRatio) {
  for (std::uint32_t leaf_count = 1; leaf_count <= 12; ++leaf_count) {
    for (std::uint32_t count = 0; count <= 40; ++count) {
      SCOPED_TRACE(::testing::Message() << count << " back ends, " << leaf_count << " leaves");
      std::vector<std::uint32_t> nowhere(leaf_count);
      std::iota(nowhere.begin(), nowhere.end(), 1000);  // No host in common.
      const auto leaves = leaves_on(nowhere);
      const auto chosen = attached(std::vector<HostId>(count, HostId{7}), leaves);
      ASSERT_EQ(chosen.size(), count);
      const auto loads = loads_of(chosen, leaves);
      // fanout is the quotient where it divides, else one more; nobody has two more than another.
      const std::size_t limit = count / leaf_count + (count % leaf_count == 0 ? 0 : 1);
      EXPECT_EQ(fanout(count, leaf_count), limit);
      EXPECT_EQ(std::ranges::max(loads), limit);
      EXPECT_EQ(std::ranges::min(loads), count / leaf_count);
    }
  }
}

TEST(Attach, KeepsItsPromisesWhereOthersAreAttachedAlready) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 5'000; ++trial) {
    std::vector<std::uint32_t> leaf_hosts(1 + random() % 10);
    for (auto& host : leaf_hosts) host = static_cast<std::uint32_t>(random() % 12);
    auto leaves = leaves_on(leaf_hosts);
    std::size_t before = 0;
    for (InternalLeaf& leaf : leaves) {
      leaf.back_ends = static_cast<std::uint32_t>(random() % 7);
      if (random() % 8 == 0) leaf.host = tree::kNoHost;
      before += leaf.back_ends;
    }
    std::vector<HostId> back_ends(random() % 50);
    for (auto& host : back_ends) host = HostId{static_cast<std::uint32_t>(random() % 12)};
    const auto chosen = attached(back_ends, leaves);
    ASSERT_EQ(chosen.size(), back_ends.size());
    const std::size_t limit = fanout(before + back_ends.size(), leaves.size());
    const auto loads = loads_of(chosen, leaves);
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      // One that was beyond the fanout gets none; no other is filled beyond it.
      ASSERT_LE(loads[leaf], std::max<std::size_t>(limit, leaves[leaf].back_ends));
    }
    for (std::size_t i = 0; i < back_ends.size(); ++i) {
      if (leaves[chosen[i]].host == back_ends[i]) continue;
      // Whoever went elsewhere has no leaf at home with room left.
      for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        ASSERT_FALSE(leaves[leaf].host == back_ends[i] && loads[leaf] < limit);
      }
    }
  }
}

TEST(AttachOne, StaysAtHomeWhileThereIsRoom) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 5'000; ++trial) {
    std::vector<std::uint32_t> leaf_hosts(1 + random() % 8);
    for (auto& host : leaf_hosts) host = static_cast<std::uint32_t>(random() % 6);
    auto leaves = leaves_on(leaf_hosts);
    std::size_t attached_before = 0;
    for (InternalLeaf& leaf : leaves) {
      leaf.back_ends = static_cast<std::uint32_t>(random() % 5);
      attached_before += leaf.back_ends;
    }
    const HostId host{static_cast<std::uint32_t>(random() % 8)};
    const std::size_t limit = fanout(attached_before + 1, leaves.size());
    const auto has_room_here = [&](const InternalLeaf& leaf) {
      return leaf.host == host && leaf.back_ends < limit;
    };
    const auto leaf = attach_one(host, leaves);
    ASSERT_TRUE(leaf);
    ASSERT_LT(leaves[*leaf].back_ends, limit);
    ASSERT_EQ(leaves[*leaf].host == host, std::ranges::any_of(leaves, has_room_here));
  }
}

TEST(AttachOne, AgreesWithAttachAndNeverExceedsTheFanout) {
  std::mt19937 random(12);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 2'000; ++trial) {
    SCOPED_TRACE(::testing::Message() << "trial " << trial);
    std::vector<std::uint32_t> leaf_hosts(1 + random() % 8);
    for (auto& host : leaf_hosts) host = static_cast<std::uint32_t>(random() % 6);
    auto leaves = leaves_on(leaf_hosts);
    const std::size_t arrivals = random() % 50;
    for (std::size_t i = 0; i < arrivals; ++i) {
      const HostId host{static_cast<std::uint32_t>(random() % 8)};
      const auto leaf = attach_one(host, leaves);
      ASSERT_TRUE(leaf);
      ASSERT_EQ(Chosen{*leaf}, attached({host}, leaves));
      ++leaves[*leaf].back_ends;
      ASSERT_LE(leaves[*leaf].back_ends, fanout(i + 1, leaves.size()));
    }
  }
}

TEST(ParentLine, NamesTheParentThenItsLevelThenGoesUp) {
  const auto skeleton = tree::grow(*tree::parse_shape("balanced:2x3"), 0);  // 0 | 1-3 | 4-12
  ASSERT_TRUE(skeleton);
  std::vector<std::uint32_t> loads(skeleton->size(), 4);
  loads[9] = 1;
  loads[12] = 2;
  loads[3] = 1;
  EXPECT_THAT(parent_line(*skeleton, NodeId{4}, loads),
              ElementsAre(NodeId{4}, NodeId{9}, NodeId{12}, NodeId{5}, NodeId{3}, NodeId{1},
                          kFrontEndNode));
  EXPECT_THAT(parent_line(*skeleton, NodeId{2}, loads, 1),
              ElementsAre(NodeId{2}, NodeId{3}, kFrontEndNode));
  EXPECT_THAT(parent_line(*skeleton, NodeId{2}, loads, 0), ElementsAre(NodeId{2}, kFrontEndNode));
}

TEST(ParentLine, OfTheFrontEndIsTheFrontEnd) {
  EXPECT_THAT(parent_line(tree::Skeleton(), kFrontEndNode, std::vector<std::uint32_t>{7}),
              ElementsAre(kFrontEndNode));
}

TEST(ParentLine, NeverNamesANodeBelowTheParentsLevel) {
  for (const char* shape : {"binomial:6", "kary:3", "balanced:4x2"}) {
    const auto skeleton = tree::grow(*tree::parse_shape(shape), 100);
    ASSERT_TRUE(skeleton);
    const std::vector<std::uint32_t> loads(skeleton->size(), 0);
    for (NodeId parent : skeleton->nodes()) {
      auto line = parent_line(*skeleton, parent, loads);
      EXPECT_EQ(line.front(), parent);
      EXPECT_EQ(line.back(), kFrontEndNode);
      EXPECT_LE(line.size(), kMaxFallBacks + 2);
      for (std::size_t i = 1; i < line.size(); ++i) {
        EXPECT_LE(skeleton->level(line[i]), skeleton->level(line[i - 1]));
      }
      std::ranges::sort(line);
      EXPECT_EQ(std::ranges::adjacent_find(line), line.end()) << "a node is named twice";
    }
  }
}

}  // namespace
}  // namespace xylem::placement
