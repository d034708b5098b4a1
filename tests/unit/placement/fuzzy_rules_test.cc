#include "placement/fuzzy_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace xylem::placement {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using ::testing::StartsWith;

Result<FuzzyRules> read_rules_of(const std::string& text) {
  const auto entries = parse_config(text, "x.toml");
  EXPECT_TRUE(entries) << entries.error().message;
  return read_fuzzy_rules(*entries, "x.toml");
}

std::string refusal_of_rules(const std::string& text) {
  const auto rules = read_rules_of(text);
  if (rules) return "accepted";
  EXPECT_EQ(rules.error().code, Code::kInvalidArgument);
  return rules.error().message;
}

TEST(Membership, RisesIsOneAndFalls) {
  const Trapezoid function{0, 2, 4, 8};
  for (const auto& [x, expected] :
       {std::pair{-1.0, 0.0}, {0, 0}, {0.5, 0.25}, {2, 1}, {3, 1}, {4, 1}, {7, 0.25}, {8, 0}}) {
    EXPECT_DOUBLE_EQ(membership(function, x), expected) << x;
  }
  const Trapezoid triangle{0, 1, 1, 2};
  EXPECT_DOUBLE_EQ(membership(triangle, 1), 1);
  EXPECT_DOUBLE_EQ(membership(triangle, 1.5), 0.5);
  const Trapezoid left_shoulder{0, 0, 1, 2};
  EXPECT_DOUBLE_EQ(membership(left_shoulder, 0), 1);
  const Trapezoid right_shoulder{0, 1, 2, 2};
  EXPECT_DOUBLE_EQ(membership(right_shoulder, 2), 1);
}

TEST(FindGap, FindsWhereNoFunctionReaches) {
  EXPECT_EQ(find_gap(std::vector<Trapezoid>{{0, 0, 1, 2}, {1, 2, 3, 3}}), std::nullopt);
  EXPECT_EQ(find_gap(std::vector<Trapezoid>{{0, 0, 1, 2}, {2, 3, 4, 4}}), 2);
  EXPECT_EQ(find_gap(std::vector<Trapezoid>{{0, 0, 1, 2}, {4, 5, 6, 6}}), 2);
  EXPECT_EQ(find_gap(std::vector<Trapezoid>{{0, 1, 1, 2}, {1, 2, 3, 3}}), 0) << "no left shoulder";
  EXPECT_EQ(find_gap(std::vector<Trapezoid>{{0, 0, 1, 1}, {2, 2, 3, 3}}), 1.5)
      << "both ends belong to a shoulder, between them there is nothing";
}

TEST(Compare, TakesThePrincipalEigenvector) {
  const auto it = compare({{1, 3, 5}, {1 / 3.0, 1, 3}, {1 / 5.0, 1 / 3.0, 1}});
  ASSERT_TRUE(it) << it.error().message;
  // By hand: the geometric means of the rows give the eigenvector of 3 x 3 matrices exactly:
  // 15^(1/3) = 2.46621, 1, 15^(-1/3) = 0.40548, in all 3.87169.
  EXPECT_THAT(it->weights, ElementsAre(DoubleNear(0.6370, 5e-5), DoubleNear(0.2583, 5e-5),
                                       DoubleNear(0.1047, 5e-5)));
  EXPECT_NEAR(it->eigenvalue, 3.0385, 5e-5);
  EXPECT_NEAR(it->consistency_index, 0.0193, 5e-5);
  EXPECT_DOUBLE_EQ(it->random_index, 0.58);
  EXPECT_NEAR(it->consistency_ratio, 0.0332, 5e-5);
}

TEST(Compare, GivesConsistentMatricesBackTheirWeights) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> weights(1 + random() % kFacts);
    for (double& weight : weights) weight = 1 + static_cast<double>(random() % 20);
    std::vector<std::vector<double>> matrix(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      for (const double other : weights) matrix[i].push_back(weights[i] / other);
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= sum;
    const auto it = compare(matrix);
    ASSERT_TRUE(it) << it.error().message;
    ASSERT_THAT(it->weights, Pointwise(DoubleNear(1e-9), weights));
    ASSERT_NEAR(it->consistency_ratio, 0, 1e-9);
  }
}

/// Multiplies a vector by the matrix until it no longer turns: slow and plain.
std::vector<double> by_powers(const std::vector<std::vector<double>>& matrix) {
  std::vector<double> vector(matrix.size(), 1);
  for (int step = 0; step < 1000; ++step) {
    std::vector<double> next;
    for (const auto& row : matrix) {
      next.push_back(std::inner_product(row.begin(), row.end(), vector.begin(), 0.0));
    }
    const double sum = std::accumulate(next.begin(), next.end(), 0.0);
    for (double& entry : next) entry /= sum;
    vector = next;
  }
  return vector;
}

TEST(Compare, AgreesWithPowerIteration) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> near_one(0.8, 1.25);
  int accepted = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t n = 3 + random() % 5;
    std::vector<double> weights(n);
    for (double& weight : weights) weight = 1 + static_cast<double>(random() % 8);
    std::vector<std::vector<double>> matrix(n, std::vector<double>(n, 1));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        matrix[i][j] = weights[i] / weights[j] * near_one(random);
        matrix[j][i] = 1 / matrix[i][j];
      }
    }
    const auto it = compare(matrix);
    if (!it) continue;
    ++accepted;
    ASSERT_THAT(it->weights, Pointwise(DoubleNear(1e-9), by_powers(matrix)));
    ASSERT_GE(it->eigenvalue, static_cast<double>(n) - 1e-9);
  }
  EXPECT_GT(accepted, 250);
}

TEST(Compare, RefusesContradictions) {
  // 1 beats 2, 2 beats 3, 3 beats 1.
  const auto circle = compare({{1, 3, 1 / 3.0}, {1 / 3.0, 1, 3}, {3, 1 / 3.0, 1}});
  ASSERT_FALSE(circle);
  EXPECT_THAT(circle.error().message,
              AllOf(StartsWith("the comparisons contradict each other: consistency ratio 1.1"),
                    HasSubstr("at most 0.1")));
  EXPECT_TRUE(compare({{1, 7}, {1 / 7.0, 1}})) << "two factors cannot contradict each other";
}

TEST(DefaultRules, AreUsableAndAddUpToOneEverywhere) {
  const FuzzyRules rules = default_fuzzy_rules();
  ASSERT_TRUE(check(rules)) << check(rules).error().message;
  for (const Fact fact : kAllFacts) {
    const auto functions = default_functions(fact);
    EXPECT_EQ(find_gap(functions), std::nullopt) << to_text(fact);
    const double min = std::min(functions.front().a, functions.back().a);
    const double max = std::max(functions.front().d, functions.back().d);
    for (int step = 0; step <= 1000; ++step) {
      const double x = min + (max - min) * step / 1000;
      double sum = 0;
      for (const Trapezoid& function : functions) sum += membership(function, x);
      ASSERT_NEAR(sum, 1, 1e-9) << to_text(fact) << " at " << x;
    }
  }
}

TEST(ReadRules, AreTheDefaultsWhereNothingIsSaid) {
  const auto rules = read_rules_of("window = \"1s\"\ntopology = \"flat\"\n");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(*rules, default_fuzzy_rules());
}

TEST(ReadRules, TakesEveryPart) {
  const auto rules = read_rules_of(R"(
[fuzzy]
composition = "max-min"
score = "maximum-membership"
emphasis = 0.5
[fuzzy.grades]
bad = 0.25
good = 1
[fuzzy.weights]
memory = 0.25
idle = 0.75
[fuzzy.functions.idle]
good = [0, 1, 1, 1]
bad = [0, 0, 1]
[fuzzy.functions.memory]
good = [1, 4, 4]
bad = [1.0, 1, 2.5, 4]
)");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->composition, Composition::kMaxMin);
  EXPECT_EQ(rules->scoring, Scoring::kMaximumMembership);
  EXPECT_EQ(rules->emphasis, 0.5);
  EXPECT_THAT(rules->grades, ElementsAre(Grade{"good", 1}, Grade{"bad", 0.25}));
  EXPECT_THAT(rules->factors,
              ElementsAre(Factor{Fact::kMemory, 0.25, {{1, 4, 4, 4}, {1, 1, 2.5, 4}}},
                          Factor{Fact::kIdle, 0.75, {{0, 1, 1, 1}, {0, 0, 0, 1}}}));
}

TEST(ReadRules, TakesWeightsFromComparisonsInTheOrderOfTheLines) {
  const auto rules = read_rules_of(R"(
[fuzzy.comparisons]
network = [1, 3, 5]
idle = ["1/3", 1, 3]
cores = [0.2, 0.333, 1]
)");
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_TRUE(rules->comparisons);
  ASSERT_EQ(rules->factors.size(), 3u);
  EXPECT_EQ(rules->factors[0].fact, Fact::kNetwork);
  EXPECT_NEAR(rules->factors[0].weight, 0.6370, 5e-4);
  EXPECT_EQ(rules->factors[1].fact, Fact::kIdle);
  EXPECT_EQ(rules->factors[2].fact, Fact::kCores);
  EXPECT_EQ(rules->factors[2].functions, default_functions(Fact::kCores));
}

TEST(ReadRules, RefuseWithFileAndLineAndWhatToDo) {
  const std::pair<const char*, const char*> cases[] = {
      {"[fuzzy.weights]\nidle = 0.5\nmemory = 0.4\n",
       "x.toml:3: the weights sum to 0.9, not 1; change them, or give comparisons"},
      {"[fuzzy.weights]\nidle = 1.5\nmemory = -0.5\n",
       "x.toml:3: factor memory has the weight -0.5; give one from 0 to 1"},
      {"[fuzzy.weights]\nidle = \"much\"\n", "x.toml:2: idle wants one number, not 'much'"},
      {"[fuzzy.weights]\nidle = [0.5, 0.5]\n",
       "x.toml:2: idle wants one number, not '0.5' and more"},
      {"[fuzzy.weights]\nidel = 1\n",
       "x.toml:2: 'idel' is not a factor; they are idle, run_queue, memory, network, round_trip, "
       "cores, "
       "processes"},
      {"[fuzzy]\nweight = 1\n",
       "x.toml:2: 'fuzzy.weight' is not a key of fuzzy placement; they are composition, score, "
       "emphasis, "
       "grades.GRADE, weights.FACTOR, comparisons.FACTOR and functions.FACTOR.GRADE"},
      {"[fuzzy]\nemphasis = 5\n", "x.toml:2: emphasis is 5; give a number from 0 to 4"},
      {"[fuzzy]\nemphasis = \"much\"\n", "x.toml:2: emphasis wants one number, not 'much'"},
      {"[fuzzy]\ncomposition = \"average\"\n",
       "x.toml:2: composition 'average' is not known; write weighted-average or max-min"},
      {"[fuzzy.weights]\nidle = 1\n[fuzzy.comparisons]\nidle = [1]\n",
       "x.toml:4: there are both weights and comparisons; keep one of them"},
      {"[fuzzy.comparisons]\nidle = [1, 2, 3]\nmemory = [\"1/2\", 1]\n",
       "x.toml:2: row 1 of the comparisons has 3 entries for 2 rows; give a square matrix"},
      {"[fuzzy.comparisons]\nidle = [1, 2]\nmemory = [2, 1]\n",
       "x.toml:2: comparisons, row 2, column 1: 2 is not the reciprocal of 2 in row 1, column 2; "
       "write \"1/2\""},
      {"[fuzzy.comparisons]\nidle = [2, 2]\nmemory = [0.5, 1]\n",
       "x.toml:2: comparisons, row 1, column 1: a factor outweighs itself once; write 1"},
      {"[fuzzy.comparisons]\nidle = [1, 0]\nmemory = [1, 1]\n",
       "x.toml:2: comparisons, row 1, column 2: 0 is not above 0 and at most 1000"},
      {"[fuzzy.comparisons]\nidle = [1, \"a/b\"]\nmemory = [1, 1]\n",
       "x.toml:2: 'a/b' is not a number; write for example 3 or \"1/3\""},
      {"[fuzzy]\ncomparisons = { idle = [1, 2], memory = [0.5, 1] }\n",
       "x.toml:2: two rows of comparisons are on one line, so their order is unclear; write each "
       "row on its own line"},
      {"[fuzzy.comparisons]\nidle = [1, 9, \"1/9\"]\nmemory = [\"1/9\", 1, 9]\ncores = [9, "
       "\"1/9\", 1]\n",
       "x.toml:2: the comparisons contradict each other: consistency ratio"},
      {"[fuzzy.functions.idle]\nexcellent = [0.8, 1, 1]\ngood = [0.5, 0.6, 0.7]\n"
       "fair = [0.3, 0.4, 0.55]\npoor = [0, 0, 0.35]\n",
       "x.toml:2: the functions of idle leave a gap: at 0.7 no grade has a membership above 0"},
      {"[fuzzy.functions.idle]\nexcellent = [0.8, 1, 0.9]\ngood = [0.5, 0.6, 0.7]\n"
       "fair = [0.3, 0.4, 0.55]\npoor = [0, 0, 0.35]\n",
       "x.toml:2: the function of idle for excellent does not rise from corner to corner"},
      {"[fuzzy.functions.idle]\nexcellent = [0.8, 1]\ngood = [0, 0, 1]\nfair = [0, 0, 1]\n"
       "poor = [0, 0, 1]\n",
       "x.toml:2: the function of idle for excellent wants 3 or 4 numbers"},
      {"[fuzzy.functions.idle]\ngood = [0, 0, 1]\n",
       "x.toml:2: factor idle has no function for the grade excellent; give each grade one"},
      {"[fuzzy.functions.idle]\nexcellent = [0, 1, 1]\ngood = [0, 0, 1]\nfair = [0, 0, 1]\n"
       "poor = [0, 0, 1]\nbest = [0, 0, 1]\n",
       "x.toml:6: 'best' is not a grade; they are excellent good fair poor"},
      {"[fuzzy.functions.cores]\ngood = [0, 0, 1]\n",
       "x.toml:2: factor cores has functions and no weight; give it one"},
      {"[fuzzy.functions.heat]\ngood = [0, 0, 1]\n",
       "x.toml:2: 'heat' is not a factor; they are idle"},
      {"[fuzzy.grades]\ngood = 1\nbad = 0\n",
       "x.toml:2: these grades are not the default grades, so idle needs functions: write "
       "[fuzzy.functions.idle]"},
      {"[fuzzy.grades]\ngood = 2\n", "x.toml:2: grade good has the value 2; give one from 0 to 1"},
      {"[fuzzy.grades]\ngood = 0\n", "x.toml:2: every grade has the value 0; give the best one 1"},
      {"fuzzy = 1\n", "x.toml:1: 'fuzzy' is not a key of fuzzy placement"},
      {"[fuzzy.grades]\n\"a.b\" = 1\n", "x.toml:2: 'fuzzy.grades.a.b' is not a key"},
      {"[fuzzy.weights]\nidle = inf\n", "x.toml:2: idle wants one number, not 'inf'"},
  };
  for (const auto& [text, sentence] : cases)
    EXPECT_THAT(refusal_of_rules(text), StartsWith(sentence)) << text;
}

}  // namespace
}  // namespace xylem::placement
