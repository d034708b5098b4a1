#include "placement/fuzzy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "placement/room.h"

namespace xylem::placement {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Two grades, good 1 and bad 0.25, and the one factor idle that is good by as much as it is.
FuzzyRules by_idle() {
  FuzzyRules rules;
  rules.grades = {{"good", 1}, {"bad", 0}};
  rules.factors = {{Fact::kIdle, 1, {{0, 1, 1, 1}, {0, 0, 0, 1}}}};
  return rules;
}

/// Hosts whose score by by_idle() is what is given here.
std::vector<FactValues> hosts_with(const std::vector<double>& scores) {
  std::vector<FactValues> facts(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) facts[i].set(Fact::kIdle, scores[i]);
  return facts;
}

FuzzyPlacement placed(const FuzzyRules& rules, const std::vector<FactValues>& facts,
                      std::uint64_t comm_processes, const std::vector<std::uint64_t>& room = {}) {
  auto placement = place_fuzzily(rules, facts, comm_processes, room);
  EXPECT_TRUE(placement) << placement.error().message;
  return placement ? *std::move(placement) : FuzzyPlacement{};
}

TEST(MaximumMembership, ScoresByTheGradeThatIsDeservedMost) {
  FuzzyRules rules = by_idle();  // good 1, bad 0: at 0.3 good has .3 and bad .7.
  rules.grades = {{"good", 0.8}, {"bad", 0.2}};
  rules.scoring = Scoring::kMaximumMembership;
  const auto placement = placed(rules, hosts_with({0.3, 0.7, 1}), 2);
  ASSERT_EQ(placement.hosts.size(), 3u);
  EXPECT_EQ(placement.hosts[0].score, 0.2);
  EXPECT_EQ(placement.hosts[1].score, 0.8);
  EXPECT_EQ(placement.hosts[2].score, 0.8);
  EXPECT_EQ(placement.added, (std::vector<std::uint64_t>{0, 1, 1}));
}

TEST(MaximumMembership, GivesTheBetterGradeOfEquals) {
  FuzzyRules rules = by_idle();
  rules.scoring = Scoring::kMaximumMembership;
  EXPECT_EQ(placed(rules, hosts_with({0.5}), 0).hosts.front().score, 1);
}

TEST(Compose, GivesTheWorkedExampleOfTheSourceDocument) {
  const std::vector<double> weights = {0.5, 0.3, 0.2};
  const std::vector<double> matrix = {0.6, 0.3, 0.1, 0.2, 0.5, 0.3, 0.1, 0.4, 0.5};
  EXPECT_THAT(
      compose(weights, matrix, Composition::kWeightedAverage),
      ElementsAre(DoubleNear(0.38, 1e-12), DoubleNear(0.38, 1e-12), DoubleNear(0.24, 1e-12)));
  EXPECT_THAT(compose(weights, matrix, Composition::kMaxMin), ElementsAre(0.5, 0.3, 0.3));
}

TEST(Compose, AgreesWithItsFormulaWrittenOut) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> weights(1 + random() % 7);
    std::vector<double> matrix(weights.size() * (1 + random() % 6));
    for (double& weight : weights) weight = share(random);
    for (double& entry : matrix) entry = share(random);
    const std::size_t grades = matrix.size() / weights.size();
    const auto average = compose(weights, matrix, Composition::kWeightedAverage);
    const auto max_min = compose(weights, matrix, Composition::kMaxMin);
    ASSERT_EQ(average.size(), grades);
    for (std::size_t j = 0; j < grades; ++j) {
      double sum = 0;
      double max = 0;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        sum += weights[i] * matrix[i * grades + j];
        max = std::max(max, std::min(weights[i], matrix[i * grades + j]));
      }
      ASSERT_NEAR(average[j], sum, 1e-12);
      ASSERT_EQ(max_min[j], max);
    }
  }
}

TEST(PlaceFuzzily, DealsByLargestRemainder) {
  const auto placement = placed(by_idle(), hosts_with({0.8, 0.6, 0.4, 0.2}), 5);
  ASSERT_EQ(placement.rounds.size(), 1u);
  const auto& shares = placement.rounds[0].shares;
  ASSERT_EQ(shares.size(), 4u);
  EXPECT_NEAR(shares[1].quota, 1.5, 1e-12);
  EXPECT_THAT(placement.added, ElementsAre(2, 2, 1, 0)) << "the lower index has the tie";
}

TEST(PlaceFuzzily, CalculatesAsByHand) {
  // 3 x 0.1 / 0.3: a quota of 1 each, though 0.1 + 0.1 + 0.1 is more than 0.3 here.
  const auto thirds = placed(by_idle(), hosts_with({0.1, 0.1, 0.1}), 3);
  for (const FuzzyShare& share : thirds.rounds[0].shares) {
    EXPECT_EQ(share.whole, 1u);
    EXPECT_EQ(share.rest, 0);
    EXPECT_FALSE(share.one_more);
  }
  // Quotas 3.5 and 0.5, which are 3.5 and 0.50000000000000011 here.
  EXPECT_THAT(placed(by_idle(), hosts_with({0.7, 0.1}), 4).added, ElementsAre(4, 0));
}

TEST(PlaceFuzzily, KeepsEveryIntermediateOfTheScore) {
  FuzzyRules rules;
  rules.grades = {{"good", 1}, {"fair", 0.5}, {"bad", 0.25}};
  rules.factors = {{Fact::kIdle, 0.75, {{0, 1, 1, 1}, {0, 0.5, 0.5, 1}, {0, 0, 0, 1}}},
                   {Fact::kMemory, 0.25, {{0, 8, 8, 8}, {0, 4, 4, 8}, {0, 0, 0, 8}}}};
  FactValues facts;
  facts.set(Fact::kIdle, 0.75);
  facts.set(Fact::kMemory, 99);  // Above the highest corner: as 8.
  const auto placement = placed(rules, {facts}, 1);
  const Evaluation& it = placement.hosts[0];
  EXPECT_THAT(it.memberships, ElementsAre(0.75, 0.5, 0.25, 1, 0, 0));
  EXPECT_THAT(it.matrix,
              ElementsAre(0.5, DoubleNear(1 / 3.0, 1e-12), DoubleNear(1 / 6.0, 1e-12), 1, 0, 0));
  EXPECT_THAT(it.composed, ElementsAre(0.625, DoubleNear(0.25, 1e-12), DoubleNear(0.125, 1e-12)));
  EXPECT_NEAR(it.score, 0.625 + 0.125 + 0.03125, 1e-12);
}

TEST(PlaceFuzzily, DividesMaxMinByItsSum) {
  FuzzyRules rules = by_idle();
  rules.composition = Composition::kMaxMin;
  rules.factors = {{Fact::kIdle, 0.6, rules.factors[0].functions},
                   {Fact::kMemory, 0.4, rules.factors[0].functions}};
  FactValues facts;
  facts.set(Fact::kIdle, 1);
  facts.set(Fact::kMemory, 0);
  const auto placement = placed(rules, {facts}, 1);
  EXPECT_THAT(placement.hosts[0].composed, ElementsAre(0.6, 0.4));
  EXPECT_THAT(placement.hosts[0].grades, ElementsAre(0.6, 0.4));
  EXPECT_NEAR(placement.hosts[0].score, 0.6, 1e-12);
}

TEST(PlaceFuzzily, LeavesOutWhatNoHostKnows) {
  FuzzyRules rules = by_idle();
  rules.factors[0].weight = 0.4;
  rules.factors.push_back({Fact::kMemory, 0.6, rules.factors[0].functions});
  const auto placement = placed(rules, hosts_with({0.8, 0.2}), 5);
  EXPECT_THAT(placement.left_out, ElementsAre(Fact::kMemory));
  ASSERT_EQ(placement.rules.factors.size(), 1u);
  EXPECT_DOUBLE_EQ(placement.rules.factors[0].weight, 1);
  EXPECT_THAT(placement.added, ElementsAre(4, 1));
}

TEST(PlaceFuzzily, LetsWhatOneHostDoesNotKnowSpeakNeitherWay) {
  auto facts = hosts_with({1, 0, 0.5});
  facts[2] = {};
  const auto placement = placed(by_idle(), facts, 3);
  EXPECT_EQ(placement.hosts[2].values[0], std::nullopt);
  EXPECT_THAT(placement.hosts[2].matrix, ElementsAre(0.5, 0.5));
  EXPECT_DOUBLE_EQ(placement.hosts[2].score, 0.5);
  EXPECT_THAT(placement.added, ElementsAre(2, 0, 1));
}

TEST(PlaceFuzzily, GivesWhatDoesNotFitToTheNextBest) {
  const auto placement = placed(by_idle(), hosts_with({0.9, 0.6, 0.3}), 6, {1, kUnlimited, 9});
  ASSERT_EQ(placement.rounds.size(), 2u);
  EXPECT_EQ(placement.rounds[0].shares[0].whole, 3u);
  EXPECT_EQ(placement.rounds[0].shares[0].gets, 1u);
  EXPECT_EQ(placement.rounds[1].comm_processes, 2u);
  ASSERT_EQ(placement.rounds[1].shares.size(), 2u);
  EXPECT_THAT(placement.added, ElementsAre(1, 3, 2));
  EXPECT_THAT(placed(by_idle(), hosts_with({0.9, 0.6, 0.3}), 4, {2, 1, 1}).added,
              ElementsAre(2, 1, 1))
      << "full to the last place";
}

TEST(PlaceFuzzily, RefusesWhatCannotBePlaced) {
  const auto full =
      place_fuzzily(by_idle(), hosts_with({0.5, 0.5}), 5, std::vector<std::uint64_t>{2, 2});
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("have room for 4"));
  const auto nobody = place_fuzzily(by_idle(), {}, 1);
  ASSERT_FALSE(nobody);
  const auto unknown = place_fuzzily(by_idle(), std::vector<FactValues>(2), 1);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("no factor with a weight of any host"));
  const auto worthless =
      place_fuzzily(by_idle(), hosts_with({1, 0}), 5, std::vector<std::uint64_t>{2, 9});
  ASSERT_FALSE(worthless);
  EXPECT_THAT(worthless.error().message, StartsWith("3 of 5 communication processes fit only on"));
  EXPECT_THAT(placed(by_idle(), {}, 0).added, IsEmpty());
}

TEST(PlaceFuzzily, KeepsItsPromisesForAnySize) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<double> scores(1 + random() % 12);
    for (double& score : scores) score = static_cast<double>(1 + random() % 20) / 20;
    std::vector<std::uint64_t> room;
    if (random() % 2 == 0) {
      for (std::size_t i = 0; i < scores.size(); ++i) room.push_back(random() % 6);
    }
    const std::uint64_t max = std::accumulate(room.begin(), room.end(), std::uint64_t{0});
    const std::uint64_t n = room.empty() ? random() % 60 : random() % (max + 1);
    const auto placement = placed(by_idle(), hosts_with(scores), n, room);
    ASSERT_EQ(std::accumulate(placement.added.begin(), placement.added.end(), std::uint64_t{0}), n);
    const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (!room.empty()) {
        ASSERT_LE(placement.added[i], room[i]);
        continue;
      }
      // Largest remainder keeps the quota rule: never a whole process away from the quota.
      ASSERT_LT(std::abs(static_cast<double>(placement.added[i]) -
                         static_cast<double>(n) * scores[i] / sum),
                1 + 1e-9);
      for (std::size_t j = 0; j < scores.size(); ++j) {
        if (scores[i] <= scores[j]) continue;
        ASSERT_GE(placement.added[i], placement.added[j]);
      }
    }
    auto order = fill_order(placement);
    ASSERT_EQ(order.size(), n);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      ASSERT_EQ(static_cast<std::uint64_t>(
                    std::ranges::count(order, HostId{static_cast<std::uint32_t>(i)})),
                placement.added[i]);
    }
  }
}

TEST(PlaceFuzzily, ScoresLieBetweenTheValuesOfTheGrades) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::vector<FactValues> facts(2000);
  for (FactValues& host : facts) {
    for (const Fact fact : kAllFacts) {
      if (random() % 5 == 0) continue;
      const double share = static_cast<double>(random() % 1001) / 1000;
      host.set(fact, fact == Fact::kIdle ? share : share * share * 2000);
    }
  }
  for (const auto composition : {Composition::kWeightedAverage, Composition::kMaxMin}) {
    FuzzyRules rules = default_fuzzy_rules();
    rules.composition = composition;
    for (const Evaluation& it : placed(rules, facts, 100).hosts) {
      ASSERT_GE(it.score, 0.05 - 1e-12);
      ASSERT_LE(it.score, 1 + 1e-12);
      ASSERT_NEAR(std::accumulate(it.grades.begin(), it.grades.end(), 0.0), 1, 1e-9);
      ASSERT_NEAR(std::accumulate(it.weights.begin(), it.weights.end(), 0.0), 1, 1e-9);
      ASSERT_THAT(it.memberships, Each(::testing::AllOf(::testing::Ge(0), ::testing::Le(1))));
    }
  }
}

/// Idle and memory, each good by as much as it is, half the weight each; good is 1, bad is 0.1.
FuzzyRules by_idle_and_memory(double emphasis) {
  FuzzyRules rules;
  rules.grades = {{"good", 1}, {"bad", 0.1}};
  for (const Fact fact : {Fact::kIdle, Fact::kMemory}) {
    rules.factors.push_back({fact, 0.5, {{0, 1, 1, 1}, {0, 0, 0, 1}}});
  }
  rules.emphasis = emphasis;
  return rules;
}

TEST(FuzzyEmphasis, IsTheExampleWorkedByHand) {
  // Idle alone scores .1, memory alone 1. Emphasis 1: .5 / .1 = 5 and .5, divided by 5.5; then
  // B = (.0909, .9091), S = .0909 + .0909 = .1818. Emphasis 2: 50 and .5, divided by 50.5:
  // S = .0099 + .0990 = .1089. Without: S = .55.
  FactValues host;
  host.set(Fact::kIdle, 0);
  host.set(Fact::kMemory, 1);
  const auto score = [&](double emphasis) {
    return placed(by_idle_and_memory(emphasis), {host}, 1).hosts[0];
  };
  EXPECT_NEAR(score(0).score, 0.55, 1e-12);
  EXPECT_THAT(score(1).weights,
              ElementsAre(DoubleNear(10 / 11.0, 1e-12), DoubleNear(1 / 11.0, 1e-12)));
  EXPECT_NEAR(score(1).score, 2 / 11.0, 1e-12);
  EXPECT_NEAR(score(2).score, 5.5 / 50.5, 1e-12);
}

TEST(DefaultRules, KeepSixProcessesAwayFromThreeSlowHostsOfEight) {
  std::vector<FactValues> hosts(8);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const bool slow = i == 0 || i == 2 || i == 4;
    hosts[i].set(Fact::kIdle, slow ? 0 : 1);
    hosts[i].set(Fact::kRunQueue, slow ? 20 : 0);
    hosts[i].set(Fact::kMemory, 21);
    hosts[i].set(Fact::kRoundTrip, 40);
    hosts[i].set(Fact::kProcesses, 1);
  }
  EXPECT_THAT(placed(default_fuzzy_rules(), hosts, 6).added, ElementsAre(0, 2, 0, 1, 0, 1, 1, 1));
}

TEST(FuzzyEmphasis, LeavesAloneWhatIsNotKnown) {
  FactValues all;
  all.set(Fact::kIdle, 1);
  all.set(Fact::kMemory, 1);
  FactValues some;
  some.set(Fact::kIdle, 1);
  const auto placement = placed(by_idle_and_memory(4), {all, some}, 1);
  EXPECT_THAT(placement.hosts[1].weights, ElementsAre(0.5, 0.5));
}

TEST(FuzzyEmphasis, StandsGradesThatAreWorthNothing) {
  FuzzyRules rules = by_idle();
  rules.emphasis = 4;
  EXPECT_THAT(placed(rules, hosts_with({0, 1}), 2).added, ElementsAre(0, 2));
}

TEST(FuzzyFillOrder, PutsTheBestHostsFirstAndSpreads) {
  const auto placement = placed(by_idle(), hosts_with({0.4, 0.8}), 3);
  ASSERT_THAT(placement.added, ElementsAre(1, 2));
  // Places: host 1 at 1.25 and 2.5, host 0 at 2.5: the lower index first.
  EXPECT_THAT(fill_order(placement), ElementsAre(HostId{1}, HostId{0}, HostId{1}));
}

}  // namespace
}  // namespace xylem::placement
