#include "filters/stream_reducer.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "wire/message.h"
#include "wire/waves.h"

namespace xylem::filters {
namespace {

using wire::Fields;
using wire::Synchronisation;

constexpr StreamId kStream{100};

wire::Packet packet_of(std::uint32_t leaf, std::uint64_t first, std::vector<std::int64_t> values) {
  std::vector<Fields> waves;
  for (const std::int64_t value : values) waves.push_back(Fields{{1, value}});
  wire::PacketId id;
  id.stream = kStream;
  id.wave = first;
  id.wave_end = first + values.size();
  id.sources = IntervalSet::of(leaf);
  return {std::move(id), wire::encode_waves(waves)};
}

std::int64_t value_of(const ReducedWave& wave) { return *wave.state.get<std::int64_t>(1); }

StreamReducer sum_of(std::uint64_t first_leaf, std::uint64_t end_leaf,
                     ReducerOptions options = {}) {
  StreamReducer reducer(*make_aggregation("sum", {}), options);
  reducer.set_expected(IntervalSet::range(first_leaf, end_leaf));
  return reducer;
}

TEST(StreamReducer, GivesOutAWaveWhenAllLeavesHaveContributed) {
  StreamReducer reducer = sum_of(1, 4);
  EXPECT_TRUE(reducer.add(packet_of(1, 0, {10, 20}), 0));
  EXPECT_TRUE(reducer.add(packet_of(2, 0, {1, 2}), 0));
  EXPECT_TRUE(reducer.take_ready(0).empty());
  EXPECT_TRUE(reducer.add(packet_of(3, 0, {100}), 0));
  const auto ready = reducer.take_ready(0);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(value_of(ready[0]), 111);
  EXPECT_EQ(ready[0].sources, IntervalSet::range(1, 4));
  EXPECT_TRUE(reducer.add(packet_of(3, 1, {200}), 0));
  ASSERT_EQ(reducer.take_ready(0).size(), 1u);
  EXPECT_EQ(reducer.waiting_bytes(), 0u);
}

TEST(StreamReducer, WaitsForASilentLeafOnlySoLong) {
  StreamReducer reducer = sum_of(1, 3, {.longest_wait = 100});
  reducer.add(packet_of(1, 0, {7}), 1000);
  EXPECT_EQ(reducer.next_deadline(), 1100);
  EXPECT_TRUE(reducer.take_ready(1099).empty());
  ASSERT_EQ(reducer.take_ready(1100).size(), 1u);
  EXPECT_EQ(reducer.next_deadline(), std::numeric_limits<Nanos>::max());
}

TEST(StreamReducer, LetsWhatComesLateGoOnByItself) {
  StreamReducer reducer = sum_of(1, 3, {.longest_wait = 100});
  reducer.add(packet_of(1, 0, {7}), 0);
  reducer.take_ready(100);
  EXPECT_TRUE(reducer.add(packet_of(2, 0, {5}), 150));
  const auto late = reducer.take_ready(150);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].sources, IntervalSet::of(2));
  EXPECT_EQ(value_of(late[0]), 5);
}

TEST(StreamReducer, GivesOutAtOnceWhatNeedNotWait) {
  StreamReducer reducer = sum_of(1, 9, {.synchronisation = Synchronisation::kAsItComes});
  reducer.add(packet_of(1, 0, {7}), 5);
  ASSERT_EQ(reducer.take_ready(5).size(), 1u);
}

TEST(StreamReducer, BecomesReadyWhenTheMissingLeafIsGone) {
  StreamReducer reducer = sum_of(1, 3);
  reducer.add(packet_of(1, 0, {7}), 0);
  reducer.set_expected(IntervalSet::of(1));
  ASSERT_EQ(reducer.take_ready(0).size(), 1u);
}

TEST(StreamReducer, MergesNothingTwice) {
  StreamReducer reducer = sum_of(1, 3);
  reducer.add(packet_of(1, 0, {7}), 0);
  reducer.add(packet_of(1, 0, {7}), 0);
  const auto twice = reducer.take_ready(0);
  ASSERT_EQ(twice.size(), 1u) << "what overlaps goes on by itself, for the root to judge";
  EXPECT_EQ(value_of(twice[0]), 7);
}

TEST(StreamReducer, LeavesAloneWhatIsResentUnlessItIsTheRoot) {
  StreamReducer reducer = sum_of(1, 3);
  wire::Packet resent = packet_of(1, 0, {7});
  resent.alone = true;
  EXPECT_FALSE(reducer.add(resent, 0));
  EXPECT_TRUE(reducer.add(resent, 0, true));
  wire::Packet lost = packet_of(2, 0, {7});
  lost.tombstone = true;
  EXPECT_FALSE(reducer.add(lost, 0, true));
  wire::Packet garbage = packet_of(2, 0, {7});
  garbage.payload.resize(3);
  EXPECT_FALSE(reducer.add(garbage, 0));
}

TEST(StreamReducer, PassesOnWhatDoesNotFitAsAPartOfItsOwn) {
  StreamReducer reducer = sum_of(1, 3);
  reducer.add(packet_of(1, 0, {7}), 0);
  reducer.add(0, IntervalSet::of(2), Fields{{1, 2.5}}, 0);
  // Nobody waits for leaf 2 any more: what it sent has gone on.
  const auto parts = reducer.take_ready(0);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].sources, IntervalSet::of(2));
  EXPECT_EQ(parts[1].sources, IntervalSet::of(1));
  EXPECT_EQ(value_of(parts[1]), 7);
  EXPECT_EQ(reducer.waiting_bytes(), 0u);
}

TEST(StreamReducer, WaitsForTheOthersAfterAContributionThatDoesNotFit) {
  StreamReducer reducer = sum_of(1, 4, {.longest_wait = 100});
  reducer.add(packet_of(1, 0, {7}), 0);
  reducer.add(0, IntervalSet::of(2), Fields{{1, 2.5}}, 0);
  EXPECT_EQ(reducer.take_ready(0).size(), 1u);
  reducer.add(packet_of(3, 0, {10}), 0);
  const auto rest = reducer.take_ready(0);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(value_of(rest[0]), 17);
}

// 1 MiB from each of 40 leaves: 15 fit into a frame.
TEST(StreamReducer, MergesOnlyWhatFitsIntoAFrame) {
  const auto filter = *make_aggregation("concatenation", {});
  StreamReducer reducer(filter, {});
  reducer.set_expected(IntervalSet::range(1, 41));
  for (std::uint32_t leaf = 1; leaf <= 40; ++leaf) {
    auto lifted =
        filter->lift(LeafId{leaf}, Fields{{1, std::vector<std::int64_t>((1u << 20) / 8)}});
    ASSERT_TRUE(lifted);
    reducer.add(0, IntervalSet::of(leaf), *std::move(lifted), 0);
  }
  auto packets = pack(kStream, reducer.take_ready(0));
  ASSERT_EQ(packets.size(), 3u);
  EXPECT_EQ(packets[0].id.sources, IntervalSet::range(1, 16));
  EXPECT_EQ(packets[1].id.sources, IntervalSet::range(16, 31));
  EXPECT_EQ(packets[2].id.sources, IntervalSet::range(31, 41));
  for (const auto& packet : packets) {
    EXPECT_LE(wire::encode(packet).size(), wire::kMaxFrameBytes + sizeof(std::uint32_t));
  }
}

TEST(StreamReducer, PacksNoMoreWavesThanFitIntoAFrame) {
  std::vector<ReducedWave> waves;
  waves.push_back({0, IntervalSet::of(1), Fields{{1, std::int64_t{1}}}});
  waves.push_back({1, IntervalSet::of(1),
                   Fields{{1, std::vector<std::byte>(wire::max_payload_bytes(1) - 100)}}});
  waves.push_back({2, IntervalSet::of(1), Fields{{1, std::int64_t{1}}}});
  const auto packets = pack(kStream, std::move(waves));
  ASSERT_EQ(packets.size(), 3u);
  for (const auto& packet : packets) {
    EXPECT_LE(wire::encode(packet).size(), wire::kMaxFrameBytes + sizeof(std::uint32_t));
  }
}

TEST(StreamReducer, HoldsNoMoreThanItsBound) {
  StreamReducer reducer = sum_of(1, 3, {.max_waiting_bytes = 1000});
  for (std::uint64_t wave = 0; wave < 1000; ++wave) {
    reducer.add(packet_of(1, wave, {1}), 0);
    reducer.take_ready(0);
    ASSERT_LE(reducer.waiting_bytes(), 1100u);
  }
}

TEST(StreamReducer, PacksNeighboursOfEqualSourcesTogether) {
  std::vector<ReducedWave> waves;
  for (std::uint64_t number : {0, 1, 2, 5, 6}) {
    waves.push_back({number, IntervalSet::range(1, 3), Fields{{1, std::int64_t{1}}}});
  }
  waves.push_back({7, IntervalSet::of(1), Fields{{1, std::int64_t{1}}}});
  const auto packets = pack(kStream, std::move(waves));
  ASSERT_EQ(packets.size(), 3u);
  EXPECT_EQ(packets[0].id.wave, 0u);
  EXPECT_EQ(packets[0].id.wave_end, 3u);
  EXPECT_EQ(packets[1].id.wave_end, 7u);
  EXPECT_EQ(packets[2].id.sources, IntervalSet::of(1));
  EXPECT_TRUE(wire::decode_waves(packets[0].payload, 3));
}

// Any tree over the leaves, in any order of arrival, gives what one flat gather gives.
TEST(StreamReducer, IsTheFlatGatherInAnyTree) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 engine(seed);
  const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 50; ++round) {
    const std::uint32_t leaves = 2 + random() % 20;
    const std::uint32_t groups = 1 + random() % leaves;
    const std::uint64_t waves = 1 + random() % 30;
    std::vector<StreamReducer> inner;
    std::vector<IntervalSet> below(groups);
    std::vector<std::vector<wire::Packet>> packets(groups);
    std::vector<std::int64_t> sums(waves);
    for (std::uint32_t leaf = 1; leaf <= leaves; ++leaf) {
      const std::uint32_t group = random() % groups;
      below[group].insert(leaf);
      for (std::uint64_t wave = 0; wave < waves;) {
        std::vector<std::int64_t> values(1 + random() % std::min<std::uint64_t>(5, waves - wave));
        for (auto& value : values) value = static_cast<std::int64_t>(random());
        for (std::size_t i = 0; i < values.size(); ++i) sums[wave + i] += values[i];
        packets[group].push_back(packet_of(leaf, wave, values));
        wave += values.size();
      }
    }
    StreamReducer root = sum_of(1, leaves + 1);
    for (std::uint32_t group = 0; group < groups; ++group) {
      if (below[group].empty()) continue;
      inner.push_back(sum_of(1, 1));
      inner.back().set_expected(below[group]);
      std::shuffle(packets[group].begin(), packets[group].end(), engine);
      for (const auto& packet : packets[group]) {
        ASSERT_TRUE(inner.back().add(packet, 0));
        for (const auto& up : pack(kStream, inner.back().take_ready(0))) {
          ASSERT_TRUE(root.add(up, 0, true));
        }
      }
    }
    const auto ready = root.take_ready(0);
    ASSERT_EQ(ready.size(), waves);
    for (std::uint64_t wave = 0; wave < waves; ++wave) {
      EXPECT_EQ(ready[wave].number, wave);
      EXPECT_EQ(value_of(ready[wave]), sums[wave]);
    }
  }
}

}  // namespace
}  // namespace xylem::filters
