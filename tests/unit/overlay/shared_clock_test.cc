#include "overlay/shared_clock.h"

#include <gtest/gtest.h>

namespace xylem::overlay {
namespace {

constexpr ClockEstimate kMeasured{
    .known = true, .offset_ns = 700, .error_ns = 800, .round_trip_ns = 90};

TEST(SharedClock, MeasuredOffsetsAddUpOnTheWayToTheFrontEnd) {
  const ClockEstimate estimate =
      root_estimate(kMeasured, {.own = 1, .peer = 2, .root = 3}, 1000, 30);
  EXPECT_TRUE(estimate.known);
  EXPECT_EQ(estimate.offset_ns, 1700);
  EXPECT_EQ(estimate.error_ns, 830);
  EXPECT_EQ(estimate.round_trip_ns, 90);
}

TEST(SharedClock, TheFrontEndsOwnClockHasNoOffset) {
  for (const std::uint64_t peer : {1u, 2u, 0u}) {
    const ClockEstimate estimate =
        root_estimate(kMeasured, {.own = 1, .peer = peer, .root = 1}, 0, -1);
    EXPECT_TRUE(estimate.known) << "even before the parent knows its offset";
    EXPECT_EQ(estimate.offset_ns, 0);
    EXPECT_EQ(estimate.error_ns, 0);
    EXPECT_EQ(estimate.round_trip_ns, 90) << "the way is still measured";
  }
}

TEST(SharedClock, TheParentsClockHasTheParentsOffset) {
  const ClockEstimate estimate =
      root_estimate(kMeasured, {.own = 2, .peer = 2, .root = 3}, 1000, 30);
  EXPECT_EQ(estimate.offset_ns, 1000);
  EXPECT_EQ(estimate.error_ns, 30);
  EXPECT_FALSE(root_estimate(kMeasured, {.own = 2, .peer = 2, .root = 3}, 0, -1).known);
}

// As two virtual machines that were resumed from one image, an hour apart.
TEST(SharedClock, AMeasurementThatExcludesItIsBelievedRatherThanEqualIdentities) {
  const ClockEstimate apart{.known = true, .offset_ns = 3600 * kSecond, .error_ns = 800};
  EXPECT_EQ(root_estimate(apart, {.own = 1, .peer = 1, .root = 1}, 0, 0).offset_ns, 3600 * kSecond);
  EXPECT_EQ(root_estimate(apart, {.own = 2, .peer = 2, .root = 3}, 1000, 30).offset_ns,
            3600 * kSecond + 1000);
  // The way to the front end by another host: one link excludes nothing, both together do.
  const ClockEstimate estimate =
      root_estimate(kMeasured, {.own = 1, .peer = 2, .root = 1}, 3600 * kSecond, 30);
  EXPECT_EQ(estimate.offset_ns, 3600 * kSecond + 700);
  EXPECT_EQ(estimate.error_ns, 830);
}

TEST(SharedClock, UnknownClocksAreNotTheSame) {
  EXPECT_EQ(root_estimate(kMeasured, {}, 0, 0).offset_ns, 700);
  EXPECT_FALSE(root_estimate({}, {}, 0, 0).known);
}

}  // namespace
}  // namespace xylem::overlay
