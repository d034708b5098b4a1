#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "storage/read/message_pairs_internal.h"

namespace xylem::storage {
namespace {

using ::testing::SizeIs;

constexpr std::uint8_t kNumberedSend = wire::kEventSend | wire::kEventNumbered;
constexpr std::uint8_t kNumberedReceive = wire::kEventReceive | wire::kEventNumbered;

/// An end of message `number` with tag 1 on communicator 0. Its call takes 10 ns.
wire::Event end_of(std::uint8_t flags, std::int32_t peer, std::uint32_t number, Nanos begin_ns) {
  wire::Event event;
  event.begin_ns = begin_ns;
  event.end_ns = begin_ns + 10;
  event.peer = peer;
  event.flags = flags;
  event.number = number;
  event.comm = CommId{0};
  event.tag = 1;
  event.bytes = 100 + number;
  return event;
}

Timeline finished(MessagePairs& pairs, Nanos apart = 0, std::uint64_t limit = 1000) {
  Timeline timeline;
  pairs.finish(
      limit, [apart](Rank, Rank) { return apart; }, timeline);
  return timeline;
}

TEST(MessagePairs, PairsByNumberAndNotByOrder) {
  MessagePairs pairs(0, 1000);
  pairs.take(Rank{1}, end_of(kNumberedReceive, 0, 7, 500), true);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 6, 100), true);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 7, 200), true);
  const Timeline timeline = finished(pairs);
  ASSERT_THAT(timeline.messages, SizeIs(2));
  EXPECT_EQ(timeline.messages[0].sent_ns, 100);
  EXPECT_EQ(timeline.messages[0].received_ns, std::nullopt) << "its receive is lost";
  EXPECT_EQ(timeline.messages[1].sent_ns, 200);
  EXPECT_EQ(timeline.messages[1].received_ns, 510);
  EXPECT_EQ(timeline.messages[1].source, Rank{0});
  EXPECT_EQ(timeline.messages[1].destination, Rank{1});
  EXPECT_EQ(timeline.messages[1].bytes, 107u);
  EXPECT_EQ(timeline.messages[1].tag, 1);
  EXPECT_EQ(timeline.messages[1].comm, CommId{0});
  EXPECT_EQ(timeline.messages_in_all, 2u);
  EXPECT_EQ(timeline.unpaired, 1u);
}

TEST(MessagePairs, AnEndWithoutANumberHasNoPartner) {
  MessagePairs pairs(0, 1000);
  pairs.take(Rank{0}, end_of(wire::kEventSend, 1, 0, 100), true);
  pairs.take(Rank{1}, end_of(wire::kEventReceive, 0, 0, 200), true);
  const Timeline timeline = finished(pairs);
  ASSERT_THAT(timeline.messages, SizeIs(2));
  EXPECT_EQ(timeline.messages[0].received_ns, std::nullopt);
  EXPECT_EQ(timeline.messages[1].sent_ns, std::nullopt);
  EXPECT_EQ(timeline.messages[1].received_ns, 210);
  EXPECT_EQ(timeline.unpaired, 2u);
}

TEST(MessagePairs, ANumberThatOccursTwiceOnOneSideIsNotGuessed) {
  MessagePairs pairs(0, 1000);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 0, 100), true);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 0, 150), true);
  pairs.take(Rank{1}, end_of(kNumberedReceive, 0, 0, 200), true);
  const Timeline timeline = finished(pairs);
  EXPECT_EQ(timeline.unpaired, 3u);
  for (const Timeline::Message& message : timeline.messages) {
    EXPECT_FALSE(message.sent_ns && message.received_ns);
  }
}

/// Sends or receives 0 and 1 by threads 0 and `thread`; the second begins at `second_ns`.
Timeline of_threads(std::uint32_t thread, Nanos second_ns, bool are_sends) {
  MessagePairs pairs(0, 1000);
  for (const std::uint32_t number : {0u, 1u}) {
    for (const bool is_send : {true, false}) {
      const Nanos one_thread_ns = (is_send ? 20 : 500) + 20 * static_cast<Nanos>(number);
      const bool has_threads = is_send == are_sends && number == 1;
      wire::Event event = end_of(is_send ? kNumberedSend : kNumberedReceive, is_send ? 1 : 0,
                                 number, has_threads ? second_ns : one_thread_ns);
      if (has_threads) event.thread = ThreadIndex{thread};
      pairs.take(Rank{is_send ? 0u : 1u}, event, true);
    }
  }
  return finished(pairs);
}

TEST(MessagePairs, ThreadsThatOverlapOnAChannelHaveNoArrows) {
  for (const auto& [are_sends, overlapping_ns] : {std::pair{true, 29}, {true, 15}, {false, 509}}) {
    const Timeline timeline = of_threads(1, overlapping_ns, are_sends);
    EXPECT_EQ(timeline.unpaired, 4u);
    ASSERT_THAT(timeline.messages, SizeIs(4));
    for (const Timeline::Message& message : timeline.messages) {
      EXPECT_FALSE(message.sent_ns && message.received_ns);
    }
    const Timeline of_one = of_threads(0, overlapping_ns, are_sends);
    EXPECT_EQ(of_one.unpaired, 0u) << "one thread numbers in the order of its calls";
    EXPECT_THAT(of_one.messages, SizeIs(2));
  }
}

TEST(MessagePairs, ThreadsOneAfterTheOtherHaveArrows) {
  for (const auto& [are_sends, second_ns] : {std::pair{true, 30}, {false, 510}}) {
    const Timeline timeline = of_threads(1, second_ns, are_sends);
    EXPECT_EQ(timeline.unpaired, 0u);
    EXPECT_THAT(timeline.messages, SizeIs(2));
  }
}

TEST(MessagePairs, OfThreadsOnlyTheSameSideOfAChannelCounts) {
  MessagePairs pairs(0, 1000);
  for (const std::int32_t peer : {1, 2}) {
    wire::Event send = end_of(kNumberedSend, peer, 0, 100);
    send.thread = ThreadIndex{static_cast<std::uint32_t>(peer)};
    pairs.take(Rank{0}, send, true);
    pairs.take(Rank{static_cast<std::uint32_t>(peer)}, end_of(kNumberedReceive, 0, 0, 105), true);
  }
  EXPECT_EQ(finished(pairs).unpaired, 0u);
}

TEST(MessagePairs, APartnerThatOverlapsWithAnotherThreadIsNone) {
  MessagePairs pairs(0, 50);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 0, 20), true);
  pairs.take_partner(Rank{1}, end_of(kNumberedReceive, 0, 0, 500));
  wire::Event other = end_of(kNumberedReceive, 0, 1, 505);
  other.thread = ThreadIndex{1};
  pairs.take_partner(Rank{1}, other);
  const Timeline timeline = finished(pairs);
  EXPECT_EQ(timeline.unpaired, 1u);
  ASSERT_THAT(timeline.messages, SizeIs(1));
  EXPECT_EQ(timeline.messages[0].received_ns, std::nullopt);
}

// The numbers are given when receives are posted, not when they are completed.
TEST(MessagePairs, AReceiveCountsFromItsPost) {
  for (const auto& [second_post_ns, unpaired] : {std::pair{115, 0u}, {105, 4u}}) {
    MessagePairs pairs(0, 1000);
    for (const std::uint32_t number : {0u, 1u}) {
      const Nanos post_ns = number == 0 ? 100 : second_post_ns;
      pairs.take(Rank{0}, end_of(kNumberedSend, 1, number, 100 + 20 * number), true);
      wire::Event receive = end_of(kNumberedReceive, 0, number, 500);
      receive.thread = ThreadIndex{number};
      receive.request = 77 + number;
      pairs.take(Rank{1}, receive, true);
      // The value of the request was used before, and will be used again.
      for (const Nanos at_ns : {Nanos{50}, post_ns, Nanos{600}}) {
        wire::Event post;
        post.begin_ns = at_ns;
        post.end_ns = at_ns + 10;
        post.thread = ThreadIndex{number};
        post.request = receive.request;
        pairs.take(Rank{1}, post, true, true);
      }
    }
    EXPECT_EQ(finished(pairs).unpaired, unpaired);
  }
}

TEST(MessagePairs, OtherTagsCommunicatorsAndDirectionsAreOtherChannels) {
  wire::Event tag = end_of(kNumberedReceive, 0, 0, 200);
  tag.tag = 2;
  wire::Event comm = end_of(kNumberedReceive, 0, 0, 200);
  comm.comm = CommId{5};
  for (const auto& [rank, other] : {std::pair{Rank{1}, tag},
                                    {Rank{1}, comm},
                                    {Rank{2}, end_of(kNumberedReceive, 0, 0, 200)},
                                    {Rank{1}, end_of(kNumberedReceive, 2, 0, 200)},
                                    {Rank{1}, end_of(kNumberedReceive, 0, 1, 200)}}) {
    MessagePairs pairs(0, 1000);
    pairs.take(Rank{0}, end_of(kNumberedSend, 1, 0, 100), true);
    pairs.take(rank, other, true);
    EXPECT_EQ(finished(pairs).unpaired, 2u);
  }
}

TEST(MessagePairs, AMessageIsNeverBackwardsByMoreThanClocksAreApart) {
  for (const Nanos apart : {39, 40}) {
    MessagePairs pairs(0, 1000);
    pairs.take(Rank{0}, end_of(kNumberedSend, 1, 0, 100), true);
    pairs.take(Rank{1}, end_of(kNumberedReceive, 0, 0, 50), true);
    const Timeline timeline = finished(pairs, apart);
    EXPECT_EQ(timeline.backwards, apart < 40 ? 1u : 0u);
    EXPECT_THAT(timeline.messages, SizeIs(apart < 40 ? 0 : 1));
    EXPECT_EQ(timeline.unpaired, 0u);
  }
}

TEST(MessagePairs, AnEndBesideTheRangeIsOnlyAPartner) {
  MessagePairs pairs(0, 1000);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 0, 100), false);
  pairs.take(Rank{1}, end_of(kNumberedReceive, 0, 0, 200), true);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 1, 110), false);
  const Timeline timeline = finished(pairs);
  ASSERT_THAT(timeline.messages, SizeIs(1));
  EXPECT_EQ(timeline.messages[0].sent_ns, 100);
  EXPECT_EQ(timeline.unpaired, 0u);
}

TEST(MessagePairs, AMessageThatCrossesTheRangeBelongsToIt) {
  MessagePairs pairs(120, 150);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 0, 100), false);
  pairs.take(Rank{1}, end_of(kNumberedReceive, 0, 0, 140), false);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 1, 100), false);
  pairs.take(Rank{1}, end_of(kNumberedReceive, 0, 1, 109), false);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 2, 150), false);
  pairs.take(Rank{1}, end_of(kNumberedReceive, 0, 2, 170), false);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 3, 100), false);
  const Timeline timeline = finished(pairs);
  ASSERT_THAT(timeline.messages, SizeIs(1));
  EXPECT_EQ(timeline.messages[0].sent_ns, 100);
  EXPECT_EQ(timeline.messages[0].received_ns, 150);
  EXPECT_EQ(timeline.unpaired, 0u);
}

TEST(MessagePairs, SaysWhereMissingEndsMayBe) {
  MessagePairs pairs(0, 1000);
  pairs.take(Rank{0}, end_of(kNumberedSend, 1, 0, 100), true);
  pairs.take(Rank{2}, end_of(kNumberedSend, 1, 0, 300), true);
  pairs.take(Rank{3}, end_of(kNumberedReceive, 2, 5, 400), true);
  pairs.take(Rank{0}, end_of(kNumberedSend, 9, 0, 100), false);
  auto missing = pairs.missing();
  ASSERT_THAT(missing, SizeIs(2));
  EXPECT_EQ(missing[0].rank, Rank{2});
  EXPECT_TRUE(missing[0].are_sends);
  EXPECT_EQ(missing[0].latest_ns, 410);
  EXPECT_EQ(missing[1].rank, Rank{1});
  EXPECT_FALSE(missing[1].are_sends);
  EXPECT_EQ(missing[1].earliest_ns, 100);

  pairs.take_partner(Rank{1}, end_of(kNumberedReceive, 0, 0, 900));
  pairs.take_partner(Rank{1}, end_of(kNumberedReceive, 2, 0, 900));
  pairs.take_partner(Rank{1}, end_of(kNumberedReceive, 2, 1, 900));
  missing = pairs.missing();
  ASSERT_THAT(missing, SizeIs(1));
  const Timeline timeline = finished(pairs);
  EXPECT_THAT(timeline.messages, SizeIs(3)) << "an unknown partner adds no message";
  EXPECT_EQ(timeline.unpaired, 1u);
}

TEST(MessagePairs, OfTooManyTheLargestAreKept) {
  MessagePairs pairs(0, 1000);
  for (std::uint32_t number = 0; number < 50; ++number) {
    pairs.take(Rank{0}, end_of(kNumberedSend, 1, number, 100 - number), true);
  }
  const Timeline timeline = finished(pairs, 0, 2);
  EXPECT_EQ(timeline.messages_in_all, 50u);
  ASSERT_THAT(timeline.messages, SizeIs(2));
  EXPECT_EQ(timeline.messages[0].bytes, 149u);
  EXPECT_EQ(timeline.messages[1].bytes, 148u);
}

// Random messages of four ranks, of which some records are lost. The size of a message is its
// identity.
TEST(MessagePairs, ArrowsAreTheMessagesWithBothEnds) {
  constexpr unsigned kSeed = 20240611;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  struct End {
    Rank rank{};
    wire::Event event;
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, int>, std::uint32_t> next;
  std::map<std::uint64_t, std::pair<Nanos, Nanos>> whole;  // By size.
  std::vector<End> ends;
  std::size_t lost = 0;
  for (std::uint64_t message = 0; message < 5000; ++message) {
    const auto source = static_cast<std::uint32_t>(random() % 4);
    const auto destination = static_cast<std::uint32_t>(random() % 4);
    const int tag = static_cast<int>(random() % 3);
    const std::uint32_t number = next[{source, destination, tag}]++;
    const auto sent = static_cast<Nanos>(1000 * message);
    const Nanos received = sent + 1 + static_cast<Nanos>(random() % 100'000);
    wire::Event send = end_of(kNumberedSend, static_cast<std::int32_t>(destination), number, sent);
    wire::Event receive =
        end_of(kNumberedReceive, static_cast<std::int32_t>(source), number, received);
    send.tag = receive.tag = tag;
    send.bytes = receive.bytes = message;
    const bool has_send = random() % 10 != 0, has_receive = random() % 10 != 0;
    if (has_send) ends.push_back({Rank{source}, send});
    if (has_receive) ends.push_back({Rank{destination}, receive});
    if (has_send && has_receive) whole[message] = {sent, received + 10};
    lost += has_send != has_receive ? 1 : 0;
  }
  std::shuffle(ends.begin(), ends.end(), random);
  MessagePairs pairs(0, 1000);
  for (const End& end : ends) pairs.take(end.rank, end.event, true);
  const Timeline timeline = finished(pairs, 0, 100'000);
  std::map<std::uint64_t, std::pair<Nanos, Nanos>> drawn;
  for (const Timeline::Message& message : timeline.messages) {
    if (!message.sent_ns || !message.received_ns) continue;
    drawn[message.bytes] = {*message.sent_ns, *message.received_ns};
  }
  EXPECT_EQ(drawn, whole);
  EXPECT_EQ(timeline.unpaired, lost);
  EXPECT_EQ(timeline.backwards, 0u);
}

}  // namespace
}  // namespace xylem::storage
