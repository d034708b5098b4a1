// The calls that coroutines await, at both ends of a tree.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <limits>
#include <vector>

#include "tests/support/task.h"
#include "tests/support/tool_tree.h"

namespace xylem {
namespace {

using TreeApiCoroutineTest = testing::ToolTreeTest;
using testing::kPatience;
using testing::Task;

Task receive_waves(frontend::Stream stream, int count, std::promise<std::int64_t>* sum) {
  std::int64_t total = 0;
  for (int i = 0; i < count; ++i) {
    const auto wave = co_await stream.async_receive(kPatience);
    if (!wave) break;
    total += *wave->fields.get<std::int64_t>(1);
  }
  sum->set_value(total);
}

Task answer(backend::LeafStream stream, int count) {
  for (int i = 0; i < count; ++i) {
    const auto question = co_await stream.async_receive(kPatience);
    if (!question) co_return;
    EXPECT_TRUE(stream.send_wave(question->number, question->fields));
  }
}

TEST_F(TreeApiCoroutineTest, AsksAndAnswersWithoutAThreadOfTheProgram) {
  start(3);
  auto ask = open({.name = "ask", .aggregation = "sum"});
  std::promise<std::int64_t> sum;
  std::future<std::int64_t> done = sum.get_future();
  Task receiver = receive_waves(ask, 100, &sum);
  Task first = answer(stream_of(0, "ask"), 100);
  Task second = answer(stream_of(1, "ask"), 100);
  Task third = answer(stream_of(2, "ask"), 100);
  for (std::int64_t i = 1; i <= 100; ++i) ASSERT_TRUE(ask.multicast({{1, i}}));
  EXPECT_EQ(done.get(), 3 * 5050);
  for (const Task* task : {&receiver, &first, &second, &third}) task->wait();
  tree_->close(kPatience).value();
}

Task store_receive(frontend::Stream stream, Nanos timeout, std::promise<Code>* code) {
  const auto outcome = co_await stream.async_receive(timeout);
  code->set_value(outcome ? Code::kInternal : outcome.error().code);
}

Task store_receive(backend::LeafStream stream, Nanos timeout, std::promise<Code>* code) {
  const auto outcome = co_await stream.async_receive(timeout);
  code->set_value(outcome ? Code::kInternal : outcome.error().code);
}

Task store_event(frontend::Tree* tree, Nanos timeout, std::promise<Code>* code) {
  for (;;) {
    const auto outcome = co_await tree->async_next_event(timeout);
    if (outcome) continue;
    code->set_value(outcome.error().code);
    co_return;
  }
}

TEST_F(TreeApiCoroutineTest, TellsATimeOutAtBothEnds) {
  start(1);
  auto raw = open({.name = "raw"});
  std::promise<Code> above, below, events;
  Task at_root = store_receive(raw, kMillisecond, &above);
  Task at_leaf = store_receive(stream_of(0, "raw"), kMillisecond, &below);
  Task of_tree = store_event(tree_.get(), kMillisecond, &events);
  EXPECT_EQ(above.get_future().get(), Code::kTimedOut);
  EXPECT_EQ(below.get_future().get(), Code::kTimedOut);
  EXPECT_EQ(events.get_future().get(), Code::kTimedOut);
  for (const Task* task : {&at_root, &at_leaf, &of_tree}) task->wait();
}

TEST_F(TreeApiCoroutineTest, ResumesWhoWaitsWhenTheTreeIsClosed) {
  start(1);
  auto raw = open({.name = "raw"});
  std::promise<Code> above, below, events;
  Task at_root = store_receive(raw, kPatience, &above);
  Task at_leaf = store_receive(stream_of(0, "raw"), kPatience, &below);
  Task of_tree = store_event(tree_.get(), kPatience, &events);
  EXPECT_TRUE(tree_->close(kPatience));
  EXPECT_EQ(above.get_future().get(), Code::kUnavailable);
  EXPECT_EQ(below.get_future().get(), Code::kUnavailable);
  EXPECT_EQ(events.get_future().get(), Code::kUnavailable);
  for (const Task* task : {&at_root, &at_leaf, &of_tree}) task->wait();
}

TEST_F(TreeApiCoroutineTest, AnswersAtOnceWhenTheTreeWasClosedBefore) {
  start(1);
  auto raw = open({.name = "raw"});
  auto leaf = stream_of(0, "raw");
  tree_->close(kPatience).value();
  leaves_[0]->wait_until_closed(kPatience).value();
  std::promise<Code> above, below, events;
  Task at_root = store_receive(raw, kPatience, &above);
  Task at_leaf = store_receive(leaf, kPatience, &below);
  Task of_tree = store_event(tree_.get(), kPatience, &events);
  EXPECT_TRUE(at_root.has_ended());
  EXPECT_TRUE(at_leaf.has_ended());
  EXPECT_TRUE(of_tree.has_ended());
}

// What a coroutine that was destroyed waited for goes to the next who asks.
TEST_F(TreeApiCoroutineTest, LosesNothingToACoroutineThatWasDestroyed) {
  start(1);
  auto ask = open({.name = "ask"});
  auto leaf = stream_of(0, "ask");
  std::promise<Code> above, below;
  { Task at_root = store_receive(ask, kPatience, &above); }
  { Task at_leaf = store_receive(leaf, kPatience, &below); }
  ASSERT_TRUE(ask.multicast({{1, std::int64_t{5}}}));
  const auto question = leaf.receive(kPatience);
  ASSERT_TRUE(question) << question.error().message;
  ASSERT_TRUE(leaf.send(question->fields));
  const auto wave = ask.receive(kPatience);
  ASSERT_TRUE(wave) << wave.error().message;
  EXPECT_EQ(*wave->fields.get<std::int64_t>(1), 5);
}

TEST_F(TreeApiCoroutineTest, ReceivesALongQueueWithoutADeepStack) {
  start(1);
  auto ask = open({.name = "ask"});
  auto leaf = stream_of(0, "ask");
  constexpr int kMany = 20'000;
  for (int i = 0; i < kMany; ++i) ASSERT_TRUE(ask.multicast({}));
  // All are there when one that was sent later on another stream is.
  open({.name = "last"}).multicast({}).value();
  ASSERT_TRUE(stream_of(0, "last").receive(kPatience));
  std::atomic<int> received = 0;
  const auto receive_all = [](backend::LeafStream from, std::atomic<int>* count) -> Task {
    for (int i = 0; i < kMany; ++i) {
      const auto one = co_await from.async_receive(kPatience);
      if (!one) co_return;
      ++*count;
    }
  };
  Task receiver = receive_all(leaf, &received);
  EXPECT_EQ(received, kMany) << "they were there: no other thread was needed";
}

Task wait_within(frontend::Stream stream, std::promise<Code>* code) {
  const auto wave = co_await stream.async_receive(kPatience);
  EXPECT_TRUE(wave);
  const auto next = stream.receive(kPatience);  // On the library's thread.
  code->set_value(next ? Code::kInternal : next.error().code);
}

TEST_F(TreeApiCoroutineTest, DoesNotWaitOnTheLibrarysThread) {
  start(1);
  auto raw = open({.name = "raw"});
  std::promise<Code> code;
  Task task = wait_within(raw, &code);
  ASSERT_TRUE(stream_of(0, "raw").send({{1, std::int64_t{1}}}));
  EXPECT_EQ(code.get_future().get(), Code::kTimedOut);
  task.wait();
}

TEST_F(TreeApiCoroutineTest, WaitsForEverWithTheLargestTimeOut) {
  start(1);
  auto raw = open({.name = "raw"});
  std::promise<Code> forever, shortly;
  Task patient = store_receive(raw, std::numeric_limits<Nanos>::max(), &forever);
  Task other = store_receive(open({.name = "other"}), kMillisecond, &shortly);
  EXPECT_EQ(shortly.get_future().get(), Code::kTimedOut);
  EXPECT_FALSE(patient.has_ended());
  ASSERT_TRUE(stream_of(0, "raw").send({{1, std::int64_t{1}}}));
  EXPECT_EQ(forever.get_future().get(), Code::kInternal) << "it received";
  patient.wait();
  other.wait();
}

}  // namespace
}  // namespace xylem
