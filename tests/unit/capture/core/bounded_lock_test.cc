#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <new>
#include <thread>
#include <vector>

#include "capture/core/bounded_lock_internal.h"

namespace xylem::capture {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

TEST(BoundedLockTest, LetsOneThreadInAtATime) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  LockState state{};
  int count = 0;
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kRounds; ++i) {
          if (const BoundedLock lock(state); lock) {
            ++count;
          } else {
            ++failures;
          }
        }
      });
    }
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(count, kThreads * kRounds);
}

TEST(BoundedLockTest, WaitsForAHolderThatHasNoProcessorForAWhile) {
  LockState state{};
  std::atomic<bool> has_begun{false};
  std::jthread holder([&] {
    const BoundedLock lock(state);
    has_begun = true;
    // The length of the pause is what is tested.
    const Clock::time_point end = Clock::now() + milliseconds(200);
    while (Clock::now() < end) std::this_thread::yield();
  });
  while (!has_begun) std::this_thread::yield();
  EXPECT_TRUE(BoundedLock(state));
}

TEST(BoundedLockTest, WaitsOnlyOnceForAHolderThatNeverReleases) {
  LockState state{};
  alignas(BoundedLock) std::byte place[sizeof(BoundedLock)];
  auto* const lost = new (place) BoundedLock(state);  // As if left by a jump.
  ASSERT_TRUE(*lost);
  const Clock::time_point before = Clock::now();
  EXPECT_FALSE(BoundedLock(state));
  const Clock::duration first = Clock::now() - before;
  EXPECT_GE(first, milliseconds(900));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(BoundedLock(state));
  EXPECT_LT(Clock::now() - before, 2 * first);

  lost->~BoundedLock();  // It has come back.
  EXPECT_TRUE(BoundedLock(state));
  EXPECT_TRUE(BoundedLock(state));
}

}  // namespace
}  // namespace xylem::capture
