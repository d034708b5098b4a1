#include "backend/leaf/tick_clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "backend/leaf/run_clock.h"

namespace xylem::backend {
namespace {

TEST(TickClock, PassesMonotonicTimesThrough) {
  const TickClock clock;
  EXPECT_EQ(record_time(clock, capture::ClockKind::kMonotonic, 123'456), 123'456);
  EXPECT_GT(record_time(clock, capture::ClockKind::kMonotonic, ~0ull), 0) << "overflowed";
}

TEST(TickClock, NeedsTwoPairsThatAreApart) {
  TickClock clock;
  clock.add({1000, 0, 10});
  clock.add({1001, 1, 10});
  EXPECT_FALSE(clock.is_ready());
  clock.add({1000 + 60'000'000, 20 * kMillisecond, 10});
  EXPECT_TRUE(clock.is_ready());
}

TEST(TickClock, LeadsAStraightLineThroughExactPairs) {
  TickClock clock;
  clock.add({0, 1'000'000'000, 0});
  clock.add({300'000'000, 1'100'000'000, 0});  // 3 ticks a ns
  EXPECT_EQ(clock.to_monotonic(150'000'000), 1'050'000'000);
  EXPECT_EQ(clock.to_monotonic(330'000'000), 1'110'000'000);
}

TEST(TickClock, AnyTicksGiveSomeTime) {
  TickClock clock;
  clock.add({1'000'000, 0, 0});
  clock.add({61'000'000, 20 * kMillisecond, 0});
  for (const std::uint64_t ticks : {0ull, 1ull, ~0ull, 1ull << 63})
    std::ignore = clock.to_monotonic(ticks);
}

// A true clock whose rate the kernel bends by up to 500 ppm; pairs are off by up to 50 ns.
TEST(TickClock, KeepsItsErrorBoundAndNeverStepsBackNorChangesThePast) {
  const unsigned seed = 42;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  for (int trial = 0; trial < 20; ++trial) {
    const double ticks_per_ns = 1 + static_cast<double>(random() % 3000) / 1000;
    const auto truth = [&](Nanos ns) {  // Ticks at a monotonic time: bent by a slow sine.
      const double t = static_cast<double>(ns);
      return static_cast<std::uint64_t>(ticks_per_ns * (t + 1e5 * std::sin(t / 2e10)) + 1e12);
    };
    TickClock clock;
    Nanos last = 0;
    std::vector<std::pair<std::uint64_t, Nanos>> seen_before;
    for (Nanos now = kSecond; now < 30 * kSecond; now += 7 * kMillisecond) {
      const auto error = static_cast<Nanos>(random() % 101) - 50;
      clock.add({truth(now), now + error, 50});
      if (!clock.is_ready()) continue;
      const Nanos seen = clock.to_monotonic(truth(now));
      EXPECT_NEAR(static_cast<double>(seen), static_cast<double>(now),
                  static_cast<double>(clock.error_ns()) + 10'000);
      EXPECT_GE(seen, last) << "stepped back";
      last = seen;
      seen_before.emplace_back(truth(now), seen);
    }
    for (const auto& [ticks, seen] : seen_before) {
      ASSERT_EQ(clock.to_monotonic(ticks), seen) << "a time has changed";
    }
  }
}

// An agent reads a pair each 250 ms, and each second while it sleeps. It may be late.
TEST(TickClock, DoesNotSwingWhenPairsAreFarApart) {
  const unsigned seed = 44;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  TickClock clock;
  Nanos now = kSecond;
  const auto pass = [&](Nanos duration, Nanos pause) {
    for (const Nanos end = now + duration; now < end;) {
      now += pause + static_cast<Nanos>(random() % (pause / 8));
      const auto error = static_cast<Nanos>(random() % 101) - 50;
      const auto ticks = static_cast<std::uint64_t>(2 * now);
      if (clock.is_ready()) {
        EXPECT_NEAR(static_cast<double>(clock.to_monotonic(ticks)), static_cast<double>(now), 2000);
      }
      clock.add({ticks, now + error, 50});
    }
  };
  for (int sleeps = 0; sleeps < 20; ++sleeps) {
    pass(2 * kSecond, TickClock::kPiece);
    pass(static_cast<Nanos>(random() % 100) * kSecond, kSecond);
  }
}

TEST(TickReader, TellsTheSameTimesAsTheClockWhateverTheTicks) {
  const unsigned seed = 43;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  for (const std::uint64_t start : {0ull, 1'000'000'000ull, 1ull << 63, ~0ull - 30'000'000'000}) {
    TickClock clock;
    TickPair pair{start, kSecond, 30};
    for (int i = 0; i < 20; ++i) {
      clock.add(pair);
      pair.ticks += 600'000'000 + random() % 10'000'000;
      pair.monotonic_ns += TickClock::kPiece + static_cast<Nanos>(random() % kMillisecond);
    }
    TickReader reader(clock, capture::ClockKind::kTsc);
    std::uint64_t ticks = start;
    for (int i = 0; i < 20'000; ++i) {
      ticks += random() % 2'000'000;
      if (random() % 64 == 0)
        ticks = random() >> random() % 64;  // A hostile record, or a late one.
      EXPECT_EQ(reader(ticks), clock.to_monotonic(ticks)) << ticks;
      if (random() % 64 == 0) ticks = start + random() % 14'000'000'000;
    }
  }
}

TEST(TickClock, ForgetsAnErrorOfAPairWithinAPiece) {
  TickClock clock;
  clock.add({0, kSecond, 0});
  clock.add({1'000'000'000, 2 * kSecond, 0});
  clock.add({2'000'000'000, 3 * kSecond + 80, 80});  // 80 ns late.
  EXPECT_EQ(clock.to_monotonic(2'000'000'000), 3 * kSecond) << "no step";
  clock.add({3'000'000'000, 4 * kSecond, 0});
  clock.add({4'000'000'000, 5 * kSecond, 0});
  EXPECT_NEAR(static_cast<double>(clock.to_monotonic(4'250'000'000)), 5.25e9, 100);
}

TEST(TickClock, StepsForwardWhenTheHostHasSlept) {
  TickClock clock;
  clock.add({0, kSecond, 0});
  clock.add({1'000'000'000, 2 * kSecond, 0});
  clock.add({1'500'000'000, 9 * kSecond, 0});
  EXPECT_EQ(clock.to_monotonic(1'500'000'000), 9 * kSecond);
  EXPECT_EQ(clock.to_monotonic(1'250'000'000), 2 * kSecond + kSecond / 4);
}

// The window of a call and its event are converted a second apart. MPI_Init may have begun before
// the agent's first pair.
TEST(TickClock, TimesBeforeTheFirstPairNeverChange) {
  std::mt19937_64 random(11);
  TickClock clock;
  const Nanos start = 1000 * kSecond;
  const auto add = [&](Nanos now) {
    clock.add({static_cast<std::uint64_t>(3 * now), now + static_cast<Nanos>(random() % 100), 50});
  };
  add(start);
  add(start + TickClock::kFirstPiece + kMillisecond);
  std::vector<std::uint64_t> early;
  std::vector<Nanos> times;
  for (const Nanos before : {Nanos{1}, kMillisecond, kSecond, 600 * kSecond}) {
    early.push_back(static_cast<std::uint64_t>(3 * (start - before)));
    times.push_back(clock.to_monotonic(early.back()));
  }
  for (int pair = 1; pair < 200; ++pair) {
    add(start + pair * (TickClock::kPiece + kMillisecond));
    const TickClock successor = tick_clock_of(memo_of(clock, RunClock()));
    for (std::size_t i = 0; i < early.size(); ++i) {
      ASSERT_EQ(clock.to_monotonic(early[i]), times[i]) << pair;
      if (clock.pieces().size() > ClockMemo::kPieces) continue;
      ASSERT_EQ(successor.to_monotonic(early[i]), times[i]) << pair;
    }
  }
}

// The oldest piece may make up for an error, with double the usual rate.
TEST(TickClock, OlderTimesAreConvertedWithTheUsualRate) {
  TickClock clock;
  Nanos now = 1000 * kSecond;
  for (int i = 0; i < 20; ++i, now += TickClock::kPiece) {
    const Nanos late = i < 4 ? 0 : 400 * kMillisecond;  // A step of the host's clock.
    clock.add({static_cast<std::uint64_t>(now), now + late, 0});
  }
  const std::vector<TickPiece> all(clock.pieces().begin(), clock.pieces().end());
  for (std::size_t first = 0; first + 2 < all.size(); ++first) {
    const TickClock successor(std::span<const TickPiece>(all).subspan(first), clock.last_pair(), 0);
    const TickPiece& oldest = all[first];
    const Nanos error = oldest.ns - static_cast<Nanos>(oldest.ticks);
    TickReader reader(successor, capture::ClockKind::kTsc);
    for (const Nanos before : {1 * kSecond, 600 * kSecond}) {
      const std::uint64_t ticks = oldest.ticks - static_cast<std::uint64_t>(before);
      EXPECT_EQ(successor.to_monotonic(ticks), static_cast<Nanos>(ticks) + error);
      EXPECT_EQ(reader(ticks), successor.to_monotonic(ticks));
    }
  }
}

TEST(TickReader, PassesMonotonicTimesThroughWithoutAClock) {
  const TickClock clock;
  TickReader reader(clock, capture::ClockKind::kMonotonic);
  EXPECT_EQ(reader(123'456), 123'456);
  EXPECT_EQ(reader(~0ull), record_time(clock, capture::ClockKind::kMonotonic, ~0ull));
}

TEST(TickClock, RealPairsAgreeWithTheRealClock) {
  TickClock clock;
  clock.add(read_tick_pair());
  // A condition with a deadline: two pairs 20 ms apart.
  const Nanos deadline = monotonic_now() + 10 * kSecond;
  while (!clock.is_ready() && monotonic_now() < deadline) clock.add(read_tick_pair());
  ASSERT_TRUE(clock.is_ready());
  const TickPair pair = read_tick_pair();
  EXPECT_NEAR(static_cast<double>(clock.to_monotonic(pair.ticks)),
              static_cast<double>(pair.monotonic_ns),
              static_cast<double>(clock.error_ns() + pair.error_ns) + 5'000);
}

}  // namespace
}  // namespace xylem::backend
