#include "base/interval_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace xylem {
namespace {

TEST(IntervalSet, MeltsWhatTouches) {
  IntervalSet set;
  set.insert(1, 3);
  set.insert(5, 7);
  EXPECT_EQ(set.to_string(), "1-2,5-6");
  set.insert(3, 5);
  EXPECT_EQ(set, IntervalSet::range(1, 7));
}

TEST(IntervalSet, IsEmptyForAnEmptyRange) {
  EXPECT_TRUE(IntervalSet::range(4, 4).empty());
  EXPECT_TRUE(IntervalSet::range(5, 4).empty());
  EXPECT_EQ(IntervalSet().to_string(), "");
}

TEST(IntervalSet, HasNoEmptyIntervalAfterAnIntersection) {
  const IntervalSet low = IntervalSet::range(1, 4);
  EXPECT_TRUE(low.intersection(IntervalSet::range(4, 9)).empty()) << "they touch";
  IntervalSet gaps = IntervalSet::range(0, 2);
  gaps.insert(4, 9);
  EXPECT_EQ(low.intersection(gaps), IntervalSet::of(1));
}

TEST(IntervalSet, PrintsSingleNumbersWithoutADash) {
  EXPECT_EQ(IntervalSet::of(7).to_string(), "7");
}

// The slow, obvious model: std::set.
IntervalSet random_set(std::mt19937& random, std::set<std::uint64_t>& model) {
  IntervalSet set;
  for (int step = 0; step < 12; ++step) {
    const std::uint64_t first = random() % 40;
    const std::uint64_t end = first + random() % 8;
    if (random() % 3 != 0) {
      set.insert(first, end);
      for (auto n = first; n < end; ++n) model.insert(n);
    } else {
      set.erase(first, end);
      for (auto n = first; n < end; ++n) model.erase(n);
    }
  }
  return set;
}

TEST(IntervalSet, AgreesWithAPlainSetForRandomOperations) {
  std::mt19937 random(20240607);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 2000; ++trial) {
    SCOPED_TRACE(trial);
    std::set<std::uint64_t> a_model, b_model;
    const IntervalSet a = random_set(random, a_model);
    const IntervalSet b = random_set(random, b_model);

    std::set<std::uint64_t> both, only_a;
    for (const auto n : a_model) (b_model.contains(n) ? both : only_a).insert(n);
    EXPECT_EQ(a.count(), a_model.size());
    EXPECT_EQ(a.intersects(b), !both.empty());
    EXPECT_EQ(a.contains(b), both == b_model);
    const IntervalSet common = a.intersection(b);
    const IntervalSet rest = a.difference(b);
    for (std::uint64_t n = 0; n < 50; ++n) {
      EXPECT_EQ(a.contains(n), a_model.contains(n)) << n;
      EXPECT_EQ(a.count_below(n),
                static_cast<std::size_t>(std::distance(a_model.begin(), a_model.lower_bound(n))))
          << n;
      EXPECT_EQ(common.contains(n), both.contains(n)) << n;
      EXPECT_EQ(rest.contains(n), only_a.contains(n)) << n;
    }
    for (std::size_t i = 0; i + 1 < a.intervals().size(); ++i) {
      EXPECT_LT(a.intervals()[i].end, a.intervals()[i + 1].first) << "intervals touch";
    }
  }
}

}  // namespace
}  // namespace xylem
