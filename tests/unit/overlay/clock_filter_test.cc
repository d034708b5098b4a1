#include "overlay/clock_filter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace xylem::overlay {
namespace {

TEST(ClockFilter, KnowsNothingBeforeTheFirstPair) { EXPECT_FALSE(ClockFilter().estimate(0).known); }

TEST(ClockFilter, IsExactWhenBothWaysTakeEqualTime) {
  ClockFilter filter;
  filter.add(1000, 5000 + 1100, 5000 + 1150, 1250);  // Parent is 5000 ahead, 100 each way.
  const ClockEstimate estimate = filter.estimate(1250);
  EXPECT_TRUE(estimate.known);
  EXPECT_EQ(estimate.offset_ns, 5000);
  EXPECT_EQ(estimate.round_trip_ns, 200);
  EXPECT_EQ(estimate.error_ns, 101);
}

TEST(ClockFilter, IgnoresTimesThatRunBackwards) {
  ClockFilter filter;
  filter.add(1000, 2000, 1999, 3000);
  filter.add(1000, 2000, 2001, 999);
  EXPECT_FALSE(filter.estimate(3000).known);
}

TEST(ClockFilter, PrefersTheShortestRoundTripAndTrustsItLessWithAge) {
  ClockFilter filter;
  filter.add(0, 7100, 7100, 200);  // Round trip 200.
  filter.add(kSecond, kSecond + 17000, kSecond + 17000, kSecond + 20000);
  EXPECT_EQ(filter.estimate(kSecond + 20000).offset_ns, 7000);
  const Nanos young = filter.estimate(200).error_ns;
  const Nanos old = filter.estimate(200 + kSecond / 10).error_ns;
  EXPECT_EQ(old - young, kMaxDriftPerSecond / 10);
}

TEST(ClockFilter, TheBoundHoldsForRandomDelaysAndDrift) {
  std::mt19937_64 random(20240607);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 500; ++trial) {
    SCOPED_TRACE(trial);
    const Nanos offset = static_cast<Nanos>(random() % 2'000'000'000) - kSecond;
    const double drift = (static_cast<double>(random() % 80) - 40) * 1e-6;
    const auto parent = [&](Nanos child) {
      return child + offset + static_cast<Nanos>(static_cast<double>(child) * drift);
    };
    ClockFilter filter;
    Nanos now = 0;
    for (int i = 0; i < 40; ++i) {
      now += static_cast<Nanos>(random() % kSecond);
      const Nanos there = static_cast<Nanos>(random() % 1'000'000);
      const Nanos back = static_cast<Nanos>(random() % 1'000'000);
      filter.add(now, parent(now + there), parent(now + there), now + there + back);
      now += there + back;
      const ClockEstimate estimate = filter.estimate(now);
      EXPECT_LE(std::abs(now + estimate.offset_ns - parent(now)), estimate.error_ns);
    }
  }
}

}  // namespace
}  // namespace xylem::overlay
