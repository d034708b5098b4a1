#include "frontend/gathering.h"

#include <gtest/gtest.h>

namespace xylem::frontend {
namespace {

constexpr LeafId kLeaf{1};

wire::ProcessRow rank_of(std::uint32_t rank, std::uint32_t size, std::uint8_t world = 1) {
  wire::ProcessRow process;
  process.lane = Lane{rank + 1u + 100u * world};
  process.initialised = true;
  process.world_key.fill(world);
  process.rank = Rank{rank};
  process.world_size = size;
  return process;
}

TEST(Gathering, IsNotCompleteWithoutAnyHost) {
  Gathering gathering({.settle = kSecond});
  EXPECT_FALSE(gathering.anyone());
  EXPECT_FALSE(gathering.complete(100 * kSecond));
}

TEST(Gathering, IsCompleteAtOnceWhenTheWorldIs) {
  Gathering gathering({.settle = kSecond});
  gathering.host_joined(kLeaf, 0);
  gathering.process_seen(kLeaf, rank_of(0, 2), 0);
  EXPECT_FALSE(gathering.complete(0));
  gathering.process_seen(kLeaf, rank_of(1, 2), 1);
  EXPECT_TRUE(gathering.complete(1));
  EXPECT_EQ(gathering.ranks(), 2u);
  EXPECT_EQ(gathering.processes_on(kLeaf), 2u);
}

TEST(Gathering, CountsAProcessThatIsToldTwiceOnce) {
  Gathering gathering({.settle = kSecond});
  gathering.host_joined(kLeaf, 0);
  gathering.process_seen(kLeaf, rank_of(0, 2), 0);
  gathering.process_seen(kLeaf, rank_of(0, 2), 5);
  EXPECT_EQ(gathering.ranks(), 1u);
  EXPECT_FALSE(gathering.worlds_complete());
  EXPECT_EQ(gathering.complete_at(), kSecond) << "the second telling is no newcomer";
}

TEST(Gathering, WaitsForEveryWorld) {
  Gathering gathering({.settle = kSecond});
  gathering.host_joined(kLeaf, 0);
  gathering.process_seen(kLeaf, rank_of(0, 1, 1), 0);
  EXPECT_TRUE(gathering.worlds_complete());
  gathering.process_seen(kLeaf, rank_of(0, 2, 2), 0);
  EXPECT_FALSE(gathering.worlds_complete());
  EXPECT_EQ(gathering.worlds(), 2u);
}

TEST(Gathering, SettlesSoLongAfterTheLastNewcomer) {
  Gathering gathering({.settle = 2 * kSecond});
  gathering.host_joined(kLeaf, 0);
  gathering.process_seen(kLeaf, rank_of(0, 64), kSecond);
  EXPECT_FALSE(gathering.complete(3 * kSecond - 1));
  EXPECT_TRUE(gathering.complete(3 * kSecond));
}

TEST(Gathering, AHostThatJoinsAgainDoesNotRestartTheWait) {
  Gathering gathering({.settle = 2 * kSecond});
  gathering.host_joined(kLeaf, 0);
  gathering.host_joined(kLeaf, kSecond);
  EXPECT_EQ(gathering.complete_at(), 2 * kSecond);
  EXPECT_TRUE(gathering.complete(2 * kSecond));
}

TEST(Gathering, WaitsForAnExpectedNumberOfHostsHoweverLong) {
  Gathering gathering({.settle = kSecond, .expected = 2});
  gathering.host_joined(kLeaf, 0);
  EXPECT_FALSE(gathering.complete(100 * kSecond));
  EXPECT_EQ(gathering.complete_at(), kForever);
  gathering.host_joined(LeafId{raw(kLeaf) + 1}, 100 * kSecond);
  EXPECT_TRUE(gathering.complete(100 * kSecond));
}

TEST(Gathering, TakesTheLargestSizeThatAWorldsRanksTell) {
  Gathering gathering({.settle = kSecond});
  gathering.host_joined(kLeaf, 0);
  gathering.process_seen(kLeaf, rank_of(0, 3), 0);
  gathering.process_seen(kLeaf, rank_of(1, 2), 0);  // Of a rank that knows no more than its own.
  EXPECT_FALSE(gathering.worlds_complete());
  EXPECT_EQ(gathering.missing_ranks().substr(0, 6), "2 of 3");
}

TEST(Gathering, CountsProcessesBeforeTheyInitialise) {
  Gathering gathering({.settle = kSecond});
  gathering.host_joined(kLeaf, 0);
  wire::ProcessRow early;
  early.lane = Lane{1};
  gathering.process_seen(kLeaf, early, 0);
  EXPECT_EQ(gathering.processes_on(kLeaf), 1u);
  EXPECT_EQ(gathering.worlds(), 0u);
}

}  // namespace
}  // namespace xylem::frontend
