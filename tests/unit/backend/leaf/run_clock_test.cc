#include "backend/leaf/run_clock.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace xylem::backend {
namespace {

TEST(RunClock, IsTheMonotonicTimeWithOffsetSinceTheEpoch) {
  RunClock clock;
  EXPECT_FALSE(clock.is_set());
  clock.follow(50 * kSecond, 7 * kSecond, 40 * kSecond);
  EXPECT_EQ(clock.to_run(50 * kSecond), 17 * kSecond);
  EXPECT_EQ(clock.to_run(10 * kSecond), 0) << "before the epoch";
}

TEST(RunClock, AHostWithTheFrontEndsClockIsExactForEver) {
  RunClock clock;
  for (Nanos now = kSecond; now < 100 * kSecond; now += 125 * kMillisecond) {
    clock.follow(now, 0, kSecond);
    ASSERT_EQ(clock.to_run(now), now - kSecond);
  }
}

TEST(RunClock, FollowsABetterOffsetWithoutChangingWhatWasRead) {
  RunClock clock;
  clock.follow(kSecond, 100'000, 0);
  const Nanos before = clock.to_run(2 * kSecond);
  clock.follow(2 * kSecond, 60'000, 0);
  EXPECT_EQ(clock.to_run(2 * kSecond), before);
  EXPECT_NEAR(static_cast<double>(clock.to_run(4 * kSecond)), 4e9 + 60'000, 1);
}

TEST(RunClock, ASuccessorConvertsAsItsPredecessorDid) {
  std::mt19937_64 random(11);
  RunClock clock;
  TickClock ticks;
  Nanos now = 5 * kSecond;
  Nanos offset = 1'000'000;
  for (int i = 0; i < 60; ++i, now += 300 * kMillisecond) {
    ticks.add({static_cast<std::uint64_t>(3 * now), now + static_cast<Nanos>(random() % 50), 50});
    offset += static_cast<Nanos>(random() % 20'000) - 10'000;
    clock.follow(now, offset, 0);
  }
  const ClockMemo memo = memo_of(ticks, clock);
  const RunClock successor(memo);
  const TickClock next_ticks = tick_clock_of(memo);
  for (Nanos at = now - kSecond; at < now + kSecond; at += kMillisecond) {
    ASSERT_EQ(successor.to_run(at), clock.to_run(at));
    const auto tick = static_cast<std::uint64_t>(3 * at);
    ASSERT_EQ(next_ticks.to_monotonic(tick), ticks.to_monotonic(tick));
  }
  EXPECT_EQ(next_ticks.next_pair(), ticks.next_pair());
}

TEST(RunClock, ADamagedMemoIsNotContinued) {
  RunClock good;
  good.follow(kSecond, 5, 0);
  TickClock ticks;
  ticks.add({100, kSecond, 0});
  ticks.add({30'000'100, kSecond + 20 * kMillisecond, 0});
  const ClockMemo memo = memo_of(ticks, good);
  ASSERT_TRUE(RunClock(memo).is_set());
  ASSERT_TRUE(tick_clock_of(memo).is_ready());
  ClockMemo damaged = memo;
  damaged.run[0].slope_off = std::numeric_limits<double>::quiet_NaN();
  damaged.ticks[0].ns_per_tick = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(RunClock(damaged).is_set());
  EXPECT_FALSE(tick_clock_of(damaged).is_ready());
  damaged = memo;
  damaged.run_pieces = damaged.tick_pieces = 0xffffffff;
  std::ignore = RunClock(damaged);
  std::ignore = tick_clock_of(damaged);
  EXPECT_FALSE(RunClock(ClockMemo{}).is_set());
}

}  // namespace
}  // namespace xylem::backend
