#include "wire/tombstone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hostile_bytes.h"
#include "tests/support/wire_samples.h"
#include "wire/chunk.h"

namespace xylem::wire {
namespace {

using ::testing::ElementsAre;
using testing::sample_events;
using testing::sample_tombstone;
using testing::sample_tombstone_of_window;
using testing::sample_window;

Packet packet_of(StreamId stream, Lane lane, std::uint64_t wave, std::uint64_t end, Bytes payload) {
  return Packet({stream, lane, wave, end, IntervalSet::of(4)}, std::move(payload));
}

Tombstone opened(const Packet& packet) {
  EXPECT_TRUE(packet.tombstone);
  auto tombstone = decode_tombstone(packet.payload);
  EXPECT_TRUE(tombstone) << tombstone.error().message;
  return tombstone ? *tombstone : Tombstone{};
}

TEST(Tombstone, ComesBackAsItWas) {
  for (const Tombstone& sample : {sample_tombstone(), sample_tombstone_of_window()}) {
    const auto back = decode_tombstone(encode(sample));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, sample);
  }
}

TEST(Tombstone, CutShortAnywhereIsRefused) {
  for (const Tombstone& sample : {sample_tombstone(), sample_tombstone_of_window()}) {
    const Bytes whole = encode(sample);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(decode_tombstone(std::span(whole).first(size))) << "cut to " << size;
    }
  }
}

TEST(Tombstone, OfAWindowTellsWhoseCallsTheyWereAndKeepsItsAccounts) {
  ProfileWindow window = sample_window();
  const ProfileRow row = window.rows.front();
  window.rows = {row, row, row};
  window.rows[2].lane = Lane{9};
  Packet packet = packet_of(kWindowStream, kLeafLane, 7, 8, encode(window));
  packet.last = true;
  const Packet stone = make_tombstone(packet, "the disk was full");
  EXPECT_EQ(stone.id, packet.id);
  EXPECT_TRUE(stone.last);
  const Tombstone tombstone = opened(stone);
  EXPECT_EQ(tombstone.reason, "the disk was full");
  EXPECT_EQ(tombstone.calls, 3 * row.calls);
  EXPECT_THAT(tombstone.lanes, ElementsAre(LaneCalls{row.leaf, row.lane, 2 * row.calls},
                                           LaneCalls{row.leaf, Lane{9}, row.calls}));
  EXPECT_EQ(tombstone.accounts, window.accounts);
}

TEST(Tombstone, CountsTheCallsOfAChunkAndTheSamplesOfASeries) {
  const auto events = sample_events();
  std::uint64_t calls = 0;
  for (const Event& event : events) calls += event.calls;
  const Packet chunk =
      packet_of(kChunkStream, Lane{2}, 100, 100 + events.size(), ChunkEncoder().encode(events));
  EXPECT_EQ(opened(make_tombstone(chunk, "full")).calls, calls);
  EXPECT_EQ(opened(make_tombstone(packet_of(kSeriesStream, Lane{1}, 3, 5, {}), "full")).calls, 2u);
}

TEST(Tombstone, OfAPayloadThatCannotBeReadNamesNobody) {
  const Packet packet = packet_of(kWindowStream, kLeafLane, 1, 2, Bytes(24, std::byte{0xff}));
  EXPECT_EQ(opened(make_tombstone(packet, "full", 12)), (Tombstone{"full", 12}));
}

TEST(Tombstone, IsNeverMadeOfStateNorOfATombstone) {
  EXPECT_FALSE(may_be_given_up(packet_of(kRegistrationStream, kLeafLane, 0, 1, {})));
  EXPECT_FALSE(may_be_given_up(packet_of(kStreamAccountStream, kLeafLane, 0, 1, {})));
  const Packet window = packet_of(kWindowStream, kLeafLane, 0, 1, {});
  EXPECT_TRUE(may_be_given_up(window));
  EXPECT_FALSE(may_be_given_up(make_tombstone(window, "full")));
}

}  // namespace
}  // namespace xylem::wire
