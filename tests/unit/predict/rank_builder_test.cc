#include "predict/trace/rank_builder.h"

#include <gtest/gtest.h>

#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::chain;
using testing::compute;
using testing::finished;

std::vector<Dependent> dependents(const RankProgram& of, std::uint32_t operation) {
  const auto found = of.dependents(operation);
  return {found.begin(), found.end()};
}

TEST(RankBuilder, NeedsNoRoomForTheDependenciesOfAChain) {
  const RankProgram rank = chain({compute(1), compute(2), compute(3)});
  ASSERT_EQ(rank.operations().size(), 3u);
  EXPECT_FALSE(rank.operations()[0].follows);
  EXPECT_TRUE(rank.operations()[1].follows);
  EXPECT_TRUE(rank.operations()[2].follows);
  EXPECT_TRUE(rank.dependents().empty());
}

TEST(RankBuilder, PutsTheDependentsOfAStartFirstAndKeepsTheOrderOtherwise) {
  RankBuilder builder;
  for (int i = 0; i < 5; ++i) builder.add(compute(1));
  builder.require(4, 0);
  builder.require_start(3, 0);
  builder.require(2, 0);
  builder.require_start(1, 0);
  const RankProgram rank = finished(std::move(builder));
  EXPECT_EQ(dependents(rank, 0),
            (std::vector<Dependent>{{3, true}, {1, true}, {4, false}, {2, false}}));
  EXPECT_TRUE(dependents(rank, 1).empty());
  EXPECT_TRUE(dependents(rank, 4).empty());
}

TEST(RankBuilder, FollowsOnlyIfTheNextOperationIsTheFirstToWaitForTheEnd) {
  RankBuilder builder;
  for (int i = 0; i < 3; ++i) builder.add(compute(1));
  builder.require(2, 0);
  builder.require(1, 0);
  builder.require(2, 1);
  const RankProgram rank = finished(std::move(builder));
  EXPECT_FALSE(rank.operations()[1].follows);
  EXPECT_EQ(dependents(rank, 0), (std::vector<Dependent>{{2, false}, {1, false}}));
  EXPECT_TRUE(rank.operations()[2].follows);
}

TEST(RankBuilder, AcceptsDependenciesOnLaterOperations) {
  RankBuilder builder;
  for (int i = 0; i < 3; ++i) builder.add(compute(1));
  builder.require(0, 2);
  builder.require(1, 0);
  EXPECT_EQ(finished(std::move(builder)).operations().size(), 3u);
}

TEST(RankBuilder, NamesAnOperationThatWaitsForItself) {
  RankBuilder builder;
  for (int i = 0; i < 4; ++i) builder.add(compute(1));
  builder.require(3, 0);
  builder.require_start(1, 2);
  builder.require(2, 1);
  const auto built = std::move(builder).finish();
  ASSERT_TRUE(std::holds_alternative<Cycle>(built));
  EXPECT_EQ(std::get<Cycle>(built).operation, 1u);
}

TEST(Program, KnowsItsMemory) {
  Program program;
  program.ranks.push_back(chain(std::vector<Operation>(1000, compute(1))));
  EXPECT_EQ(count_operations(program), 1000u);
  EXPECT_EQ(memory_of(program), sizeof(RankProgram) + 24'000);
}

}  // namespace
}  // namespace xylem::predict
