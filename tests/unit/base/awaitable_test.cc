#include "base/awaitable.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "tests/support/task.h"

namespace xylem {
namespace {

using testing::Task;

Awaitable<int> later(std::optional<Completion<int>>* where) {
  return Awaitable<int>([where](Completion<int> done) { where->emplace(std::move(done)); });
}

Task store(std::optional<Completion<int>>* operation, int* outcome) {
  *outcome = co_await later(operation);
}

TEST(Awaitable, GoesOnWhereTheOperationEnds) {
  std::optional<Completion<int>> operation;
  int outcome = 0;
  Task task = store(&operation, &outcome);
  EXPECT_EQ(outcome, 0);
  ASSERT_TRUE(operation->is_wanted());
  (*operation)(42);
  EXPECT_EQ(outcome, 42);
}

TEST(Awaitable, IsNotResumedWhenTheCoroutineWasDestroyed) {
  std::optional<Completion<int>> operation;
  int outcome = 0;
  { Task task = store(&operation, &outcome); }
  EXPECT_FALSE(operation->is_wanted());
  (*operation)(42);
  EXPECT_EQ(outcome, 0);
}

Task add_up_at_once(int times, std::int64_t* sum) {
  for (int i = 0; i < times; ++i) {
    *sum += co_await Awaitable<int>([i](Completion<int> done) { done(i); });
  }
}

TEST(Awaitable, NeedsNoStackForOperationsThatEndAtOnce) {
  std::int64_t sum = 0;
  Task task = add_up_at_once(1'000'000, &sum);
  EXPECT_TRUE(task.handle.done());
  EXPECT_EQ(sum, 499'999'500'000);
}

Task count(std::atomic<int>* seen, int times, std::vector<std::thread>* threads) {
  for (int i = 0; i < times; ++i) {
    *seen += co_await Awaitable<int>(
        [threads](Completion<int> done) { threads->emplace_back([done] { done(1); }); });
  }
}

TEST(Awaitable, LosesNoOutcomeThatComesWhileItBegins) {
  std::atomic<int> seen = 0;
  std::vector<std::thread> threads;
  threads.reserve(1000);
  Task task = count(&seen, 1000, &threads);
  for (std::size_t i = 0; i < 1000; ++i) threads[i].join();
  EXPECT_EQ(seen, 1000);
  EXPECT_TRUE(task.handle.done());
}

}  // namespace
}  // namespace xylem
