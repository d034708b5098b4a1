// What docs/streams.md says of streams, over loopback: synchronisation, sets of leaves, names,
// several leaves in one process.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "tests/support/tool_tree.h"

namespace xylem {
namespace {

using frontend::StreamOptions;
using frontend::Synchronisation;
using frontend::TreeOptions;
using frontend::Wave;
using testing::kPatience;

// Shorter than the limits for a silent leaf, longer than anything takes that is about to come.
constexpr Nanos kMoment = 300 * kMillisecond;
// Sooner than a silent leaf is done without.
constexpr Nanos kSoon = 4 * kSecond;

class TreeApiStreamsTest : public testing::ToolTreeTest {
 protected:
  void send(std::size_t leaf, const std::string& stream, std::int64_t value) {
    const auto sent = stream_of(leaf, stream).send({{1, value}}, kPatience);
    ASSERT_TRUE(sent) << sent.error().message;
  }

  // "SUM of LEAVES" or the error's code.
  static std::string next(frontend::Stream& stream, Nanos time = kPatience) {
    const auto wave = stream.receive(time);
    if (!wave) return wave.error().code == Code::kTimedOut ? "none" : wave.error().message;
    return std::to_string(*wave->fields.get<std::int64_t>(1)) + " of " +
           std::to_string(wave->sources.count());
  }

  IntervalSet only(std::initializer_list<std::size_t> leaves) const {
    IntervalSet ids;
    for (const std::size_t leaf : leaves) ids.insert(raw(leaves_[leaf]->id()));
    return ids;
  }
};

TEST_F(TreeApiStreamsTest, AWaveWaitsForAllLeaves) {
  start(3);
  auto sum = open({.name = "sum", .aggregation = "sum"});
  send(0, "sum", 1);
  send(1, "sum", 10);
  EXPECT_EQ(next(sum, kMoment), "none");
  send(2, "sum", 100);
  EXPECT_EQ(next(sum), "111 of 3");
}

TEST_F(TreeApiStreamsTest, AWaveWhoseTimeIsUpGoesOnWithWhatIsThere) {
  start(3);
  auto sum = open({.name = "sum",
                   .synchronisation = Synchronisation::kTimeOut,
                   .time_out = kMoment,
                   .aggregation = "sum"});
  send(0, "sum", 1);
  send(1, "sum", 10);
  EXPECT_EQ(next(sum, kSoon), "11 of 2");
  send(2, "sum", 100);
  EXPECT_EQ(next(sum, kSoon), "100 of 1") << "what is late comes by itself";
  // Who is in time does not wait for the time to be up.
  auto patient = open({.name = "patient",
                       .synchronisation = Synchronisation::kTimeOut,
                       .time_out = 2 * kPatience,
                       .aggregation = "sum"});
  for (std::size_t leaf = 0; leaf < 3; ++leaf) send(leaf, "patient", 1);
  EXPECT_EQ(next(patient), "3 of 3");
}

TEST_F(TreeApiStreamsTest, WhatNeedNotWaitComesAtOnce) {
  start(2);
  auto sum =
      open({.name = "sum", .synchronisation = Synchronisation::kAsItComes, .aggregation = "sum"});
  send(0, "sum", 1);
  EXPECT_EQ(next(sum, kSoon), "1 of 1");
  send(1, "sum", 10);
  EXPECT_EQ(next(sum, kSoon), "10 of 1");
}

TEST_F(TreeApiStreamsTest, AStreamOfSomeLeavesIsTheirsAlone) {
  start(4);
  auto some = open({.name = "some", .leaves = only({1, 3}), .aggregation = "sum"});
  ASSERT_TRUE(some.multicast({{1, std::int64_t{7}}}));
  for (const std::size_t leaf : {1u, 3u}) {
    auto stream = stream_of(leaf, "some");
    const auto question = stream.receive(kPatience);
    ASSERT_TRUE(question) << question.error().message;
    ASSERT_TRUE(stream.send({{1, *question->fields.get<std::int64_t>(1)}}));
  }
  EXPECT_EQ(next(some), "14 of 2");
  for (const std::size_t leaf : {0u, 2u}) {
    const auto stream = leaves_[leaf]->stream("some", 0);
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error().code, Code::kTimedOut);
    const auto down = leaves_[leaf]->receive(0);
    ASSERT_FALSE(down);
    EXPECT_EQ(down.error().code, Code::kTimedOut);
  }
}

TEST_F(TreeApiStreamsTest, ALeafThatJoinsLaterTakesPartUnlessLeavesAreListed) {
  start(1);
  auto all = open({.name = "all", .aggregation = "sum"});
  auto listed = open({.name = "listed", .leaves = only({0}), .aggregation = "sum"});
  ASSERT_TRUE(all.multicast({{1, std::int64_t{1}}}));
  join(options_of("late"));
  ASSERT_TRUE(tree_->wait_for_leaves(2, kPatience));
  send(0, "all", 1);
  send(1, "all", 10);
  EXPECT_EQ(next(all), "11 of 2");
  send(0, "listed", 5);
  EXPECT_EQ(next(listed), "5 of 1");
  EXPECT_FALSE(leaves_[1]->stream("listed", 0));
}

TEST_F(TreeApiStreamsTest, StreamsOfTheSameLeavesDoNotMix) {
  start(2);
  auto least = open({.name = "least", .aggregation = "min"});
  auto greatest = open({.name = "greatest", .aggregation = "max"});
  for (const std::int64_t wave : {0, 1, 2}) {
    for (std::size_t leaf = 0; leaf < 2; ++leaf) {
      const auto value = wave * 10 + static_cast<std::int64_t>(leaf);
      send(leaf, "least", value);
      send(leaf, "greatest", value);
    }
  }
  for (const std::int64_t wave : {0, 1, 2}) {
    EXPECT_EQ(next(greatest), std::to_string(wave * 10 + 1) + " of 2");
    EXPECT_EQ(next(least), std::to_string(wave * 10) + " of 2");
  }
}

// Fields are checked when they are read, and those that a reader does not know harm nobody.
TEST_F(TreeApiStreamsTest, FieldsAreTypedCheckedAndMayGrow) {
  start(1);
  auto raw = open({.name = "raw"});
  const wire::Fields newer{{1, std::int64_t{42}},
                           {2, std::vector<double>{0.5, 0.25}},
                           {900, std::vector<std::string>{"of", "a", "later", "version"}}};
  ASSERT_TRUE(stream_of(0, "raw").send(newer));
  const auto wave = raw.receive(kPatience);
  ASSERT_TRUE(wave) << wave.error().message;
  EXPECT_EQ(wave->fields, newer) << "unknown numbers are passed on as they are";
  EXPECT_EQ(*wave->fields.get<std::int64_t>(1), 42);
  EXPECT_EQ(wave->fields.get<double>(1).error().code, Code::kInvalidArgument);
  EXPECT_EQ(wave->fields.get<double>(3).error().code, Code::kNotFound);
}

TEST_F(TreeApiStreamsTest, AWaveNumberMayAnswerAMulticast) {
  start(2);
  auto ask = open({.name = "ask", .aggregation = "count"});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ask.multicast({}));
  for (std::size_t leaf = 0; leaf < 2; ++leaf) {
    auto stream = stream_of(leaf, "ask");
    for (const std::uint64_t number : {1u, 3u}) ASSERT_TRUE(stream.send_wave(number, {}));
  }
  EXPECT_EQ(ask.receive(kPatience)->number, 1u);
  EXPECT_EQ(ask.receive(kPatience)->number, 3u) << "numbers may have gaps";
}

TEST_F(TreeApiStreamsTest, ATreeThatOthersJoinIsPlacedWhenNobodyComesAnyMore) {
  TreeOptions options;
  options.shape = "flat";
  options.listen = "127.0.0.1";
  options.settle = kMoment;
  auto tree = frontend::Tree::start(std::move(options));
  ASSERT_TRUE(tree) << tree.error().message;
  tree_ = *std::move(tree);
  for (int i = 0; i < 3; ++i) join(options_of("leaf" + std::to_string(i)));
  const auto all = tree_->wait_for_leaves(3, kPatience);
  ASSERT_TRUE(all) << all.error().message;
  auto sum = open({.name = "sum", .aggregation = "sum"});
  for (std::size_t leaf = 0; leaf < 3; ++leaf) send(leaf, "sum", 1);
  EXPECT_EQ(next(sum), "3 of 3");
}

TEST_F(TreeApiStreamsTest, AllCallsTimeOutAndEverythingGoesOn) {
  start(1);
  auto sum = open({.name = "sum", .aggregation = "sum"});
  auto up = stream_of(0, "sum");
  EXPECT_EQ(sum.receive(0).error().code, Code::kTimedOut);
  EXPECT_EQ(up.receive(0).error().code, Code::kTimedOut);
  EXPECT_EQ(leaves_[0]->stream("none", 0).error().code, Code::kTimedOut);
  EXPECT_EQ(tree_->wait_for_leaves(2, 0).error().code, Code::kTimedOut);
  while (tree_->next_event(0)) {
  }
  EXPECT_EQ(tree_->next_event(0).error().code, Code::kTimedOut);
  EXPECT_EQ(leaves_[0]->wait_until_closed(0).error().code, Code::kTimedOut);
  ASSERT_TRUE(up.send({{1, std::int64_t{9}}}));
  EXPECT_EQ(next(sum), "9 of 1");
  ASSERT_TRUE(up.flush(kPatience)) << "what the root has taken is acknowledged";
}

}  // namespace
}  // namespace xylem
