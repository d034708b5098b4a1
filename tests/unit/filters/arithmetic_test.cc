// Sums, least and greatest, moments, matrices: in any tree as one flat gather, bit for bit or
// within the bound that the header states.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "filters/elementwise.h"
#include "filters/matrix.h"
#include "filters/moments.h"
#include "tests/support/any_tree.h"

namespace xylem::filters {
namespace {

using ::testing::HasSubstr;
using wire::Fields;
using xylem::testing::any_leaves;
using xylem::testing::built_in;
using xylem::testing::in_any_tree;
using xylem::testing::kInfinity;
using xylem::testing::kNaN;
using xylem::testing::kTrials;
using xylem::testing::same_bits;
using xylem::testing::Sent;
using xylem::testing::trial_name;

constexpr std::uint64_t kArithmeticSeed = 20240702;  // Fixed, so that a failure can be repeated.
constexpr double kUnit = 0x1p-53;
using Doubles = std::vector<double>;
using Numbers = std::vector<std::uint64_t>;

// Of any sign and of sizes far apart.
double any_value(std::mt19937_64& random) {
  const double value =
      std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 80) - 90);
  return random() % 2 == 0 ? value : -value;
}

TEST(Sum, OfIntegersIsTheFlatSumInAnyTree) {
  std::mt19937_64 random(kArithmeticSeed);
  const auto sum = built_in("sum");
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kArithmeticSeed, trial));
    const std::size_t length = random() % 5;
    const auto sent = any_leaves(random, [&] {
      std::vector<std::int64_t> array(length);
      for (auto& element : array) element = static_cast<std::int64_t>(random());
      return Fields{
          {1, static_cast<std::int64_t>(random())}, {2, std::uint64_t{random()}}, {9, array}};
    });
    std::uint64_t first = 0, second = 0;
    Numbers ninth(length);
    for (const Sent& one : sent) {
      first += static_cast<std::uint64_t>(*one.fields.get<std::int64_t>(1));
      second += *one.fields.get<std::uint64_t>(2);
      const auto array = *one.fields.get<std::vector<std::int64_t>>(9);
      for (std::size_t i = 0; i < length; ++i) ninth[i] += static_cast<std::uint64_t>(array[i]);
    }
    const Fields flat{{1, static_cast<std::int64_t>(first)},
                      {2, second},
                      {9, std::vector<std::int64_t>(ninth.begin(), ninth.end())}};
    EXPECT_TRUE(same_bits(in_any_tree(*sum, sent, random), flat));
  }
}

TEST(Sum, OfFloatingPointStaysWithinItsBound) {
  std::mt19937_64 random(kArithmeticSeed);
  const auto sum = built_in("sum");
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kArithmeticSeed, trial));
    const auto sent = any_leaves(random, [&] {
      return Fields{{1, any_value(random)}, {2, Doubles{any_value(random)}}};
    });
    const Fields result = in_any_tree(*sum, sent, random);
    long double exact = 0, absolute = 0, exact_array = 0, absolute_array = 0;
    for (const Sent& one : sent) {
      const double value = *one.fields.get<double>(1);
      const double element = one.fields.find_as<Doubles>(2)->front();
      exact += value;
      absolute += std::abs(value);
      exact_array += element;
      absolute_array += std::abs(element);
    }
    // The long double is itself off by 2^-11 of the bound at most, from its 64 bits.
    const long double bound = (static_cast<long double>(sent.size()) - 1) * kUnit * (1 + 0x1p-10L);
    EXPECT_LE(std::abs(*result.get<double>(1) - exact), bound * absolute);
    EXPECT_LE(std::abs(result.find_as<Doubles>(2)->front() - exact_array), bound * absolute_array);
  }
}

TEST(Sum, LetsALeafLeaveOutAField) {
  std::mt19937_64 random(kArithmeticSeed);
  const std::vector<Sent> sent{{LeafId{1}, {{1, std::int64_t{5}}}},
                               {LeafId{2}, {{1, std::int64_t{6}}, {2, 0.5}}},
                               {LeafId{3}, {}}};
  const Fields expected{{1, std::int64_t{11}}, {2, 0.5}};
  EXPECT_TRUE(same_bits(in_any_tree(*built_in("sum"), sent, random), expected));
}

TEST(Sum, KeepsANaNAndHasOnlyOne) {
  std::mt19937_64 random(kArithmeticSeed);
  const Fields expected{{1, kNaN}};
  const std::vector<std::vector<double>> cases{{-kNaN, 1},
                                               {kInfinity, -kInfinity, 5},
                                               {std::bit_cast<double>(0xfff8000000001234), kNaN, 2},
                                               {-kNaN}};
  for (const auto& values : cases) {
    std::vector<Sent> sent;
    for (const double value : values) {
      sent.push_back({LeafId{static_cast<std::uint32_t>(sent.size())}, Fields{{1, value}}});
    }
    for (const auto* name : {"sum", "min", "max"}) {
      if (values.size() == 3 && values[0] == kInfinity && name != std::string("sum")) continue;
      for (int trial = 0; trial < 10; ++trial) {
        EXPECT_TRUE(same_bits(in_any_tree(*built_in(name), sent, random), expected)) << name;
      }
    }
  }
}

TEST(Elementwise, RefusesWhatIsNoNumber) {
  for (const auto* name : {"sum", "min", "max"}) {
    for (const wire::FieldValue& value :
         {wire::FieldValue("text"), wire::FieldValue(std::vector<std::byte>(3)),
          wire::FieldValue(std::vector<std::string>{"a"})}) {
      const auto lifted = built_in(name)->lift(LeafId{1}, Fields{{1, 0.5}, {3, value}});
      ASSERT_FALSE(lifted);
      EXPECT_EQ(lifted.error().code, Code::kInvalidArgument);
      EXPECT_THAT(lifted.error().message, HasSubstr(std::string(name) + ": field 3 is "));
    }
  }
}

TEST(Elementwise, RefusesToMixTypesAndLengths) {
  const auto fault = [](wire::FieldValue a, wire::FieldValue b) {
    Fields state{{4, std::move(a)}};
    const auto merged = built_in("max")->merge(state, Fields{{4, std::move(b)}});
    EXPECT_FALSE(merged);
    if (merged) return std::string();
    EXPECT_EQ(merged.error().code, Code::kInvalidArgument);
    return merged.error().message;
  };
  EXPECT_THAT(fault(std::int64_t{1}, std::uint64_t{1}),
              HasSubstr("field 4 as int64 and as uint64"));
  EXPECT_THAT(fault(0.5, Doubles{0.5}), HasSubstr("as float64 and as array of float64"));
  EXPECT_THAT(fault(Doubles{0.5, 1}, Doubles{0.5}), HasSubstr("arrays of different lengths"));
  EXPECT_THAT(fault("a", "b"), HasSubstr("no numbers"));
}

template <typename Least>
void expect_extremes(const char* name, const Least& flat) {
  std::mt19937_64 random(kArithmeticSeed);
  const auto filter = built_in(name);
  const auto any_special = [&] {
    constexpr double kSpecial[] = {0.0, -0.0, 1, -1, kInfinity, -kInfinity, 5e-324};
    return random() % 2 == 0 ? kSpecial[random() % std::size(kSpecial)] : any_value(random);
  };
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kArithmeticSeed, trial));
    const auto sent = any_leaves(random, [&] {
      return Fields{{1, static_cast<std::int64_t>(random())},
                    {2, Numbers{random(), random()}},
                    {3, any_special()},
                    {4, Doubles{any_special()}}};
    });
    Fields expected = sent.front().fields;
    for (const Sent& one : sent) {
      expected.set(1, flat(*expected.get<std::int64_t>(1), *one.fields.get<std::int64_t>(1)));
      Numbers array = *expected.get<Numbers>(2);
      for (int i : {0, 1}) array[i] = flat(array[i], (*one.fields.get<Numbers>(2))[i]);
      expected.set(2, array);
      expected.set(3, flat(*expected.get<double>(3), *one.fields.get<double>(3)));
      expected.set(
          4, Doubles{flat(expected.get<Doubles>(4)->front(), one.fields.get<Doubles>(4)->front())});
    }
    EXPECT_TRUE(same_bits(in_any_tree(*filter, sent, random), expected));
  }
}

// Orders -0 before 0, as the header says.
bool before(double a, double b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }
template <typename T>
bool before(T a, T b) {
  return a < b;
}

TEST(Min, IsTheFlatMinimumInAnyTree) {
  expect_extremes("min", [](auto a, auto b) { return before(b, a) ? b : a; });
}

TEST(Max, IsTheFlatMaximumInAnyTree) {
  expect_extremes("max", [](auto a, auto b) { return before(a, b) ? b : a; });
}

TEST(Count, IsHowManyLeavesThereAre) {
  std::mt19937_64 random(kArithmeticSeed);
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kArithmeticSeed, trial));
    const auto sent = any_leaves(random, [&] { return Fields{{7, "anything"}}; });
    EXPECT_TRUE(same_bits(in_any_tree(*built_in("count"), sent, random),
                          Fields{{count::kLeaves, std::uint64_t{sent.size()}}}));
  }
}

// Exact to 2^-64, in two passes over all values.
struct FlatMoments {
  long double mean = 0, variance = 0, greatest = 0;

  explicit FlatMoments(const std::vector<double>& values) {
    const auto n = static_cast<long double>(values.size());
    for (const double value : values) {
      mean += value / n;
      greatest = std::max(greatest, std::abs(static_cast<long double>(value)));
    }
    for (const double value : values) variance += (value - mean) * (value - mean) / n;
  }
};

void expect_moments(const Fields& result, const std::vector<double>& values) {
  const FlatMoments flat(values);
  const auto n = static_cast<long double>(values.size());
  const long double unit = kUnit * (1 + 0x1p-6L);  // The model's own error is 2^-11 of it.
  EXPECT_EQ(*result.get<std::uint64_t>(moments::kCount), values.size());
  EXPECT_LE(std::abs(*result.get<double>(moments::kMean) - flat.mean),
            4 * n * unit * flat.greatest);
  EXPECT_LE(std::abs(*result.get<double>(moments::kVariance) - flat.variance),
            64 * n * unit * flat.greatest * (std::sqrt(flat.variance) + n * unit * flat.greatest));
  EXPECT_EQ(*result.get<double>(moments::kMin), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(*result.get<double>(moments::kMax), *std::max_element(values.begin(), values.end()));
}

TEST(Moments, StayWithinTheirBoundsInAnyTree) {
  std::mt19937_64 random(kArithmeticSeed);
  const auto filter = built_in("moments");
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kArithmeticSeed, trial));
    // A small variance about a large mean is where the plain sum of squares fails.
    const double centre = trial % 3 == 0 ? any_value(random) : trial % 3 == 1 ? 1e9 : 0;
    std::vector<double> values;
    const auto sent = any_leaves(random, [&] {
      values.push_back(centre + static_cast<double>(random() % 1000) / 1000);
      return Fields{{moments::kValue, values.back()}};
    });
    expect_moments(in_any_tree(*filter, sent, random), values);
  }
}

TEST(Moments, OfArraysAreThoseOfEachElement) {
  std::mt19937_64 random(kArithmeticSeed);
  const auto filter = built_in("moments");
  for (int trial = 0; trial < kTrials / 10; ++trial) {
    SCOPED_TRACE(trial_name(kArithmeticSeed, trial));
    std::vector<std::vector<double>> columns(3);
    const auto sent = any_leaves(random, [&] {
      Doubles array;
      for (auto& column : columns) array.push_back(column.emplace_back(any_value(random)));
      return Fields{{moments::kValue, array}};
    });
    const Fields result = in_any_tree(*filter, sent, random);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Fields one{{moments::kCount, *result.get<std::uint64_t>(moments::kCount)}};
      for (const auto number : {moments::kMean, moments::kVariance, moments::kMin, moments::kMax}) {
        one.set(number, result.get<Doubles>(number)->at(i));
      }
      expect_moments(one, columns[i]);
    }
  }
}

TEST(Moments, OfOneTwoAndFourAreKnown) {
  std::mt19937_64 random(kArithmeticSeed);
  const std::vector<Sent> sent{{LeafId{1}, {{1, std::int64_t{1}}}},
                               {LeafId{2}, {{1, std::uint64_t{2}}}},
                               {LeafId{3}, {{1, 6.0}}}};
  const Fields result = in_any_tree(*built_in("moments"), sent, random);
  EXPECT_DOUBLE_EQ(*result.get<double>(moments::kMean), 3);
  EXPECT_DOUBLE_EQ(*result.get<double>(moments::kVariance), 14.0 / 3);  // (4 + 1 + 9) / 3
}

TEST(Moments, HaveNoVarianceIfALeafSendsANaNOrAnInfinity) {
  std::mt19937_64 random(kArithmeticSeed);
  const std::vector<std::vector<double>> cases{{kNaN},
                                               {-kNaN},
                                               {kInfinity},
                                               {-kInfinity},
                                               {kNaN, 1},
                                               {1, kInfinity},
                                               {-kInfinity, 1, 2},
                                               {kInfinity, kInfinity},
                                               {kInfinity, -kInfinity},
                                               {kInfinity, kNaN, 3}};
  for (const auto& values : cases) {
    SCOPED_TRACE(::testing::PrintToString(values));
    std::vector<Sent> numbers, arrays;
    for (const double value : values) {
      const LeafId leaf{static_cast<std::uint32_t>(numbers.size())};
      numbers.push_back({leaf, {{moments::kValue, value}}});
      arrays.push_back({leaf, {{moments::kValue, Doubles{5, value}}}});
    }
    for (int trial = 0; trial < 10; ++trial) {
      const Fields result = in_any_tree(*built_in("moments"), numbers, random);
      const Fields variance{{1, *result.get<double>(moments::kVariance)}};
      EXPECT_TRUE(same_bits(variance, Fields{{1, kNaN}}));
      const Fields both = in_any_tree(*built_in("moments"), arrays, random);
      const Fields variances{{1, *both.get<Doubles>(moments::kVariance)}};
      EXPECT_TRUE(same_bits(variances, Fields{{1, Doubles{0, kNaN}}}));
    }
  }
}

TEST(Moments, RefuseToMixNumbersAndArrays) {
  const auto filter = built_in("moments");
  Fields state = *filter->lift(LeafId{1}, Fields{{1, 0.5}});
  const auto merged = filter->merge(state, *filter->lift(LeafId{2}, Fields{{1, Doubles{0.5}}}));
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr("as a number and as an array"));
  const auto lifted = filter->lift(LeafId{1}, Fields{{2, 0.5}});
  ASSERT_FALSE(lifted);
  EXPECT_THAT(lifted.error().message, HasSubstr("moments: there is no field 1; it takes int64"));
}

template <typename T, typename Make, typename Add>
void expect_matrix(const Make& make, const Add& add) {
  std::mt19937_64 random(kArithmeticSeed);
  const auto filter = built_in("matrix");
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kArithmeticSeed, trial));
    std::map<std::pair<std::uint64_t, std::uint64_t>, T> flat;
    const auto sent = any_leaves(random, [&] {
      Numbers rows, columns;
      std::vector<T> values;
      for (std::size_t n = random() % 12; n > 0; --n) {
        rows.push_back(random() % 6);
        columns.push_back(random() % 6);
        values.push_back(make(random));
        T& cell = flat[{rows.back(), columns.back()}];
        cell = add(cell, values.back());
      }
      return Fields{{matrix::kRows, rows}, {matrix::kColumns, columns}, {matrix::kValues, values}};
    });
    Numbers rows, columns;
    std::vector<T> values;
    for (const auto& [place, value] : flat) {
      rows.push_back(place.first);
      columns.push_back(place.second);
      values.push_back(value);
    }
    EXPECT_TRUE(same_bits(
        in_any_tree(*filter, sent, random),
        Fields{{matrix::kRows, rows}, {matrix::kColumns, columns}, {matrix::kValues, values}}));
  }
}

TEST(Matrix, OfIntegersIsTheFlatSumInAnyTree) {
  expect_matrix<std::uint64_t>([](auto& random) { return std::uint64_t{random()}; }, std::plus<>());
  expect_matrix<std::int64_t>([](auto& random) { return static_cast<std::int64_t>(random()); },
                              [](std::int64_t a, std::int64_t b) {
                                return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                                                 static_cast<std::uint64_t>(b));
                              });
}

TEST(Matrix, OfFloatingPointAddsUpWhatIsSent) {
  // Whole numbers, of which every order gives the same sum.
  expect_matrix<double>([](auto& random) { return static_cast<double>(random() % 1000000); },
                        std::plus<>());
}

TEST(Matrix, RefusesArraysOfDifferentLengths) {
  const auto filter = built_in("matrix");
  const auto lifted =
      filter->lift(LeafId{1}, Fields{{1, Numbers{1, 2}}, {2, Numbers{1, 2}}, {3, Numbers{1}}});
  ASSERT_FALSE(lifted);
  EXPECT_EQ(lifted.error().code, Code::kInvalidArgument);
  EXPECT_THAT(lifted.error().message, HasSubstr("as long as that of the values"));
  EXPECT_FALSE(filter->lift(LeafId{1}, Fields{{1, Numbers{1}}, {2, Numbers{1}}}));
  Fields state{{1, Numbers{1}}, {2, Numbers{1}}, {3, Numbers{1}}};
  const auto merged =
      filter->merge(state, Fields{{1, Numbers{1}}, {2, Numbers{1}}, {3, Doubles{1}}});
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr("different types"));
}

}  // namespace
}  // namespace xylem::filters
