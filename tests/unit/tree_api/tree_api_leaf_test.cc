// The leaf's side of tool streams: journals as small as they may be, what close() says, and the
// waiting calls' time-outs.

#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/task.h"
#include "tests/support/tool_tree.h"

namespace xylem {
namespace {

using testing::kPatience;
using testing::Task;

class TreeApiLeafTest : public testing::ToolTreeTest {
 protected:
  // A leaf beside the first one, which keeps so little.
  void join_tight(std::size_t journal_bytes) {
    backend::LeafOptions own = options_of("tight");
    own.journal_bytes = journal_bytes;
    join(std::move(own));
    tree_->wait_for_leaves(2, kPatience).value();
  }
};

class TreeApiSmallJournalTest : public TreeApiLeafTest,
                                public ::testing::WithParamInterface<std::size_t> {};

// Waves that come faster than they leave share packets: none may be more than the journal takes.
TEST_P(TreeApiSmallJournalTest, DeliversWavesThatFollowOneAnotherClosely) {
  start(1);
  join_tight(GetParam());
  auto stream = open({.name = "large"});
  auto leaf = stream_of(1, "large");
  const std::string text(8000, 'x');
  constexpr std::uint64_t kWaves = 300;
  for (std::uint64_t sent = 0, received = 0; sent < kWaves || received < kWaves;) {
    // As many as wait in the leaf without blocking it, then what has arrived of them.
    for (int i = 0; i < 60 && sent < kWaves; ++i, ++sent) leaf.send({{1, text}}).value();
    for (; received < sent; ++received) {
      const auto wave = stream.receive(kPatience);
      ASSERT_TRUE(wave) << received << " of " << sent << ": " << wave.error().message;
      EXPECT_EQ(wave->number, received);
    }
  }
  EXPECT_TRUE(leaf.flush(kPatience));
  EXPECT_TRUE(leaves_[1]->close(kPatience));
}

INSTANTIATE_TEST_SUITE_P(KiB, TreeApiSmallJournalTest,
                         ::testing::Values(64u << 10, 80u << 10, 128u << 10),
                         [](const auto& of) { return std::to_string(of.param >> 10); });

// The front end's queue is full and so is the journal: the rest has never been in it.
TEST_F(TreeApiLeafTest, SaysWhenItIsClosedThatWavesWereNeverInTheJournal) {
  frontend::TreeOptions options;
  options.shape = "flat";
  options.queue_bytes = 64u << 10;
  start(std::move(options), 1);
  join_tight(64u << 10);
  auto stream = open({.name = "stuck"});
  auto leaf = stream_of(1, "stuck");
  const std::string text(8000, 'x');
  for (int i = 0; i < 120; ++i) leaf.send({{1, text}}).value();
  const auto closed = leaves_[1]->close(300 * kMillisecond);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Code::kTimedOut);
  EXPECT_NE(closed.error().message.find(" packets were not acknowledged in time"),
            std::string::npos)
      << closed.error().message;
  // One or two waves in each; the journal alone holds fewer than ten.
  EXPECT_GT(std::stoi(closed.error().message.substr(closed.error().message.find(": ") + 2)), 20)
      << closed.error().message;
}

TEST_F(TreeApiLeafTest, SaysWhichLimitAWaveIsOver) {
  start(1);
  join_tight(64u << 10);
  backend::LeafOptions own = options_of("wide");
  own.journal_bytes = 128u << 20;
  join(std::move(own));
  tree_->wait_for_leaves(3, kPatience).value();
  auto stream = open({.name = "large"});
  const auto refusal = [this](std::size_t leaf, std::size_t bytes) {
    const auto sent = stream_of(leaf, "large").send({{1, std::string(bytes, 'x')}});
    return sent ? "" : sent.error().message;
  };
  EXPECT_NE(refusal(1, 17u << 10).find("a quarter of the leaf's journal_bytes takes at most 16384"),
            std::string::npos);
  const std::string frame = refusal(2, 16u << 20);
  EXPECT_NE(frame.find("a frame, whatever journal_bytes is, takes at most "), std::string::npos)
      << frame;
}

struct Outcome {
  Nanos waited = 0;
  Code code = Code::kInternal;  // As it is when something was received.
};

Task receive_twice(backend::LeafStream stream, std::promise<Outcome>* second) {
  const auto first = co_await stream.async_receive(500 * kMillisecond);
  EXPECT_TRUE(first);
  const Nanos begin = monotonic_now();
  const auto next = co_await stream.async_receive(2 * kSecond);
  second->set_value({monotonic_now() - begin, next ? Code::kInternal : next.error().code});
}

// What was set for the first is not taken for the second's, wherever that lies in memory.
TEST_F(TreeApiLeafTest, AWaitDoesNotEndAtTheTimeOutOfAnEarlierOne) {
  start(1);
  auto stream = open({.name = "ask"});
  std::promise<Outcome> second;
  Task task = receive_twice(stream_of(0, "ask"), &second);
  ASSERT_TRUE(stream.multicast({}));
  const Outcome outcome = second.get_future().get();
  EXPECT_EQ(outcome.code, Code::kTimedOut);
  EXPECT_GE(outcome.waited, 2 * kSecond);
  task.wait();
}

Task receive_once(backend::LeafStream stream, std::promise<Code>* ended) {
  const auto none = co_await stream.async_receive(kPatience);
  ended->set_value(none ? Code::kInternal : none.error().code);
}

TEST_F(TreeApiLeafTest, ACoroutineThatReceivesIsToldThatItsStreamWasClosed) {
  start(1);
  auto stream = open({.name = "ask"});
  std::promise<Code> ended;
  Task task = receive_once(stream_of(0, "ask"), &ended);
  stream.close();
  EXPECT_EQ(ended.get_future().get(), Code::kUnavailable);
  task.wait();
}

Task store_order(backend::LeafStream stream, Nanos timeout, int mark, std::mutex* mutex,
                 std::vector<int>* order) {
  const auto outcome = co_await stream.async_receive(timeout);
  EXPECT_FALSE(outcome);
  const std::lock_guard lock(*mutex);
  order->push_back(mark);
}

TEST_F(TreeApiLeafTest, WhoeverWaitsIsToldAtTheirOwnTimeOut) {
  start(1);
  open({.name = "ask"});
  auto leaf = stream_of(0, "ask");
  std::mutex mutex;
  std::vector<int> order;
  Task last = store_order(leaf, 300 * kMillisecond, 3, &mutex, &order);
  Task first = store_order(leaf, 100 * kMillisecond, 1, &mutex, &order);
  Task middle = store_order(leaf, 200 * kMillisecond, 2, &mutex, &order);
  for (const Task* task : {&first, &middle, &last}) task->wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

Task receive_many(backend::LeafStream stream, int count, std::atomic<int>* received) {
  for (int i = 0; i < count; ++i) {
    const auto one = co_await stream.async_receive(3600 * kSecond);
    EXPECT_TRUE(one);
    ++*received;
    received->notify_all();
  }
}

// Each has to wait: the next question is asked when the last one was taken.
TEST_F(TreeApiLeafTest, AWaitThatWasAnsweredKeepsNoMemory) {
  start(1);
  auto stream = open({.name = "ask"});
  constexpr int kMany = 4000;
  std::atomic<int> received = 0;
  Task task = receive_many(stream_of(0, "ask"), kMany, &received);
  std::size_t before = 0;
  for (int i = 0; i < kMany; ++i) {
    // The first ones fill what is bounded: buffers, and what is kept to be replayed.
    if (i == kMany / 2) before = mallinfo2().uordblks;
    ASSERT_TRUE(stream.multicast({}));
    received.wait(i);
  }
  task.wait();
  const auto grown = static_cast<std::int64_t>(mallinfo2().uordblks - before);
  EXPECT_LT(grown, kMany / 2 * 600) << "bytes for " << kMany / 2 << " calls";
}

Task store_receive(backend::LeafStream stream, std::promise<bool>* received) {
  const auto outcome = co_await stream.async_receive(kForever);
  received->set_value(static_cast<bool>(outcome));
}

TEST_F(TreeApiLeafTest, AWaitForEverEndsWithWhatItWaitedFor) {
  start(1);
  auto stream = open({.name = "ask"});
  auto leaf = leaves_[0]->stream("ask", kForever);
  ASSERT_TRUE(leaf) << leaf.error().message;
  std::promise<bool> by_coroutine;
  Task task = store_receive(*leaf, &by_coroutine);
  ASSERT_TRUE(stream.multicast({}));
  EXPECT_TRUE(by_coroutine.get_future().get());
  task.wait();
  auto by_thread = std::async(std::launch::async, [&] { return leaf->receive(kForever); });
  EXPECT_EQ(by_thread.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  ASSERT_TRUE(stream.multicast({}));
  const auto received = by_thread.get();
  EXPECT_TRUE(received) << received.error().message;
  ASSERT_TRUE(leaf->send({}, kForever));
  EXPECT_TRUE(leaf->flush(kForever));
  EXPECT_TRUE(leaves_[0]->close(kForever));
}

TEST_F(TreeApiLeafTest, WithoutAThreadAWaitForEverServesTheLinks) {
  start(1);
  backend::LeafOptions own = options_of("caller");
  own.threading = backend::Threading::kCaller;
  own.join_limit = kForever;
  own.orphan_limit = kForever;
  join(std::move(own));
  ASSERT_EQ(leaves_.size(), 2u);
  auto opened =
      std::async(std::launch::async, [&] { return tree_->open({.name = "ask"}, kPatience); });
  auto leaf = leaves_[1]->stream("ask", kForever);
  ASSERT_TRUE(leaf) << leaf.error().message;
  // Within the wait the leaf agrees to the stream; so it is opened, and the multicast is sent.
  auto asked =
      std::async(std::launch::async, [&] { return opened.get()->multicast({}, kPatience); });
  const auto received = leaf->receive(kForever);
  EXPECT_TRUE(received) << received.error().message;
  EXPECT_TRUE(asked.get());
  ASSERT_TRUE(leaf->send({}, kForever));
  EXPECT_TRUE(leaf->flush(kForever));
  EXPECT_TRUE(leaves_[1]->close(kForever));
}

Task send_many(backend::LeafStream stream, std::string text, int count, std::atomic<int>* sent) {
  const wire::Fields fields{{1, text}};
  for (int i = 0; i < count; ++i) {
    const auto taken = co_await stream.async_send(fields, kPatience);
    EXPECT_TRUE(taken) << taken.error().message;
    if (!taken) co_return;
    ++*sent;
  }
  const auto delivered = co_await stream.async_flush(kPatience);
  EXPECT_TRUE(delivered) << delivered.error().message;
}

// More than leaf and front end keep: the coroutine waits until some is received.
TEST_F(TreeApiLeafTest, ACoroutineThatSendsWaitsForRoomAndLosesNothing) {
  frontend::TreeOptions options;
  options.shape = "flat";
  options.queue_bytes = 64u << 10;
  start(std::move(options), 1);
  join_tight(64u << 10);
  auto stream = open({.name = "large"});
  constexpr int kWaves = 400;
  std::atomic<int> sent = 0;
  Task task = send_many(stream_of(1, "large"), std::string(8000, 'x'), kWaves, &sent);
  EXPECT_LT(sent, kWaves) << "it did not have to wait";
  for (std::uint64_t i = 0; i < kWaves; ++i) {
    const auto wave = stream.receive(kPatience);
    ASSERT_TRUE(wave) << i << ": " << wave.error().message;
    EXPECT_EQ(wave->number, i);
  }
  task.wait();
  EXPECT_EQ(sent, kWaves);
}

Task fill(backend::LeafStream stream, std::promise<Code>* send, std::promise<Code>* flush) {
  const wire::Fields fields{{1, std::string(8000, 'x')}};
  for (;;) {
    const auto taken = co_await stream.async_send(fields, 100 * kMillisecond);
    if (taken) continue;
    send->set_value(taken.error().code);
    break;
  }
  const auto delivered = co_await stream.async_flush(100 * kMillisecond);
  flush->set_value(delivered ? Code::kInternal : delivered.error().code);
  const auto never = co_await stream.async_flush(kForever);
  EXPECT_FALSE(never) << "the leaf is closed meanwhile";
}

TEST_F(TreeApiLeafTest, ACoroutineThatSendsIsToldItsTimeOutAndTheEnd) {
  frontend::TreeOptions options;
  options.shape = "flat";
  options.queue_bytes = 64u << 10;
  start(std::move(options), 1);
  join_tight(64u << 10);
  auto stream = open({.name = "stuck"});
  std::promise<Code> send, flush;
  Task task = fill(stream_of(1, "stuck"), &send, &flush);
  EXPECT_EQ(send.get_future().get(), Code::kTimedOut);
  EXPECT_EQ(flush.get_future().get(), Code::kTimedOut);
  EXPECT_FALSE(leaves_[1]->close(100 * kMillisecond));
  task.wait();
}

Task receive_any(backend::Leaf* leaf, std::promise<std::string>* stream) {
  const auto received = co_await leaf->async_receive(kPatience);
  stream->set_value(received ? received->stream : received.error().message);
}

TEST_F(TreeApiLeafTest, ACoroutineReceivesWhatComesDownAnyStream) {
  start(1);
  open({.name = "one"});
  auto two = open({.name = "two"});
  std::promise<std::string> stream;
  Task task = receive_any(leaves_[0].get(), &stream);
  ASSERT_TRUE(two.multicast({}));
  EXPECT_EQ(stream.get_future().get(), "two");
  task.wait();
}

Task receive_one(backend::LeafStream stream, std::promise<bool>* is_received) {
  const auto received = co_await stream.async_receive(kPatience);
  is_received->set_value(received.has_value());
}

TEST_F(TreeApiLeafTest, AFullQueueKeepsNothingFromACoroutineThatWaitsForAnotherStream) {
  start(1);
  auto unread = open({.name = "unread"});
  auto awaited = open({.name = "awaited"});
  const std::vector<std::uint64_t> mebibyte(1u << 17);
  constexpr int kMore = 12;  // MiB: the queue takes 8.
  for (int i = 0; i < kMore; ++i) {
    ASSERT_TRUE(unread.multicast({{1, mebibyte}}, kPatience));
  }
  std::promise<bool> is_received;
  Task task = receive_one(stream_of(0, "awaited"), &is_received);
  ASSERT_TRUE(awaited.multicast({}));
  EXPECT_TRUE(is_received.get_future().get());
  task.wait();
  auto of_unread = stream_of(0, "unread");
  int kept = 0;
  while (of_unread.receive(0)) ++kept;
  EXPECT_GE(kept, 8);
  EXPECT_LT(kept, kMore);
}

// Signals that each of the library's threads keeps out, as /proc shows them.
std::vector<std::uint64_t> masks_of_leaf_threads() {
  std::vector<std::uint64_t> masks;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    std::ifstream status(task.path() / "status");
    for (std::string word; name == "xylem-leaf" && status >> word;) {
      if (word == "SigBlk:" && status >> word) masks.push_back(std::stoull(word, nullptr, 16));
    }
  }
  return masks;
}

TEST_F(TreeApiLeafTest, ItsThreadGetsNoSignalOfTheProgram) {
  start(1);
  const auto masks = masks_of_leaf_threads();
  ASSERT_EQ(masks.size(), 1u);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD, SIGPROF}) {
    EXPECT_NE(masks[0] & (std::uint64_t{1} << (signal - 1)), 0u) << signal;
  }
  sigset_t own;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &own), 0);
  EXPECT_EQ(::sigismember(&own, SIGTERM), 0) << "the caller's mask is as before";
}

TEST_F(TreeApiLeafTest, AChildOfForkMayDestroyItAndTheParentsGoesOn) {
  start(1);
  auto stream = open({.name = "up"});
  auto leaf = stream_of(0, "up");
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    leaves_.clear();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "the child hung";
  ASSERT_TRUE(leaf.send({{1, std::int64_t{7}}}));
  const auto wave = stream.receive(kPatience);
  ASSERT_TRUE(wave) << wave.error().message;
  EXPECT_EQ(wave->number, 0u);
}

}  // namespace
}  // namespace xylem
