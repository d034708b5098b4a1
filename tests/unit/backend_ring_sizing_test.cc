#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>

#include "backend/ring_sizing.h"

namespace xylem::backend {
namespace {

constexpr std::uint32_t kFirst = 1u << 14;
constexpr Nanos kInterval = 20 * kMillisecond;
constexpr Nanos kNoBurst = 0;

TEST(RingSizing, AQuietRingStaysAsItIs) {
  EXPECT_EQ(wanted_capacity({kFirst, 0, kSecond}, kInterval, 125 * kMillisecond), kFirst);
}

TEST(RingSizing, ALookAtASteadyRateFindsAtMostAQuarter) {
  // A million a second: 20,000 between two looks.
  EXPECT_EQ(wanted_capacity({kFirst, 10'000, 10 * kMillisecond}, kInterval, kNoBurst), 1u << 17);
  // Ten thousand a second need no more than the ring has.
  EXPECT_EQ(wanted_capacity({kFirst, 1'000, 100 * kMillisecond}, kInterval, kNoBurst), kFirst);
}

TEST(RingSizing, ARingInUseTakesABurstUntilTheNextLook) {
  EXPECT_EQ(wanted_capacity({kFirst, 1, kSecond}, kInterval, 125 * kMillisecond), 1u << 17);
}

TEST(RingSizing, KeepsItsPromisesForAnyUse) {
  const unsigned seed = 20240612;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  for (int trial = 0; trial < 10'000; ++trial) {
    const std::uint32_t capacity = 1u << (random() % 23);
    const RingUse use{capacity, random() >> random() % 64,
                      static_cast<Nanos>(random() >> (1 + random() % 63))};
    const std::uint32_t wanted = wanted_capacity(use, kInterval, kNoBurst);
    EXPECT_TRUE(std::has_single_bit(wanted));
    EXPECT_GE(wanted, capacity);
    EXPECT_LE(wanted, std::max(capacity, kMaxGrownRing));
    if (wanted >= kMaxGrownRing || use.passed == 0) continue;
    const double found = static_cast<double>(use.came) / static_cast<double>(use.passed) *
                         static_cast<double>(kInterval);
    EXPECT_LE(found, wanted / 4.0 * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace xylem::backend
