#include "filters/wave_merger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "filters/profile_merge.h"

namespace xylem::filters {
namespace {

wire::Packet window_of(std::uint32_t leaf, std::uint64_t wave, std::uint64_t calls) {
  wire::ProfileWindow window;
  window.begin_ns = static_cast<Nanos>(wave) * 100;
  window.end_ns = window.begin_ns + 100;
  wire::ProfileRow row;
  row.leaf = LeafId{leaf};
  row.lane = Lane{1};
  row.calls = calls;
  window.rows.push_back(row);
  window.under_way.emplace_back().leaf = LeafId{leaf};
  window.under_way.back().lane = Lane{1};
  window.earlier.emplace_back().leaf = LeafId{leaf};
  window.earlier.back().lane = Lane{1};
  wire::PacketId id;
  id.stream = wire::kWindowStream;
  id.wave = wave;
  id.wave_end = wave + 1;
  id.sources = IntervalSet::of(leaf);
  return {std::move(id), wire::encode(window)};
}

WaveMerger merger_of(std::uint64_t first_leaf, std::uint64_t end_leaf) {
  WaveMerger merger(merge_window_packets, {.time_out = 100});
  merger.set_expected(IntervalSet::range(first_leaf, end_leaf));
  return merger;
}

TEST(WaveMerger, MergesWhenAllExpectedLeavesHaveAnswered) {
  WaveMerger merger = merger_of(1, 3);
  merger.add(window_of(1, 5, 10), 0);
  EXPECT_TRUE(merger.take_ready(0).empty());
  merger.add(window_of(2, 5, 20), 1);
  const auto ready = merger.take_ready(1);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].id.sources, IntervalSet::range(1, 3));
  EXPECT_EQ(ready[0].id.wave, 5u);
  EXPECT_FALSE(ready[0].alone);
  const auto window = wire::decode_profile_window(ready[0].payload);
  ASSERT_TRUE(window);
  ASSERT_EQ(window->rows.size(), 2u);
  EXPECT_EQ(window->rows[0].calls, 10u);
  EXPECT_EQ(window->rows[1].calls, 20u);
  EXPECT_EQ(window->under_way.size(), 2u);
  EXPECT_EQ(window->earlier.size(), 2u);
  EXPECT_EQ(merger.waiting_bytes(), 0u);
}

TEST(WaveMerger, WaitsNoLongerThanItsTimeOut) {
  WaveMerger merger = merger_of(1, 3);
  merger.add(window_of(1, 5, 10), 1000);
  EXPECT_EQ(merger.next_deadline(), 1100);
  EXPECT_TRUE(merger.take_ready(1099).empty());
  ASSERT_EQ(merger.take_ready(1100).size(), 1u);
  // What comes late goes on by itself, when its own time is up.
  merger.add(window_of(2, 5, 20), 1200);
  const auto late = merger.take_ready(1300);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].id.sources, IntervalSet::of(2));
}

TEST(WaveMerger, NeverMergesWhatIsResentOrATombstone) {
  WaveMerger merger = merger_of(1, 4);
  merger.add(window_of(1, 5, 10), 0);
  wire::Packet resent = window_of(2, 5, 20);
  resent.alone = true;
  merger.add(std::move(resent), 0);
  wire::Packet tombstone = window_of(3, 5, 0);
  tombstone.tombstone = true;
  merger.add(std::move(tombstone), 0);
  const auto ready = merger.take_ready(0);
  ASSERT_EQ(ready.size(), 2u);
  EXPECT_TRUE(ready[0].alone);
  EXPECT_TRUE(ready[1].tombstone);
}

TEST(WaveMerger, TellsOfEachSourceWhetherItWasItsLast) {
  WaveMerger merger = merger_of(1, 6);
  for (std::uint32_t leaf = 1; leaf <= 5; ++leaf) {
    wire::Packet packet = window_of(leaf, 5, leaf);
    packet.last = leaf % 2 == 0;
    merger.add(std::move(packet), 0);
  }
  const auto ready = merger.take_ready(0);
  ASSERT_EQ(ready.size(), 2u);
  IntervalSet going_on = IntervalSet::of(1), ended = IntervalSet::of(2);
  going_on.insert(IntervalSet::of(3));
  going_on.insert(IntervalSet::of(5));
  ended.insert(IntervalSet::of(4));
  EXPECT_FALSE(ready[0].last);
  EXPECT_EQ(ready[0].id.sources, going_on);
  EXPECT_TRUE(ready[1].last);
  EXPECT_EQ(ready[1].id.sources, ended);
  EXPECT_EQ(merger.waiting_bytes(), 0u);
}

TEST(WaveMerger, PassesOnAPacketThatOverlapsForTheRootToDecide) {
  WaveMerger merger = merger_of(1, 4);
  merger.add(window_of(1, 5, 10), 0);
  merger.add(window_of(1, 5, 10), 0);
  const auto ready = merger.take_ready(0);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].id.sources, IntervalSet::of(1));
}

TEST(WaveMerger, ForgetsLeavesThatEnded) {
  WaveMerger merger = merger_of(1, 3);
  merger.add(window_of(1, 5, 10), 0);
  merger.set_expected(IntervalSet::of(1));
  EXPECT_EQ(merger.take_ready(0).size(), 1u);
}

TEST(WaveMerger, PassesOnUnreadablePayloadsOneByOne) {
  WaveMerger merger = merger_of(1, 3);
  wire::Packet bad = window_of(1, 5, 10);
  bad.payload.assign(3, std::byte{0xff});
  merger.add(std::move(bad), 0);
  merger.add(window_of(2, 5, 20), 0);
  EXPECT_EQ(merger.take_ready(0).size(), 2u);
}

TEST(WaveMerger, GivesOutTheOldestWhenTooMuchWaits) {
  WaveMerger merger(merge_window_packets, {.time_out = 1000, .max_waiting_bytes = 100});
  merger.set_expected(IntervalSet::range(1, 100));
  for (std::uint64_t wave = 0; wave < 50; ++wave) merger.add(window_of(1, wave, 1), 0);
  const auto ready = merger.take_ready(0);
  ASSERT_FALSE(ready.empty());
  EXPECT_EQ(ready.front().id.wave, 0u);
  EXPECT_LE(merger.waiting_bytes(), 100u);
}

// A two-level tree in any order of arrival must give the root what a flat gather gives.
TEST(WaveMerger, EqualsAFlatGatherForRandomTreesAndOrders) {
  std::mt19937 random(20240607);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    const auto leaves = static_cast<std::uint32_t>(1 + random() % 12);
    const auto nodes = static_cast<std::uint32_t>(1 + random() % 4);
    std::vector<wire::Packet> sent;
    for (std::uint32_t leaf = 1; leaf <= leaves; ++leaf)
      sent.push_back(window_of(leaf, 7, 1 + random() % 1000));

    std::vector<wire::ProfileWindow> flat;
    for (const auto& packet : sent) flat.push_back(*wire::decode_profile_window(packet.payload));
    const wire::ProfileWindow expected = merge_profile_windows(flat);

    std::shuffle(sent.begin(), sent.end(), random);
    WaveMerger root = merger_of(1, leaves + 1);
    for (std::uint32_t n = 0; n < nodes; ++n) {
      WaveMerger inner = merger_of(1, leaves + 1);
      for (const auto& packet : sent) {
        if (raw(wire::decode_profile_window(packet.payload)->rows[0].leaf) % nodes == n) {
          inner.add(packet, 0);
        }
      }
      for (auto& packet : inner.flush()) root.add(std::move(packet), 0);
    }
    const auto ready = root.take_ready(0);
    ASSERT_EQ(ready.size(), 1u);
    EXPECT_EQ(*wire::decode_profile_window(ready[0].payload), expected);
    EXPECT_EQ(ready[0].id.sources, IntervalSet::range(1, leaves + 1));
  }
}

}  // namespace
}  // namespace xylem::filters
