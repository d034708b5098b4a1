#include "base/waiters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

namespace xylem {
namespace {

constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

/// Notes how it was tried, and is answered when `answer` says so.
struct Tried {
  bool answer = false;
  std::vector<bool> last;

  Waiters::Attempt attempt() {
    return [this](bool is_last) {
      last.push_back(is_last);
      return answer;
    };
  }
};

TEST(Waiters, AreTriedUntilTheyAreAnswered) {
  Waiters waiters;
  Tried first, second;
  waiters.add(100, first.attempt());
  waiters.add(100, second.attempt());
  waiters.try_all(1);
  first.answer = true;
  waiters.try_all(2);
  waiters.try_all(3);
  EXPECT_EQ(first.last, (std::vector{false, false}));
  EXPECT_EQ(second.last, (std::vector{false, false, false}));
}

TEST(Waiters, AreTriedForTheLastTimeAtTheirDeadline) {
  Waiters waiters;
  Tried soon, later, never;
  waiters.add(100, soon.attempt());
  waiters.add(200, later.attempt());
  waiters.add(kNever, never.attempt());
  waiters.try_all(100);
  waiters.try_all(kNever - 1);
  EXPECT_EQ(soon.last, (std::vector{true}));
  EXPECT_EQ(later.last, (std::vector{false, true}));
  EXPECT_EQ(never.last, (std::vector{false, false}));
  EXPECT_FALSE(waiters.empty());
}

TEST(Waiters, KeepNothingOfWhoWasAnswered) {
  Waiters waiters;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  waiters.add(kNever, [held = std::move(held)](bool) { return true; });
  EXPECT_FALSE(seen.expired());
  waiters.try_all(1);
  EXPECT_TRUE(seen.expired());
  EXPECT_TRUE(waiters.empty());
}

// A coroutine that goes on asks for the next.
TEST(Waiters, MayBeAddedToWhileTheyAreTried) {
  Waiters waiters;
  Tried next;
  waiters.add(100, [&](bool) {
    waiters.add(200, next.attempt());
    return true;
  });
  waiters.try_all(1);
  EXPECT_TRUE(next.last.empty());
  waiters.try_all(2);
  EXPECT_EQ(next.last.size(), 1u);
}

TEST(Waiters, NeedNoTimerWhereNobodyWaitsOrForEver) {
  Waiters waiters;
  EXPECT_FALSE(waiters.next_timer());
  waiters.add(kNever, [](bool) { return false; });
  EXPECT_FALSE(waiters.next_timer());
}

// Each call of a loop that receives waits anew, and is answered long before its time-out.
TEST(Waiters, NeedOneTimerForAnyNumberOfCalls) {
  Waiters waiters;
  std::size_t timers = 0;
  for (Nanos now = 0; now < 1000; ++now) {
    waiters.add(now + 3600 * kSecond, [](bool) { return true; });
    timers += waiters.next_timer().has_value();
    waiters.try_all(now);
  }
  EXPECT_EQ(timers, 1u);
}

TEST(Waiters, NeedAnotherTimerWhenTheOneThatEndedWasNotTheirs) {
  Waiters waiters;
  waiters.add(100, [](bool) { return true; });
  EXPECT_EQ(waiters.next_timer(), 100);
  waiters.try_all(50);
  Tried later;
  waiters.add(150, later.attempt());
  EXPECT_FALSE(waiters.next_timer()) << "one ends before";
  waiters.timer_ended(100);
  waiters.try_all(100);
  EXPECT_EQ(waiters.next_timer(), 150);
  waiters.timer_ended(150);
  waiters.try_all(150);
  EXPECT_EQ(later.last, (std::vector{false, true}));
  EXPECT_FALSE(waiters.next_timer());
}

TEST(Waiters, NeedAnotherTimerForAnEarlierDeadlineAndNoneTwice) {
  Waiters waiters;
  Tried hour;
  waiters.add(3600, hour.attempt());
  EXPECT_EQ(waiters.next_timer(), 3600);
  for (Nanos now = 0; now < 100; now += 10) {
    waiters.add(now + 10, [](bool) { return false; });
    EXPECT_EQ(waiters.next_timer(), now + 10);
    waiters.timer_ended(now + 10);
    waiters.try_all(now + 10);
    EXPECT_FALSE(waiters.next_timer()) << "that for the hour is under way";
  }
}

TEST(Waiters, AreTriedForTheLastTimeAtTheEnd) {
  Waiters waiters;
  Tried waiting, late;
  waiters.add(kNever, waiting.attempt());
  waiters.end();
  EXPECT_EQ(waiting.last, (std::vector{true}));
  EXPECT_TRUE(waiters.empty());
  waiters.add(kNever, late.attempt());
  EXPECT_EQ(late.last, (std::vector{true})) << "at once: no event will come";
  EXPECT_TRUE(waiters.empty());
}

// The loop tries while the program's threads add.
TEST(Waiters, AreAllTriedWhicheverThreadAddsThem) {
  constexpr int kEach = 1000;
  Waiters waiters;
  std::atomic<int> answered = 0;
  std::atomic<bool> over = false;
  std::thread loop([&] {
    while (!over) waiters.try_all(1);
    waiters.try_all(1);
  });
  std::vector<std::thread> programs;
  for (int i = 0; i < 3; ++i) {
    programs.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) waiters.add(kNever, [&](bool) { return ++answered, true; });
    });
  }
  for (std::thread& program : programs) program.join();
  over = true;
  loop.join();
  EXPECT_EQ(answered, 3 * kEach);
  EXPECT_TRUE(waiters.empty());
}

}  // namespace
}  // namespace xylem
