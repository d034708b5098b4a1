// What is bounded, given up, closed under a call that waits; and leaves without a thread.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "tests/support/task.h"
#include "tests/support/tool_tree.h"

namespace xylem {
namespace {

using TreeApiBoundsTest = testing::ToolTreeTest;
using backend::Threading;
using frontend::StreamAccount;
using frontend::TreeEvent;
using frontend::TreeOptions;
using frontend::WhenFull;
using testing::kPatience;
using testing::Task;

constexpr std::size_t kSmallJournal = 256u << 10;
constexpr std::size_t kSmallQueue = 64u << 10;

// A front end that keeps little and a leaf that keeps little.
class TightTreeTest : public TreeApiBoundsTest {
 protected:
  void SetUp() override {
    TreeOptions options;
    options.shape = "flat";
    options.queue_bytes = kSmallQueue;
    start(std::move(options), 1);
    backend::LeafOptions own = options_of("tight");
    own.journal_bytes = kSmallJournal;
    join(std::move(own));
    tree_->wait_for_leaves(2, kPatience).value();
    only_.insert(static_cast<std::uint64_t>(leaves_[1]->id()));
  }

  // Receives until nothing more is to come: everything is received or counted as lost.
  std::uint64_t drain(frontend::Stream& stream, std::uint64_t sent) {
    std::uint64_t received = 0;
    for (;;) {
      const StreamAccount account = stream.account();
      if (received + account.lost >= sent) return received;
      const auto wave = stream.receive(100 * kMillisecond);
      if (wave) ++received;
      EXPECT_TRUE(wave || wave.error().code == Code::kTimedOut);
    }
  }

  // Sends more than both ends keep, and receives, until something was lost: what was on its way
  // when its leaf gave it up may have arrived all the same.
  void lose_something(frontend::Stream& stream, backend::LeafStream& leaf) {
    std::uint64_t sent = 0, received = 0;
    for (int round = 0; round < 100 && stream.account().lost == 0; ++round) {
      for (int i = 0; i < 3000; ++i, ++sent) {
        ASSERT_TRUE(leaf.send({{1, std::string(1024, 'x')}}, kPatience));
      }
      received += drain(stream, sent - received);
    }
    EXPECT_EQ(stream.account().contributions, received);
    EXPECT_EQ(stream.account().contributions + stream.account().lost, sent);
    EXPECT_GT(stream.account().lost, 0u);
  }

  IntervalSet only_;
};

TEST_F(TightTreeTest, MakesALeafWaitWhenTheFrontEndDoesNotReceive) {
  auto raw = open({.name = "raw", .leaves = only_});
  auto leaf = stream_of(1, "raw");
  const std::string kilobyte(1024, 'x');
  std::uint64_t sent = 0;
  Result<void> outcome;
  while ((outcome = leaf.send({{1, kilobyte}}, 100 * kMillisecond))) ASSERT_LT(++sent, 100'000u);
  EXPECT_EQ(outcome.error().code, Code::kTimedOut) << outcome.error().message;
  EXPECT_EQ(leaf.flush(kMillisecond).error().code, Code::kTimedOut);
  EXPECT_EQ(drain(raw, sent), sent) << "what was taken over comes, what was refused does not";
  EXPECT_EQ(raw.account().contributions, sent);
  EXPECT_EQ(raw.account().lost, 0u);
  EXPECT_TRUE(leaf.flush(kPatience));
}

TEST_F(TightTreeTest, CountsWhatItDroppedOfTheOldestAsLost) {
  auto raw = open({.name = "raw", .leaves = only_, .when_full = WhenFull::kDropOldest});
  auto leaf = stream_of(1, "raw");
  lose_something(raw, leaf);
}

TEST_F(TightTreeTest, CountsWhatItDroppedOfTheNewestAsLost) {
  auto raw = open({.name = "raw", .leaves = only_, .when_full = WhenFull::kDropNewest});
  auto leaf = stream_of(1, "raw");
  lose_something(raw, leaf);
}

// Each wave that is given up needs a tombstone of its own here, and there is no room for so many.
TEST_F(TightTreeTest, NeverWaitsWhenTheNewestAreDropped) {
  auto raw = open({.name = "raw", .leaves = only_, .when_full = WhenFull::kDropNewest});
  auto leaf = stream_of(1, "raw");
  const std::string kilobyte(1024, 'x');
  constexpr std::uint64_t kSent = 20'000;
  for (std::uint64_t i = 0; i < kSent; ++i) {
    ASSERT_TRUE(leaf.send_wave(2 * i, {{1, kilobyte}}, kPatience)) << i;
  }
  const std::uint64_t received = drain(raw, kSent);
  EXPECT_EQ(received + raw.account().lost, kSent);
  EXPECT_GT(raw.account().lost, 0u);
  EXPECT_TRUE(leaf.flush(kPatience));
}

// Not even for the loop that puts waves into the journal: a program that sends must go on.
TEST_F(TightTreeTest, TakesEveryWaveAtOnceWhereItMayDrop) {
  for (const WhenFull policy : {WhenFull::kDropOldest, WhenFull::kDropNewest}) {
    SCOPED_TRACE(static_cast<int>(policy));
    auto raw = open({.name = "raw", .leaves = only_, .when_full = policy});
    auto leaf = stream_of(1, "raw");
    const std::string kilobyte(1024, 'x');
    constexpr std::uint64_t kSent = 20'000;
    for (std::uint64_t i = 0; i < kSent; ++i) ASSERT_TRUE(leaf.send({{1, kilobyte}}, 0)) << i;
    EXPECT_EQ(drain(raw, kSent) + raw.account().lost, kSent);
    EXPECT_GT(raw.account().lost, 0u);
    EXPECT_TRUE(leaf.flush(kPatience));
    raw.close();
  }
}

TEST_F(TightTreeTest, RefusesAWaveThatNoJournalTakesAndGoesOn) {
  auto raw = open({.name = "raw", .leaves = only_});
  auto leaf = stream_of(1, "raw");
  const auto sent = leaf.send({{1, std::string(kSmallJournal, 'x')}});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::kInvalidArgument);
  ASSERT_TRUE(leaf.send({{1, std::string("small")}}));
  const auto wave = raw.receive(kPatience);
  ASSERT_TRUE(wave);
  EXPECT_EQ(wave->number, 0u);
}

TEST_F(TreeApiBoundsTest, RefusesAMulticastThatNoFrameTakes) {
  start(1);
  auto raw = open({.name = "raw"});
  const auto number = raw.multicast({{1, std::string(16u << 20, 'x')}});
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().code, Code::kInvalidArgument);
}

TEST_F(TreeApiBoundsTest, RefusesAWaveNumberThatWasPassed) {
  start(1);
  open({.name = "raw"});
  auto leaf = stream_of(0, "raw");
  ASSERT_TRUE(leaf.send_wave(7, {}));
  const auto again = leaf.send_wave(7, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kInvalidArgument);
}

TEST_F(TightTreeTest, EndsCallsThatWaitWhenTheTreeIsClosed) {
  auto raw = open({.name = "raw", .leaves = only_});
  auto idle = open({.name = "idle"});
  auto leaf = stream_of(1, "raw");
  const auto code_of = [](const auto& outcome) {
    return outcome ? Code::kInternal : outcome.error().code;
  };
  // Nobody receives: at some time there is no room any more, on the whole way.
  const wire::Fields text{{1, std::string(1024, 'x')}};
  while (leaf.send(text, 100 * kMillisecond)) {
  }
  auto sender =
      std::async(std::launch::async, [&] { return leaf.send(text, kPatience).error().code; });
  auto below = std::async(std::launch::async, [&] { return code_of(leaf.receive(kPatience)); });
  auto above = std::async(std::launch::async, [&] { return code_of(idle.receive(kPatience)); });
  const auto closed = tree_->close(5 * kSecond);
  EXPECT_FALSE(closed) << "what nobody received is not delivered";
  EXPECT_EQ(above.get(), Code::kUnavailable);
  // The leaf's end: it leaves by itself, or its own holder closes it.
  EXPECT_FALSE(leaves_[1]->close(kSecond));
  EXPECT_EQ(sender.get(), Code::kUnavailable);
  EXPECT_EQ(below.get(), Code::kUnavailable);
}

TEST_F(TreeApiBoundsTest, LeavesNamesUsableWhenTheirHolderIsGone) {
  start(1);
  auto raw = open({.name = "raw"});
  auto leaf = stream_of(0, "raw");
  leaves_.clear();
  EXPECT_EQ(leaf.send({}).error().code, Code::kUnavailable);
  EXPECT_EQ(leaf.receive(kSecond).error().code, Code::kUnavailable);
  tree_.reset();
  EXPECT_EQ(raw.multicast({}).error().code, Code::kUnavailable);
  EXPECT_EQ(raw.receive(kSecond).error().code, Code::kUnavailable);
}

class CallerTest : public TreeApiBoundsTest {
 protected:
  // A leaf in whose process nothing happens outside calls. start() needs the front end's answer.
  void join_caller() {
    backend::LeafOptions own = options_of("caller");
    own.threading = Threading::kCaller;
    join(std::move(own));
  }
};

TEST_F(TreeApiBoundsTest, ALeafWithItsOwnThreadServesNothingHere) {
  start(1);
  EXPECT_DEATH(leaves_[0]->serve(kMillisecond), "check failed");
}

TEST_F(CallerTest, SendsAndReceivesWithinCalls) {
  start(1);
  join_caller();
  auto open_stream = std::async(std::launch::async, [&] {
    return tree_->open({.name = "ask", .aggregation = "sum"}, kPatience);
  });
  auto leaf = stream_of(1, "ask");
  // Agreeing to the stream needs a few calls more.
  while (open_stream.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    leaves_[1]->serve(kMillisecond);
  }
  auto ask = *open_stream.get();
  auto other = stream_of(0, "ask");
  for (std::int64_t round = 1; round <= 50; ++round) {
    ASSERT_TRUE(ask.multicast({{1, round}}));
    const auto question = leaf.receive(kPatience);
    ASSERT_TRUE(question) << question.error().message;
    ASSERT_TRUE(leaf.send_wave(question->number, question->fields));
    ASSERT_TRUE(other.send_wave(question->number, other.receive(kPatience)->fields));
    ASSERT_TRUE(leaf.flush(kPatience));
    const auto wave = ask.receive(kPatience);
    ASSERT_TRUE(wave) << wave.error().message;
    EXPECT_EQ(*wave->fields.get<std::int64_t>(1), 2 * round);
  }
  leaves_.pop_back();
  EXPECT_EQ(await_event(TreeEvent::Kind::kLeft).host, "caller") << "it has said goodbye";
}

// Sends more than there is room for until it fails, and says how.
Task fill(frontend::Stream stream, IntervalSet to, Nanos timeout, std::promise<Code>* code) {
  const wire::Fields fields{{1, std::string(256u << 10, 'x')}};
  Code outcome = Code::kInternal;
  for (int left = 400; left > 0 && outcome == Code::kInternal; --left) {
    const auto number = co_await stream.async_multicast(fields, to, timeout);
    if (!number) outcome = number.error().code;
  }
  code->set_value(outcome);
}

Task send_one(frontend::Stream stream, std::promise<bool>* sent) {
  const wire::Fields fields{{1, std::string("one more")}};
  const IntervalSet to;
  const auto number = co_await stream.async_multicast(fields, to, kPatience);
  sent->set_value(static_cast<bool>(number));
}

TEST_F(CallerTest, AMulticastWaitsWhileALeafTakesNothing) {
  start(1);
  join_caller();
  auto open_stream =
      std::async(std::launch::async, [&] { return tree_->open({.name = "down"}, kPatience); });
  auto leaf = stream_of(1, "down");
  while (open_stream.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    leaves_[1]->serve(kMillisecond);
  }
  auto down = *open_stream.get();
  std::promise<Code> full;
  Task filler = fill(down, IntervalSet::of(raw(leaves_[1]->id())), 100 * kMillisecond, &full);
  EXPECT_EQ(full.get_future().get(), Code::kTimedOut);
  filler.wait();
  EXPECT_EQ(down.multicast({}, kMillisecond).error().code, Code::kTimedOut) << "nor blocking";
  std::promise<bool> sent;
  auto is_sent = sent.get_future();
  Task sender = send_one(down, &sent);
  EXPECT_FALSE(sender.has_ended());
  // There is room when the leaf takes something.
  while (is_sent.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    leaves_[1]->serve(kMillisecond);
    static_cast<void>(leaf.receive(0));
  }
  EXPECT_TRUE(is_sent.get());
  sender.wait();
}

TEST_F(CallerTest, IsTakenForDeadWhenItCallsNothingAndJoinsAgainByItself) {
  TreeOptions options;
  options.shape = "flat";
  options.lost_limit = kSecond;
  start(std::move(options), 1);
  join_caller();
  auto open_stream =
      std::async(std::launch::async, [&] { return tree_->open({.name = "raw"}, kPatience); });
  auto leaf = stream_of(1, "raw");
  while (open_stream.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    leaves_[1]->serve(kMillisecond);
  }
  auto raw = *open_stream.get();
  ASSERT_TRUE(leaf.send({{1, std::int64_t{1}}}));
  EXPECT_EQ(await_event(TreeEvent::Kind::kLost).host, "caller");
  ASSERT_TRUE(leaf.send({{1, std::int64_t{2}}}));
  ASSERT_TRUE(leaf.flush(kPatience)) << "it has found its way back within the call";
  EXPECT_EQ(await_event(TreeEvent::Kind::kFound).host, "caller");
  for (std::int64_t value = 1; value <= 2; ++value) {
    const auto wave = raw.receive(kPatience);
    ASSERT_TRUE(wave) << wave.error().message;
    EXPECT_EQ(*wave->fields.get<std::int64_t>(1), value);
  }
  EXPECT_EQ(raw.account().contributions, 2u);
}

}  // namespace
}  // namespace xylem
