// Pairs of sends and receives, from events that are built by hand.

#include "storage/read/message_matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace xylem::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

wire::Event event(std::uint8_t flags, std::uint32_t peer, std::uint32_t number, Nanos begin,
                  Nanos end) {
  wire::Event made;
  made.flags = flags | wire::kEventNumbered;
  made.peer = static_cast<std::int32_t>(peer);
  made.number = number;
  made.begin_ns = begin;
  made.end_ns = end;
  made.comm = CommId{0};
  made.tag = 7;
  made.bytes = 100 + number;
  return made;
}
wire::Event sent(std::uint32_t to, std::uint32_t number, Nanos begin, Nanos end) {
  return event(wire::kEventSend, to, number, begin, end);
}
wire::Event received(std::uint32_t from, std::uint32_t number, Nanos begin, Nanos end) {
  return event(wire::kEventReceive, from, number, begin, end);
}
wire::Event posted(std::uint64_t request, Nanos begin) {
  wire::Event made;
  made.request = request;
  made.begin_ns = begin;
  made.end_ns = begin + 1;
  return made;
}

class MessageMatcherTest : public ::testing::Test, public MessageSink {
 protected:
  MessageMatcherTest() {
    for (std::uint32_t rank = 0; rank < 4; ++rank) matcher_.add_process(WorldId{0}, Rank{rank});
  }
  void pair(const MessageHalf& send, const MessageHalf& receive) override {
    pairs_.push_back(text(send) + " sent " + std::to_string(send.begin_ns) + " received " +
                     std::to_string(receive.end_ns) + " posted " +
                     (receive.posted_ns ? std::to_string(*receive.posted_ns) : "?"));
  }
  void unmatched(const MessageHalf& half, Unmatched reason) override {
    alone_.push_back(text(half) + (half.is_send ? " sent: " : " received: ") +
                     std::to_string(static_cast<int>(reason)));
  }
  static std::string text(const MessageHalf& half) {
    return std::to_string(raw(half.source)) + ">" + std::to_string(raw(half.destination)) + " #" +
           std::to_string(half.number);
  }
  void add(std::uint32_t process, const wire::Event& event, bool posts = false) {
    matcher_.add(ProcessIndex{process}, event, posts);
  }

  std::vector<std::string> pairs_, alone_;
  MessageMatcher matcher_{*this};
};

TEST_F(MessageMatcherTest, PairsASendWithItsReceiveWhicheverComesFirst) {
  add(0, sent(1, 0, 10, 20));
  add(1, received(0, 0, 5, 25));
  add(1, received(0, 1, 30, 40));
  add(0, sent(1, 1, 35, 36));
  matcher_.finish();
  EXPECT_THAT(pairs_, ElementsAre("0>1 #0 sent 10 received 25 posted 5",
                                  "0>1 #1 sent 35 received 40 posted 30"));
  EXPECT_THAT(alone_, IsEmpty());
}

TEST_F(MessageMatcherTest, TellsWhichHalvesAreMissing) {
  add(0, sent(1, 0, 10, 20));
  add(1, received(0, 1, 30, 40));
  matcher_.finish();
  EXPECT_THAT(pairs_, IsEmpty());
  EXPECT_THAT(alone_, UnorderedElementsAre("0>1 #0 sent: 0", "0>1 #1 received: 1"));
}

TEST_F(MessageMatcherTest, NeverPairsAMessageWithoutANumber) {
  auto send = sent(1, 0, 10, 20);
  send.flags = wire::kEventSend;
  add(0, send);
  add(1, received(0, 0, 5, 25));
  matcher_.finish();
  EXPECT_THAT(pairs_, IsEmpty());
  EXPECT_THAT(alone_, ElementsAre("0>1 #0 sent: 2", "0>1 #0 received: 1"));
}

TEST_F(MessageMatcherTest, KeepsChannelsApart) {
  auto other_tag = sent(1, 0, 10, 20);
  other_tag.tag = 8;
  auto other_comm = sent(1, 0, 11, 20);
  other_comm.comm = CommId{5};
  add(0, other_tag);
  add(0, other_comm);
  const ProcessIndex other_world = matcher_.add_process(WorldId{1}, Rank{0});
  matcher_.add(other_world, sent(1, 0, 12, 20), false);
  add(2, sent(1, 0, 13, 20));
  add(1, received(0, 0, 5, 25));
  matcher_.finish();
  EXPECT_THAT(pairs_, IsEmpty());
  EXPECT_EQ(alone_.size(), 5u);
}

TEST_F(MessageMatcherTest, IgnoresASendWithoutAKnownDestination) {
  auto send = sent(1, 0, 10, 20);
  send.flags = 0;
  send.peer = wire::kNoPeer;
  add(0, send);
  matcher_.finish();
  EXPECT_THAT(alone_, IsEmpty());
}

TEST_F(MessageMatcherTest, FindsWhenAReceiveWasPostedEvenIfItsRequestIsUsedAgain) {
  add(1, posted(77, 3), true);
  auto completion = received(0, 0, 20, 30);
  completion.request = 77;
  add(0, sent(1, 0, 10, 11));
  add(1, completion);
  add(1, posted(77, 40), true);
  auto second = received(0, 1, 50, 60);
  second.request = 77;
  add(1, second);
  add(0, sent(1, 1, 45, 46));
  auto unknown = received(0, 2, 70, 80);
  unknown.request = 99;
  add(1, unknown);
  add(0, sent(1, 2, 72, 73));
  matcher_.finish();
  EXPECT_THAT(pairs_, ElementsAre("0>1 #0 sent 10 received 30 posted 3",
                                  "0>1 #1 sent 45 received 60 posted 40",
                                  "0>1 #2 sent 72 received 80 posted ?"));
}

TEST_F(MessageMatcherTest, KeepsOnlyHalvesInFlight) {
  for (std::uint32_t i = 0; i < 10000; ++i) {
    add(0, sent(1, i, 10 * i, 10 * i + 1));
    add(1, received(0, i, 10 * i, 10 * i + 5));
    ASSERT_LE(matcher_.in_flight(), 1u);
  }
  EXPECT_EQ(pairs_.size(), 10000u);
}

TEST_F(MessageMatcherTest, GivesUpAReceiveWhenItsSenderHasPassedIt) {
  add(1, received(0, 0, 5, 25));
  matcher_.promise(ProcessIndex{0}, 25 + kClockSlack);
  EXPECT_THAT(alone_, IsEmpty()) << "clocks may differ";
  matcher_.promise(ProcessIndex{0}, 26 + kClockSlack);
  EXPECT_THAT(alone_, ElementsAre("0>1 #0 received: 1"));
  EXPECT_EQ(matcher_.in_flight(), 0u);
}

wire::Event of_thread(wire::Event event, std::uint32_t thread) {
  event.thread = ThreadIndex{thread};
  return event;
}

TEST_F(MessageMatcherTest, PairsNoMessagesThatTwoThreadsSentAtTheSameTime) {
  matcher_.expect_threads(ProcessIndex{0});
  add(0, of_thread(sent(1, 0, 0, 10), 1));
  add(0, of_thread(sent(1, 1, 20, 30), 1));
  add(0, of_thread(sent(1, 2, 25, 35), 2));  // Overlaps with number 1.
  add(0, of_thread(sent(1, 3, 40, 50), 1));
  for (std::uint32_t i = 0; i < 4; ++i) add(1, received(0, i, 100, 110));
  matcher_.finish();
  EXPECT_THAT(pairs_, ElementsAre("0>1 #0 sent 0 received 110 posted 100",
                                  "0>1 #3 sent 40 received 110 posted 100"));
  EXPECT_THAT(alone_, UnorderedElementsAre("0>1 #1 sent: 3", "0>1 #1 received: 3", "0>1 #2 sent: 3",
                                           "0>1 #2 received: 3"));
}

TEST_F(MessageMatcherTest, PairsMessagesOfThreadsThatTakeTurns) {
  matcher_.expect_threads(ProcessIndex{0});
  matcher_.expect_threads(ProcessIndex{1});
  for (std::uint32_t i = 0; i < 10; ++i) {
    add(0, of_thread(sent(1, i, 10 * i, 10 * i + 9), i % 2));
    add(1, of_thread(received(0, i, 10 * i + 1, 10 * i + 10), i % 2));
  }
  // A thread that is in a long call on another channel does not delay pairs.
  add(0, of_thread(sent(2, 0, 0, 1000), 3));
  matcher_.promise(ProcessIndex{0}, 100);
  matcher_.promise(ProcessIndex{1}, 101);
  EXPECT_EQ(pairs_.size(), 10u);
  matcher_.finish();
  EXPECT_EQ(alone_.size(), 1u);
}

// With any order of ranks and any lost messages, the pairs are those of a table of all messages.
TEST_F(MessageMatcherTest, AgreesWithATableOfAllMessagesForAnyOrder) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    pairs_.clear();
    alone_.clear();
    MessageMatcher matcher(*this);
    for (std::uint32_t rank = 0; rank < 4; ++rank) matcher.add_process(WorldId{0}, Rank{rank});
    std::mt19937 random(seed);
    std::vector<std::vector<wire::Event>> ranks(4);
    std::vector<std::uint32_t> numbers(16);
    std::size_t expected_pairs = 0, expected_alone = 0;
    for (Nanos i = 0; i < 500; ++i) {
      const std::uint32_t from = random() % 4, to = random() % 4;
      const std::uint32_t number = numbers[4 * from + to]++;
      const bool has_send = random() % 10 != 0, has_receive = random() % 10 != 0;
      if (has_send) ranks[from].push_back(sent(to, number, 10 * i, 10 * i + 5));
      if (has_receive) ranks[to].push_back(received(from, number, 10 * i, 10 * i + 9));
      (has_send && has_receive ? expected_pairs : expected_alone) += has_send || has_receive;
    }
    std::vector<std::size_t> at(4);
    for (std::size_t left = 4; left != 0;) {
      const std::uint32_t rank = random() % 4;
      if (at[rank] == ranks[rank].size()) {
        left = static_cast<std::size_t>(
            std::ranges::count_if(std::vector<std::size_t>{0, 1, 2, 3},
                                  [&](std::size_t r) { return at[r] != ranks[r].size(); }));
        continue;
      }
      matcher.add(ProcessIndex{rank}, ranks[rank][at[rank]++], false);
    }
    matcher.finish();
    EXPECT_EQ(pairs_.size(), expected_pairs);
    EXPECT_EQ(alone_.size(), expected_alone);
  }
}

}  // namespace
}  // namespace xylem::storage
