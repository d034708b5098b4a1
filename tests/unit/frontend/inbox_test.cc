#include "frontend/inbox.h"

#include <gtest/gtest.h>

#include <random>

#include "wire/tombstone.h"
#include "wire/waves.h"

namespace xylem::frontend {
namespace {

using wire::Fields;

constexpr StreamId kStream{100};

wire::Packet packet_of(const IntervalSet& sources, std::uint64_t first,
                       const std::vector<std::int64_t>& values) {
  std::vector<Fields> waves;
  for (const std::int64_t value : values) waves.push_back(Fields{{1, value}});
  wire::PacketId id;
  id.stream = kStream;
  id.wave = first;
  id.wave_end = first + values.size();
  id.sources = sources;
  return {std::move(id), wire::encode_waves(waves)};
}

wire::Packet from(std::uint32_t leaf, std::uint64_t first, std::vector<std::int64_t> values) {
  return packet_of(IntervalSet::of(leaf), first, values);
}

Inbox sum_inbox(std::size_t queue_bytes = 1u << 20) {
  wire::StreamSpec spec;
  spec.id = kStream;
  spec.name = "sum";
  spec.aggregation = "sum";
  Inbox inbox(spec, *filters::make_aggregation("sum", {}), queue_bytes);
  inbox.set_expected(IntervalSet::range(1, 4));
  return inbox;
}

TEST(Inbox, DeliversAWaveWhenAllLeavesHaveContributed) {
  Inbox inbox = sum_inbox();
  inbox.take(from(1, 0, {1}), 0);
  inbox.take(packet_of(IntervalSet::range(2, 4), 0, {30}), 0);
  const auto wave = inbox.receive();
  ASSERT_TRUE(wave);
  EXPECT_EQ(*wave->fields.get<std::int64_t>(1), 31);
  EXPECT_EQ(inbox.account().contributions, 3u);
}

TEST(Inbox, TakesNothingTwiceAndAcknowledgesItAllTheSame) {
  Inbox inbox = sum_inbox();
  inbox.take(from(1, 0, {1, 2}), 0);
  inbox.take_acknowledgement();
  wire::Packet again = from(1, 0, {1, 2});
  again.alone = true;
  inbox.take(again, 0);
  EXPECT_EQ(inbox.account().duplicates, 2u);
  const auto due = inbox.take_acknowledgement();
  ASSERT_EQ(due.stored.size(), 1u);
  EXPECT_EQ(due.stored[0].wave_end, 2u);
}

TEST(Inbox, AsksForTheNewPartOfWhatWasMergedOnTwoWays) {
  Inbox inbox = sum_inbox();
  inbox.take(from(1, 0, {1}), 0);
  inbox.take(packet_of(IntervalSet::range(1, 3), 0, {21}), 0);
  const auto due = inbox.take_acknowledgement();
  ASSERT_EQ(due.resend.size(), 1u);
  EXPECT_EQ(due.resend[0].sources, IntervalSet::of(2));
  EXPECT_EQ(inbox.account().contributions, 1u);
}

TEST(Inbox, TakesOfAResentPacketTheWavesThatAreNew) {
  Inbox inbox = sum_inbox();
  inbox.set_expected(IntervalSet::of(1));
  inbox.take(from(1, 0, {1}), 0);
  wire::Packet resent = from(1, 0, {1, 2, 3});
  resent.alone = true;
  inbox.take(resent, 0);
  EXPECT_EQ(inbox.account().contributions, 3u);
  EXPECT_EQ(inbox.account().duplicates, 1u);
  for (std::int64_t value = 1; value <= 3; ++value) {
    const auto wave = inbox.receive();
    ASSERT_TRUE(wave);
    EXPECT_EQ(*wave->fields.get<std::int64_t>(1), value);
  }
}

TEST(Inbox, CountsATombstoneAsLostAndDropsWhatComesForItLater) {
  Inbox inbox = sum_inbox();
  wire::Packet lost = from(1, 0, {5});
  lost.tombstone = true;
  lost.payload = wire::encode(wire::Tombstone{"full", 1});
  inbox.take(lost, 0);
  inbox.take(from(1, 0, {5}), 0);
  EXPECT_EQ(inbox.account().lost, 1u);
  EXPECT_EQ(inbox.account().duplicates, 1u);
  EXPECT_EQ(inbox.account().contributions, 0u);
}

// However many waves it stands for: one by one these would take for ever.
TEST(Inbox, TakesOfATombstoneTheWavesAndLeavesThatAreNew) {
  Inbox inbox = sum_inbox();
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 62;
  inbox.take(from(1, 1000, {1, 2}), 0);
  inbox.take(from(2, 1001, {3}), 0);
  inbox.take_acknowledgement();
  wire::Packet lost = packet_of(IntervalSet::range(1, 3), 0, {});
  lost.id.wave_end = kEnd;
  lost.tombstone = true;
  lost.payload = wire::encode(wire::Tombstone{"full", 1});
  inbox.take(lost, 0);
  EXPECT_EQ(inbox.account().lost, 2 * (kEnd - 2));
  EXPECT_EQ(inbox.account().duplicates, 2u) << "wave 1001, of both";
  const auto due = inbox.take_acknowledgement();
  ASSERT_EQ(due.resend.size(), 1u) << "wave 1000, of the second leaf";
  EXPECT_EQ(due.resend[0].sources, IntervalSet::of(2));
  EXPECT_EQ(due.resend[0].wave, 1000u);
  EXPECT_EQ(due.resend[0].wave_end, 1001u);
}

TEST(Inbox, CountsWhatCannotBeReadAndAsksForItNoMore) {
  Inbox inbox = sum_inbox();
  wire::Packet garbage = from(1, 0, {5});
  garbage.payload.resize(5);
  inbox.take(garbage, 0);
  EXPECT_EQ(inbox.account().unreadable, 1u);
  EXPECT_EQ(inbox.take_acknowledgement().stored.size(), 1u);
}

TEST(Inbox, AcknowledgesNothingWhileItsQueueIsFull) {
  Inbox inbox = sum_inbox(10'000);
  inbox.set_expected(IntervalSet::of(1));
  std::uint64_t wave = 0;
  while (!inbox.is_full()) inbox.take(from(1, wave++, {1}), 0);
  EXPECT_TRUE(inbox.take_acknowledgement().stored.empty());
  while (inbox.receive()) {
  }
  const auto due = inbox.take_acknowledgement();
  ASSERT_EQ(due.stored.size(), 1u) << "neighbours are named together";
  EXPECT_EQ(due.stored[0].wave_end, wave);
}

TEST(Inbox, TakesNothingBeyondTwiceItsQueueAndAsksForItWhenThereIsRoom) {
  Inbox inbox = sum_inbox(10'000);
  inbox.set_expected(IntervalSet::of(1));
  for (std::uint64_t wave = 0; wave < 1000; ++wave) inbox.take(from(1, wave, {1}), 0);
  EXPECT_LE(inbox.queued_bytes(), 2 * 10'000u + 200);
  std::uint64_t received = 0;
  while (inbox.receive()) ++received;
  EXPECT_LT(received, 1000u);
  EXPECT_EQ(inbox.account().contributions, received);
  const auto due = inbox.take_acknowledgement();
  ASSERT_EQ(due.stored.size(), 1u);
  EXPECT_EQ(due.stored[0].wave_end, received) << "what was not taken is not acknowledged";
  ASSERT_EQ(due.resend.size(), 1u);
  EXPECT_EQ(due.resend[0].sources, IntervalSet::of(1));
  for (std::uint64_t wave = received; wave < received + 10; ++wave) {
    inbox.take(from(1, wave, {1}), 0);
  }
  EXPECT_EQ(inbox.account().contributions, received + 10);
}

TEST(Inbox, KeepsNoAcknowledgementTwiceWhileItIsFull) {
  Inbox inbox = sum_inbox(10'000);
  inbox.set_expected(IntervalSet::range(1, 3));
  std::uint64_t waves = 0;
  while (!inbox.is_full()) {
    inbox.take(from(1, waves, {1}), 0);
    inbox.take(from(2, waves++, {1}), 0);
  }
  for (int impatience = 0; impatience < 10; ++impatience) {
    for (std::uint64_t wave = 0; wave < waves; ++wave) inbox.take(from(1, wave, {1}), 0);
  }
  while (inbox.receive()) {
  }
  EXPECT_LE(inbox.take_acknowledgement().stored.size(), 2 * waves);
}

// Whatever is sent again, in whatever pieces and mergers: each contribution counts once.
TEST(Inbox, CountsEachContributionOnceWhateverComesAgain) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    Inbox inbox = sum_inbox();
    // Leaf 1..3, waves 0..9; the value names both, so that the sum tells who is in it.
    const auto value = [](std::uint64_t leaf, std::uint64_t wave) {
      return static_cast<std::int64_t>((std::uint64_t{1} << (16 * (leaf - 1))) * (wave + 1));
    };
    std::vector<wire::Packet> sent;
    for (std::uint32_t leaf = 1; leaf <= 3; ++leaf) {
      for (std::uint64_t wave = 0; wave < 10; ++wave) {
        sent.push_back(from(leaf, wave, {value(leaf, wave)}));
      }
      std::vector<std::int64_t> whole;
      for (std::uint64_t wave = 0; wave < 10; ++wave) whole.push_back(value(leaf, wave));
      sent.push_back(from(leaf, 0, whole));
      sent.back().alone = true;
    }
    for (std::uint64_t wave = 0; wave < 10; ++wave) {
      sent.push_back(packet_of(IntervalSet::range(1, 3), wave, {value(1, wave) + value(2, wave)}));
    }
    std::shuffle(sent.begin(), sent.end(), random);
    for (auto& packet : sent) inbox.take(std::move(packet), 0);
    std::int64_t total = 0;
    while (auto wave = inbox.receive()) total += *wave->fields.get<std::int64_t>(1);
    std::int64_t expected = 0;
    for (std::uint64_t leaf = 1; leaf <= 3; ++leaf) {
      for (std::uint64_t wave = 0; wave < 10; ++wave) expected += value(leaf, wave);
    }
    EXPECT_EQ(total, expected);
    EXPECT_EQ(inbox.account().contributions, 30u);
  }
}

}  // namespace
}  // namespace xylem::frontend
