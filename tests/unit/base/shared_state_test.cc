#include "base/shared_state.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace xylem {
namespace {

TEST(SharedState, WaitsUntilAnotherThreadChangesIt) {
  SharedState<int> shared(0);
  std::thread other([&] {
    const auto state = shared.lock();
    *state = 1;
    state.notify();
  });
  auto state = shared.lock();
  EXPECT_TRUE(state.wait_until(kForever, [&] { return *state == 1; }));
  state.unlock();
  other.join();
}

TEST(SharedState, GivesUpAtTheDeadlineAndLooksOnceMore) {
  SharedState<int> shared(0);
  auto state = shared.lock();
  int looks = 0;
  EXPECT_FALSE(state.wait_until(monotonic_now(), [&] { return ++looks == 3; }));
  EXPECT_GE(looks, 1);
  EXPECT_TRUE(static_cast<bool>(state)) << "it is locked again";
}

TEST(SharedState, IsOneThreadsAtATime) {
  SharedState<int> shared(7);
  const auto ask = [&shared] {
    bool got = false;
    std::thread([&] { got = static_cast<bool>(shared.try_lock()); }).join();
    return got;
  };
  auto state = shared.lock();
  EXPECT_FALSE(ask());
  state.unlock();
  EXPECT_TRUE(ask());
  state.lock();
  EXPECT_FALSE(ask());
  EXPECT_EQ(*state, 7);
}

TEST(SharedState, HoldsWhatCannotBeMoved) {
  const SharedState<std::atomic<int>> shared(3);
  EXPECT_EQ(shared.lock()->load(), 3);
}

}  // namespace
}  // namespace xylem
