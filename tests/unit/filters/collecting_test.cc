// What counts, keeps or sorts the values of leaves: in any tree bit for bit as one flat gather.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "filters/classes.h"
#include "filters/concatenation.h"
#include "filters/histogram.h"
#include "filters/quantiles.h"
#include "filters/top.h"
#include "tests/support/any_tree.h"
#include "tests/support/random_fields.h"

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

constexpr std::uint64_t kCollectingSeed = 20240703;  // Fixed, so that a failure can be repeated.
using Doubles = std::vector<double>;
using Numbers = std::vector<std::uint64_t>;
using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

std::vector<Sent> by_leaf(std::vector<Sent> sent) {
  std::sort(sent.begin(), sent.end(), [](const Sent& a, const Sent& b) { return a.leaf < b.leaf; });
  return sent;
}

std::string fault_of(const std::string& name, const Fields& parameters) {
  const auto made = make_aggregation(name, parameters);
  EXPECT_FALSE(made);
  if (made) return {};
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
  return made.error().message;
}

TEST(Concatenation, IsTheFlatGatherByLeafInAnyTree) {
  std::mt19937_64 random(kCollectingSeed);
  const auto filter = built_in("concatenation");
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kCollectingSeed, trial));
    const auto sent = any_leaves(random, [&] {
      Fields fields;
      if (random() % 4 != 0) fields.set(1, xylem::testing::any_double(random));
      if (random() % 4 != 0)
        fields.set(2, xylem::testing::any_array<std::uint64_t>(random, std::ref(random)));
      if (random() % 2 != 0) fields.set(3, xylem::testing::any_string(random));
      if (random() % 2 != 0)
        fields.set(4, std::vector<std::byte>(random() % 3, std::byte(random())));
      return fields;
    });
    Doubles first;
    Numbers second, leaves, first_lengths, second_lengths, third_lengths, fourth_lengths;
    Texts third;
    std::vector<std::byte> fourth;
    Fields flat;
    for (const Sent& one : by_leaf(sent)) {
      const Fields& fields = one.fields;
      leaves.push_back(raw(one.leaf));
      first_lengths.push_back(fields.find(1) == nullptr ? 0 : 1);
      if (const auto* value = fields.find_as<double>(1)) first.push_back(*value);
      const auto* array = fields.find_as<Numbers>(2);
      second_lengths.push_back(array == nullptr ? 0 : array->size());
      if (array != nullptr) second.insert(second.end(), array->begin(), array->end());
      third_lengths.push_back(fields.find(3) == nullptr ? 0 : 1);
      if (const auto* text = fields.find_as<std::string>(3)) third.push_back(*text);
      const auto* bytes = fields.find_as<std::vector<std::byte>>(4);
      fourth_lengths.push_back(bytes == nullptr ? 0 : bytes->size());
      if (bytes != nullptr) fourth.insert(fourth.end(), bytes->begin(), bytes->end());
    }
    const auto add = [&](wire::FieldNumber number, const wire::FieldValue& values,
                         const Numbers& lengths) {
      const bool sent_by_any = std::any_of(sent.begin(), sent.end(), [&](const Sent& one) {
        return one.fields.find(number) != nullptr;
      });
      if (!sent_by_any) return;
      flat.set(number, values);
      flat.set(static_cast<wire::FieldNumber>(concatenation::kLengths + number), lengths);
    };
    add(1, first, first_lengths);
    add(2, second, second_lengths);
    add(3, third, third_lengths);
    add(4, fourth, fourth_lengths);
    flat.set(concatenation::kLeaves, leaves);
    EXPECT_TRUE(same_bits(in_any_tree(*filter, sent, random), flat));
  }
}

TEST(Concatenation, RefusesTheSameLeafTwice) {
  const auto filter = built_in("concatenation");
  Fields state = *filter->lift(LeafId{7}, Fields{{1, 0.5}});
  const auto merged = filter->merge(state, *filter->lift(LeafId{7}, Fields{{1, 0.5}}));
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, Code::kInvalidArgument);
  EXPECT_THAT(merged.error().message, HasSubstr("a leaf is in both"));
}

TEST(Concatenation, RefusesOtherTypesAndNumbersOfItsOwn) {
  const auto filter = built_in("concatenation");
  Fields state = *filter->lift(LeafId{7}, Fields{{1, 0.5}});
  const auto merged = filter->merge(state, *filter->lift(LeafId{8}, Fields{{1, "text"}}));
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message,
              HasSubstr("pieces of array of float64 and of array of string"));
  const auto lifted = filter->lift(LeafId{7}, Fields{{concatenation::kFieldsEnd, 0.5}});
  ASSERT_FALSE(lifted);
  EXPECT_THAT(lifted.error().message, HasSubstr("it takes numbers below 16384"));
}

// The slow way: each value against each bound.
template <typename T>
void count_flat(Numbers& counts, const Doubles& bounds, T value) {
  std::size_t bucket = 0;
  while (bucket < bounds.size() && static_cast<long double>(value) >= bounds[bucket]) ++bucket;
  ++counts[bucket];
}

Doubles powers_of_two() {
  Doubles bounds{0};
  for (double bound = 1; bound <= 0x1p63; bound *= 2) bounds.push_back(bound);
  return bounds;
}

TEST(Histogram, CountsAsOneFlatGatherInAnyTree) {
  std::mt19937_64 random(kCollectingSeed);
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kCollectingSeed, trial));
    Doubles bounds = powers_of_two();
    Fields parameters;
    if (trial % 2 == 0) {
      // Among them bounds that are no whole numbers, and some past all integers.
      bounds = {-0x1p64, -0x1p63, -10.5, 0.25, 3, 0x1.8p53, 0x1p63, 0x1p64};
      parameters.set(histogram::kGivenBounds, bounds);
    }
    Numbers counts(bounds.size() + 1);
    std::uint64_t not_numbers = 0;
    const auto sent = any_leaves(random, [&]() -> Fields {
      switch (random() % 4) {
        case 0: {
          const auto value = static_cast<std::int64_t>(random()) >> (random() % 64);
          count_flat(counts, bounds, value);
          return {{histogram::kValue, value}};
        }
        case 1: {
          // At the very edges of buckets.
          Integers values;
          for (const std::int64_t bound :
               {std::int64_t{-10}, std::int64_t{3}, std::int64_t{3} << 52}) {
            for (const std::int64_t by : {-1, 0, 1}) values.push_back(bound + by);
          }
          values.push_back(std::numeric_limits<std::int64_t>::min());
          values.push_back(std::numeric_limits<std::int64_t>::max());
          for (const std::int64_t value : values) count_flat(counts, bounds, value);
          return {{histogram::kValue, values}};
        }
        case 2: {
          const Numbers values{random(), random() >> (random() % 64), 0, 1, 2, ~std::uint64_t{0}};
          for (const std::uint64_t value : values) count_flat(counts, bounds, value);
          return {{histogram::kValue, values}};
        }
        default: {
          const Doubles values{
              xylem::testing::any_double(random), -0.0, kInfinity, -kInfinity, kNaN, 0.25};
          for (const double value : values) {
            if (std::isnan(value)) {
              ++not_numbers;
            } else {
              count_flat(counts, bounds, value);
            }
          }
          return {{histogram::kValue, values}};
        }
      }
    });
    EXPECT_TRUE(same_bits(in_any_tree(*built_in("histogram", parameters), sent, random),
                          Fields{{histogram::kCounts, counts},
                                 {histogram::kNotNumbers, not_numbers},
                                 {histogram::kBounds, bounds}}));
  }
}

TEST(Histogram, RefusesBoundsThatMakeNoSense) {
  for (const Doubles& bounds : {Doubles{1, 1}, Doubles{2, 1}, Doubles{kNaN}, Doubles{1, kInfinity},
                                Doubles(histogram::kMaxBounds + 1)}) {
    EXPECT_THAT(fault_of("histogram", Fields{{histogram::kGivenBounds, bounds}}),
                HasSubstr("must be finite, ascending"));
  }
  EXPECT_THAT(fault_of("histogram", Fields{{histogram::kGivenBounds, 0.5}}),
              HasSubstr("not array of float64"));
  EXPECT_THAT(fault_of("histogram", Fields{{9, 0.5}}), HasSubstr("no parameter 9"));
}

TEST(Histogram, RefusesAStateOfOtherBounds) {
  const auto two = built_in("histogram", Fields{{histogram::kGivenBounds, Doubles{1, 2}}});
  Fields state = *two->lift(LeafId{1}, Fields{{1, 0.5}});
  const auto merged = two->merge(state, *built_in("histogram")->lift(LeafId{2}, Fields{{1, 0.5}}));
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr("another number of buckets"));
}

double any_measure(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return 0;
    case 1:
      return xylem::testing::any_double(random);
    case 2:
      return random() % 2 == 0 ? kNaN : -kInfinity;
    default:
      return std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 60) - 80) *
             (random() % 3 == 0 ? -1 : 1);
  }
}

TEST(Quantiles, AreWithinTheirAccuracyInAnyTree) {
  std::mt19937_64 random(kCollectingSeed);
  const Doubles wanted{0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kCollectingSeed, trial));
    const double accuracy = std::array{0.5, 0.01, 0.001, 0.0001}[trial % 4];
    Doubles finite;
    std::uint64_t others = 0;
    const auto sent = any_leaves(random, [&] {
      Doubles values(random() % 50);
      for (double& value : values) {
        value = any_measure(random);
        if (std::isfinite(value)) finite.push_back(value);
        if (!std::isfinite(value)) ++others;
      }
      return Fields{{quantiles::kValue, values}};
    });
    const auto filter = built_in(
        "quantiles", Fields{{quantiles::kAccuracy, accuracy}, {quantiles::kWanted, wanted}});
    const Fields result = in_any_tree(*filter, sent, random);
    std::sort(finite.begin(), finite.end());
    EXPECT_EQ(*result.get<std::uint64_t>(quantiles::kCount), finite.size());
    EXPECT_EQ(*result.get<std::uint64_t>(quantiles::kNotFinite), others);
    if (finite.empty()) continue;
    EXPECT_EQ(*result.get<double>(quantiles::kMin), finite.front());
    EXPECT_EQ(*result.get<double>(quantiles::kMax), finite.back());
    const auto found = *result.get<Doubles>(quantiles::kQuantiles);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double exact = finite[static_cast<std::size_t>(
          std::floor(wanted[i] * static_cast<double>(finite.size() - 1)))];
      const double smallest = std::numeric_limits<double>::min();  // Less than it counts as zero.
      EXPECT_LE(std::abs(found[i] - exact), std::max(accuracy * std::abs(exact), smallest))
          << wanted[i];
    }
  }
}

TEST(Quantiles, AreTheSameBitsWhateverTheTree) {
  std::mt19937_64 random(kCollectingSeed);
  const auto filter = built_in("quantiles");
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kCollectingSeed, trial));
    Doubles all;
    const auto sent = any_leaves(random, [&] {
      Doubles values(random() % 20);
      for (double& value : values) value = any_measure(random);
      all.insert(all.end(), values.begin(), values.end());
      return Fields{{quantiles::kValue, values}};
    });
    // One leaf that sees all of it.
    const auto flat = filter->finish(*filter->lift(LeafId{0}, Fields{{quantiles::kValue, all}}));
    ASSERT_TRUE(flat);
    EXPECT_TRUE(same_bits(in_any_tree(*filter, sent, random), *flat));
  }
}

TEST(Quantiles, OfNothingAreNoNumbers) {
  std::mt19937_64 random(kCollectingSeed);
  const Fields result = in_any_tree(*built_in("quantiles"), {{LeafId{1}, {{1, kNaN}}}}, random);
  EXPECT_TRUE(same_bits(result, Fields{{quantiles::kQuantiles, Doubles{kNaN, kNaN, kNaN}},
                                       {quantiles::kCount, std::uint64_t{0}},
                                       {quantiles::kMin, kNaN},
                                       {quantiles::kMax, kNaN},
                                       {quantiles::kNotFinite, std::uint64_t{1}}}));
}

TEST(Quantiles, OfTheHeadersExampleAreAsItSays) {
  std::mt19937_64 random(kCollectingSeed);
  const Fields result = in_any_tree(
      *built_in("quantiles"),
      {{LeafId{1}, {{1, Integers{1, 2, 3}}}}, {LeafId{2}, {{1, Doubles{4, 100}}}}}, random);
  EXPECT_NEAR(result.get<Doubles>(quantiles::kQuantiles)->front(), 2.97, 0.005);
}

TEST(Quantiles, RefuseParametersThatMakeNoSense) {
  EXPECT_THAT(fault_of("quantiles", Fields{{quantiles::kAccuracy, 0.0}}),
              HasSubstr("from 0.0001 to 0.5"));
  EXPECT_THAT(fault_of("quantiles", Fields{{quantiles::kAccuracy, kNaN}}),
              HasSubstr("from 0.0001 to 0.5"));
  EXPECT_THAT(fault_of("quantiles", Fields{{quantiles::kAccuracy, std::int64_t{1}}}),
              HasSubstr("not float64"));
  EXPECT_THAT(fault_of("quantiles", Fields{{quantiles::kWanted, Doubles{50}}}),
              HasSubstr("from 0 to 1"));
}

template <typename T, typename Make>
void expect_top(const Make& make) {
  std::mt19937_64 random(kCollectingSeed);
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kCollectingSeed, trial));
    const std::size_t how_many = 1 + random() % 20;
    struct Entry {
      T value;
      std::uint64_t leaf, position;
    };
    const auto sent = any_leaves(random, [&] {
      std::vector<T> values(random() % 6);
      for (T& value : values) value = make(random);
      if (values.size() == 1) return Fields{{top::kValue, values.front()}};
      return Fields{{top::kValue, values}};
    });
    std::vector<Entry> all;
    for (const Sent& one : by_leaf(sent)) {
      if (const auto* scalar = one.fields.find_as<T>(top::kValue))
        all.push_back({*scalar, raw(one.leaf), 0});
      if (const auto* array = one.fields.find_as<std::vector<T>>(top::kValue)) {
        for (std::size_t i = 0; i < array->size(); ++i)
          all.push_back({(*array)[i], raw(one.leaf), i});
      }
    }
    // By leaf and position already: a stable sort leaves ties so.
    std::stable_sort(all.begin(), all.end(),
                     [](const Entry& a, const Entry& b) { return a.value > b.value; });
    all.resize(std::min(all.size(), how_many));
    std::vector<T> values;
    Numbers leaves, positions;
    for (const Entry& entry : all) {
      values.push_back(entry.value);
      leaves.push_back(entry.leaf);
      positions.push_back(entry.position);
    }
    const auto filter = built_in("top", Fields{{top::kHowMany, std::uint64_t{how_many}}});
    EXPECT_TRUE(same_bits(
        in_any_tree(*filter, sent, random),
        Fields{{top::kValues, values}, {top::kLeaves, leaves}, {top::kPositions, positions}}));
  }
}

TEST(Top, IsThatOfOneFlatGatherInAnyTree) {
  expect_top<std::int64_t>(
      [](auto& random) { return static_cast<std::int64_t>(random() % 20) - 10; });
  expect_top<std::uint64_t>([](auto& random) { return random() << 58; });
  expect_top<double>([](auto& random) {
    constexpr double kValues[] = {0.0, -0.0, 1, -kInfinity, kInfinity, 2.5};
    return kValues[random() % std::size(kValues)];
  });
}

TEST(Top, RefusesNaNsAndOddParameters) {
  const auto lifted = built_in("top")->lift(LeafId{1}, Fields{{1, Doubles{1, kNaN}}});
  ASSERT_FALSE(lifted);
  EXPECT_THAT(lifted.error().message, HasSubstr("holds a NaN"));
  for (const wire::FieldValue& how_many :
       {wire::FieldValue(std::int64_t{0}), wire::FieldValue(std::int64_t{-1}),
        wire::FieldValue(0.5), wire::FieldValue(std::uint64_t{top::kMaxHowMany + 1})}) {
    EXPECT_THAT(fault_of("top", Fields{{top::kHowMany, how_many}}), HasSubstr("from 1 to 65536"));
  }
  EXPECT_TRUE(make_aggregation("top", Fields{{top::kHowMany, std::int64_t{3}}}));
}

template <typename T, typename Less, typename Make>
void expect_classes(const Make& make) {
  std::mt19937_64 random(kCollectingSeed);
  const auto filter = built_in("classes");
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial_name(kCollectingSeed, trial));
    const auto sent = any_leaves(random, [&] { return Fields{{classes::kValue, make(random)}}; });
    std::map<T, IntervalSet, Less> flat;
    for (const Sent& one : sent) flat[*one.fields.get<T>(classes::kValue)].insert(raw(one.leaf));
    const Fields result = in_any_tree(*filter, sent, random);
    const auto values = result.get<std::vector<T>>(classes::kValues);
    ASSERT_TRUE(values) << values.error().message;
    const auto leaves = leaves_of_classes(result);
    ASSERT_TRUE(leaves) << leaves.error().message;
    ASSERT_EQ(values->size(), flat.size());
    ASSERT_EQ(leaves->size(), flat.size());
    std::size_t i = 0;
    for (const auto& [value, set] : flat) {
      EXPECT_TRUE(same_bits(Fields{{1, (*values)[i]}}, Fields{{1, value}}));
      EXPECT_EQ((*leaves)[i++], set) << set.to_string();
    }
  }
}

struct LessBits {
  bool operator()(double a, double b) const { return std::strong_order(a, b) < 0; }
};

TEST(Classes, AreThoseOfOneFlatGatherInAnyTree) {
  expect_classes<std::string, std::less<>>([](auto& random) {
    return std::array<std::string, 4>{"main\nsolve\nMPI_Wait", "", std::string("a\0b", 3),
                                      "main"}[random() % 4];
  });
  expect_classes<std::int64_t, std::less<>>(
      [](auto& random) { return static_cast<std::int64_t>(random() % 5) - 2; });
  expect_classes<std::uint64_t, std::less<>>(
      [](auto& random) { return std::uint64_t{random() % 3}; });
  expect_classes<double, LessBits>([](auto& random) {
    constexpr double kValues[] = {0.0, -0.0, kNaN, 1.5};
    return kValues[random() % std::size(kValues)];
  });
}

TEST(Classes, TakeAllNaNsForOne) {
  std::mt19937_64 random(kCollectingSeed);
  const Fields result = in_any_tree(*built_in("classes"),
                                    {{LeafId{3}, {{1, kNaN}}}, {LeafId{4}, {{1, -kNaN}}}}, random);
  EXPECT_EQ(*leaves_of_classes(result), std::vector<IntervalSet>{IntervalSet::range(3, 5)});
}

TEST(Classes, RefuseTheSameLeafTwiceAndOtherTypes) {
  const auto filter = built_in("classes");
  Fields state = *filter->lift(LeafId{3}, Fields{{1, "a"}});
  auto merged = filter->merge(state, *filter->lift(LeafId{3}, Fields{{1, "b"}}));
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr("a leaf is in both"));
  merged = filter->merge(state, *filter->lift(LeafId{4}, Fields{{1, 0.5}}));
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr("as array of string and as array of float64"));
  const auto lifted = filter->lift(LeafId{3}, Fields{{1, Texts{"a"}}});
  ASSERT_FALSE(lifted);
  EXPECT_THAT(lifted.error().message,
              HasSubstr("field 1 is array of string; it takes int64, uint64, float64 or string"));
  EXPECT_FALSE(leaves_of_classes(Fields{{1, "no result"}}));
}

}  // namespace
}  // namespace xylem::filters
