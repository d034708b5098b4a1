// Streams in a run's file: a wave is one row, and has the part of each leaf once.

#include "wire/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "storage/read/query.h"
#include "storage/read/report.h"
#include "storage/write/stream_intake_internal.h"
#include "tests/unit/storage/stored_run.h"
#include "wire/waves.h"

namespace xylem::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr StreamId kSum{raw(wire::kFirstStoredStream)};
constexpr StreamId kRaw{raw(wire::kFirstStoredStream) + 1};

/// Adds up field 1, an int64. A packet without it is no state, and one with field 9 never fits.
class SumFold final : public StreamFold {
 public:
  bool merges(StreamId stream) const override { return stream == kSum; }
  bool merge(StreamId, wire::Fields& state, const wire::Fields& other) const override {
    const auto* ours = state.find_as<std::int64_t>(1);
    const auto* theirs = other.find_as<std::int64_t>(1);
    if (ours == nullptr || theirs == nullptr || other.find(9) != nullptr) return false;
    state.set(1, *ours + *theirs);
    return true;
  }
  std::optional<wire::Fields> finish(StreamId, const wire::Fields& state) const override {
    if (state.find_as<std::int64_t>(1) == nullptr) return std::nullopt;
    return state;
  }
};

wire::Fields number(std::int64_t value) { return {{1, value}}; }

class StreamTest : public StoredRun {
 protected:
  StreamTest() : StoredRun(facts(), "run.db", std::make_shared<SumFold>()) {
    store_->set_time(7 * kSecond);
  }

  static RunFacts facts() {
    RunFacts facts;
    facts.streams = {{kSum, "energy", "sum", "wait_for_all"}, {kRaw, "steps", "", "as_it_comes"}};
    return facts;
  }

  static wire::Packet waves(StreamId stream, std::uint64_t first, const IntervalSet& sources,
                            const std::vector<wire::Fields>& fields) {
    return wire::Packet({stream, kLeafLane, first, first + fields.size(), sources},
                        wire::encode_waves(fields));
  }
  static wire::Packet account(std::uint32_t leaf, std::uint64_t sum_sent, bool last) {
    const wire::Fields fields{
        {wire::kAccountStreams, std::vector<std::uint64_t>{raw(kSum), raw(kRaw)}},
        {wire::kAccountSent, std::vector<std::uint64_t>{sum_sent, 0}}};
    wire::Packet packet({wire::kStreamAccountStream, kLeafLane, 0, 1, IntervalSet::of(leaf)},
                        wire::encode_waves({&fields, 1}));
    packet.last = last;
    return packet;
  }
  static wire::Packet tombstone(std::uint64_t first, std::uint64_t end, std::uint32_t leaf) {
    wire::Packet packet({kSum, kLeafLane, first, end, IntervalSet::of(leaf)},
                        wire::encode(wire::Tombstone{"the leaf's journal was full", end - first}));
    packet.tombstone = true;
    return packet;
  }

  /// A program on node4 with leaf 1.
  void put_program(const char* state) {
    EXPECT_TRUE(store_->put_node(
        {NodeId{4}, wire::Role::kProgram, "node4", kFrontEndNode, 1, 9, LeafId{1}, state}));
    const bool is_lost = std::string(state) == "lost";
    EXPECT_TRUE(store_->put_host_lost(LeafId{1}, is_lost ? "not heard of any more" : ""));
  }
};

TEST_F(StreamTest, AWaveIsOneRowHoweverManyPartsItCameIn) {
  put(waves(kSum, 0, IntervalSet::range(1, 3), {number(30), number(31)}));
  put(waves(kSum, 1, IntervalSet::of(7), {number(5)}));
  EXPECT_EQ(ask("SELECT stream, wave, at_ns, sources, leaves, fields FROM stream_value"),
            "energy|0|7000000000|1-2|2|{\"1\":30}\n"
            "energy|1|7000000000|1-2,7|3|{\"1\":36}\n");
}

TEST_F(StreamTest, WithoutAnAggregationEveryLeafsWaveIsARow) {
  put(waves(kRaw, 4, IntervalSet::of(1), {number(1)}));
  put(waves(kRaw, 4, IntervalSet::of(2), {number(2)}));
  EXPECT_EQ(ask("SELECT wave, sources, fields FROM stream_value WHERE stream = 'steps'"),
            "4|1|{\"1\":1}\n4|2|{\"1\":2}\n");
}

TEST_F(StreamTest, WhatDoesNotFitIsARowOfItsOwn) {
  put(waves(kSum, 0, IntervalSet::of(1), {number(1)}));
  put(waves(kSum, 0, IntervalSet::of(2), {wire::Fields{{1, std::int64_t{2}}, {9, "x"}}}));
  EXPECT_EQ(ask("SELECT sources FROM stream_value"), "1\n2\n");
  EXPECT_EQ(ask("SELECT sum(stored) FROM stream_account"), "2\n");
}

TEST_F(StreamTest, AKnownPacketIsDroppedAndAPartlyKnownWaveAskedForAgain) {
  put(waves(kSum, 0, IntervalSet::of(1), {number(1), number(2)}));
  EXPECT_EQ(put(waves(kSum, 0, IntervalSet::of(1), {number(1), number(2)})).kind,
            PutOutcome::Kind::kDuplicate);
  // Waves 1 and 2 of leaves 1 and 2. In wave 1 only leaf 2 is new; in wave 2 both are new.
  const PutOutcome outcome =
      put(waves(kSum, 1, IntervalSet::range(1, 3), {number(100), number(200)}));
  EXPECT_THAT(outcome.settled,
              ElementsAre(wire::PacketId{kSum, kLeafLane, 2, 3, IntervalSet::range(1, 3)}));
  EXPECT_THAT(outcome.again,
              ElementsAre(wire::PacketId{kSum, kLeafLane, 1, 2, IntervalSet::of(2)}));
  EXPECT_EQ(ask("SELECT wave, fields FROM stream_value"),
            "0|{\"1\":1}\n1|{\"1\":2}\n2|{\"1\":200}\n");
}

TEST_F(StreamTest, ATombstoneCountsWhatIsNotStoredAndWhatComesLaterIsDropped) {
  put(waves(kSum, 3, IntervalSet::of(1), {number(1)}));
  put(tombstone(2, 1'000'000'000'000, 1));
  EXPECT_EQ(put(waves(kSum, 5, IntervalSet::of(1), {number(9)})).kind,
            PutOutcome::Kind::kDuplicate);
  EXPECT_EQ(put(tombstone(2, 9, 1)).kind, PutOutcome::Kind::kDuplicate);
  EXPECT_EQ(ask("SELECT stored, lost, reason FROM stream_account"),
            "1|999999999997|the leaf's journal was full\n");
}

TEST_F(StreamTest, AnAccountIsTheLeafsOwnCountAndIsCompleteWhenAllOfItIsHere) {
  EXPECT_TRUE(store_->put_node(
      {NodeId{4}, wire::Role::kBackEnd, "node4", kFrontEndNode, 1, 9, LeafId{1}, "attached"}));
  put(waves(kSum, 0, IntervalSet::of(1), {number(1), number(2)}));
  put(account(1, 2, false));
  const std::string sql = "SELECT leaf, host, sent, stored, lost, complete FROM stream_account";
  EXPECT_EQ(ask(sql + " WHERE stream = 'energy'"), "1|node4|2|2|0|0\n");
  put(account(1, 3, true));
  EXPECT_EQ(ask(sql + " WHERE stream = 'energy'"), "1|node4|3|2|0|0\n");
  put(tombstone(2, 3, 1));
  EXPECT_EQ(ask(sql + " WHERE stream = 'energy'"), "1|node4|3|2|1|1\n");
  put(account(1, 2, false));  // An old one, sent again.
  EXPECT_EQ(ask(sql + " WHERE stream = 'energy'"), "1|node4|3|2|1|1\n");
}

TEST_F(StreamTest, WavesThatNeverCameOfALostLeafAreLost) {
  put(waves(kSum, 0, IntervalSet::of(1), {number(1)}));
  put(account(1, 5, false));
  ASSERT_TRUE(store_->put_host_lost(LeafId{1}, "not heard of any more"));
  ASSERT_TRUE(store_->end_run(0, kSecond));
  store_.reset();
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  const auto rows = (*run)->rows(
      "SELECT sent, stored, lost, complete, reason FROM stream_account WHERE sent > 0");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(integer_of(rows->at(0).at(2)), 4);
  EXPECT_EQ(integer_of(rows->at(0).at(3)), 0);
  EXPECT_EQ(text_of(rows->at(0).at(4)), "not heard of any more");
  const auto report = make_report(**run);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->streams.size(), 2u);
  EXPECT_EQ(report->streams[0].name, "energy");
  EXPECT_EQ(report->streams[0].lost, 4u);
  EXPECT_EQ(report->streams[0].waves, 1u);
  const auto faults = verify_totals(**run);
  ASSERT_TRUE(faults) << faults.error().message;
  EXPECT_THAT(*faults, IsEmpty());
}

TEST_F(StreamTest, AProgramThatIsLostIsNoHostAndItsAccountSaysWhy) {
  put_program("attached");
  put(waves(kSum, 0, IntervalSet::of(1), {number(1)}));
  put(account(1, 5, false));
  const std::string sql =
      "SELECT host, sent, stored, lost, complete, reason FROM stream_account WHERE sent > 0";
  put_program("lost");
  EXPECT_EQ(ask(sql), "node4|5|1|0|0|the program on node4 was not heard of any more\n");
  put_program("attached");
  EXPECT_EQ(ask(sql), "node4|5|1|0|0|NULL\n") << "it was heard of again";
  put_program("lost");
  EXPECT_EQ(ask("SELECT count(*) FROM host"), "0\n");
  ASSERT_TRUE(store_->end_run(0, kSecond));
  store_.reset();
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  const auto rows = (*run)->rows("SELECT lost, reason FROM stream_account WHERE sent > 0");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(integer_of(rows->at(0).at(0)), 4);
  EXPECT_EQ(text_of(rows->at(0).at(1)), "the program on node4 was not heard of any more");
  const auto report = make_report(**run);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->run.hosts, 0u);
}

TEST_F(StreamTest, WhatWavesWereLostByStaysWhenTheirProgramIsLostAndComesBack) {
  put_program("attached");
  put(tombstone(0, 3, 1));
  put(account(1, 3, false));
  const std::string sql = "SELECT lost, complete, reason FROM stream_account WHERE sent > 0";
  EXPECT_EQ(ask(sql), "3|0|the leaf's journal was full\n");
  put_program("lost");
  EXPECT_EQ(ask(sql), "3|0|the program on node4 was not heard of any more\n");
  put_program("attached");
  EXPECT_EQ(ask(sql), "3|0|the leaf's journal was full\n");
  put_program("lost");
  put(account(1, 3, true));
  EXPECT_EQ(ask(sql), "3|1|the leaf's journal was full\n") << "it had ended";
}

TEST_F(StreamTest, WhatCannotBeReadIsLost) {
  put(wire::Packet({kSum, kLeafLane, 0, 2, IntervalSet::of(1)}, wire::Bytes(24, std::byte{7})));
  EXPECT_EQ(ask("SELECT stored, lost FROM stream_account"), "0|2\n");
  EXPECT_THAT(ask("SELECT reason FROM stream_account"), HasSubstr("cannot be read"));
}

TEST_F(StreamTest, ASuccessorMergesWhatItsPredecessorHasStored) {
  put(waves(kSum, 0, IntervalSet::of(1), {number(1)}));
  ASSERT_TRUE(store_->commit());
  resume();
  EXPECT_EQ(put(waves(kSum, 0, IntervalSet::of(1), {number(1)})).kind,
            PutOutcome::Kind::kDuplicate);
  put(waves(kSum, 0, IntervalSet::of(2), {number(10)}));
  EXPECT_EQ(ask("SELECT sources, fields FROM stream_value"), "1-2|{\"1\":11}\n");
}

TEST_F(StreamTest, ImpossibleIdentitiesAreRefused) {
  wire::PacketId of_a_process{kSum, Lane{1}, 0, 1, IntervalSet::of(1)};
  wire::PacketId of_everybody{kSum, kLeafLane, 0, 1, IntervalSet::range(0, 1u << 30)};
  wire::PacketId of_a_tools_tree{wire::kFirstToolStream, kLeafLane, 0, 1, IntervalSet::of(1)};
  wire::PacketId account_of_two{wire::kStreamAccountStream, kLeafLane, 0, 1,
                                IntervalSet::range(1, 3)};
  for (const auto& id : {of_a_process, of_everybody, of_a_tools_tree, account_of_two}) {
    EXPECT_FALSE(store_->put(wire::Packet(id, {}))) << raw(id.stream);
  }
}

TEST_F(StreamTest, TheLeafThatHasSentItsLastAccountHasEnded) {
  put(account(3, 0, true));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(resume().ended, IntervalSet::of(3));
}

// Packets may be merged, come twice or be given up. Each leaf's part of a wave is in the sums once,
// or it is lost. Both stores decide alike for each packet.
TEST_F(StreamTest, SumsAreThoseOfAModelWhateverIsSentAgainMergedOrGivenUp) {
  constexpr std::uint32_t kSeed = 20261122;  // Fixed, so that a failure can be repeated.
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  constexpr std::uint32_t kLeaves = 5;
  constexpr std::uint64_t kWaves = 40;
  const auto value = [](std::uint64_t leaf, std::uint64_t wave) {
    return static_cast<std::int64_t>(leaf * 1000 + wave);
  };
  auto memory = make_memory_store();
  ASSERT_TRUE(memory->begin_run({}));
  std::map<std::uint64_t, std::int64_t> sums;           // By wave.
  std::map<std::uint64_t, IntervalSet> known;           // By wave: leaves that are decided.
  std::map<std::uint64_t, std::uint64_t> stored, lost;  // By leaf.
  for (int step = 0; step < 3000; ++step) {
    const std::uint64_t first = random() % kWaves;
    const std::uint64_t end = std::min(kWaves, first + 1 + random() % 4);
    IntervalSet sources = IntervalSet::of(1 + random() % kLeaves);
    if (random() % 8 == 0) {
      const auto leaf = static_cast<std::uint32_t>(sources.intervals().front().first);
      const wire::Packet packet = tombstone(first, end, leaf);
      put(packet);
      ASSERT_TRUE(memory->put(packet));
      for (auto wave = first; wave < end; ++wave) {
        if (!known[wave].contains(leaf)) ++lost[leaf];
        known[wave].insert(leaf);
      }
      continue;
    }
    for (int more = static_cast<int>(random() % 3); more > 0; --more) {
      sources.insert(1 + random() % kLeaves);
    }
    std::vector<wire::Fields> fields;
    for (auto wave = first; wave < end; ++wave) {
      std::int64_t sum = 0;
      for (std::uint64_t leaf = 1; leaf <= kLeaves; ++leaf) {
        if (sources.contains(leaf)) sum += value(leaf, wave);
      }
      fields.push_back(number(sum));
    }
    const wire::Packet packet = waves(kSum, first, sources, fields);
    const PutOutcome ours = put(packet);
    const auto theirs = memory->put(packet);
    ASSERT_TRUE(theirs);
    IntervalSet asked_again;
    for (const auto& id : ours.again) asked_again.insert(id.wave);
    IntervalSet asked_by_memory;
    for (const auto& id : theirs->again) asked_by_memory.insert(id.wave);
    EXPECT_EQ(asked_again, asked_by_memory);
    for (auto wave = first; wave < end; ++wave) {
      EXPECT_EQ(asked_again.contains(wave),
                judge_sources(sources, known[wave]).kind == PutOutcome::Kind::kPartlyKnown);
      if (known[wave].intersects(sources)) continue;
      known[wave].insert(sources);
      sums[wave] += fields[wave - first].get<std::int64_t>(1).value();
      for (std::uint64_t leaf = 1; leaf <= kLeaves; ++leaf) stored[leaf] += sources.contains(leaf);
    }
  }
  std::string expected, accounts;
  for (const auto& [wave, sum] : sums) {
    expected += std::to_string(wave) + "|{\"1\":" + std::to_string(sum) + "}\n";
  }
  for (std::uint64_t leaf = 1; leaf <= kLeaves; ++leaf) {
    accounts += std::to_string(leaf) + "|" + std::to_string(stored[leaf]) + "|" +
                std::to_string(lost[leaf]) + "\n";
  }
  EXPECT_EQ(ask("SELECT wave, fields FROM stream_value ORDER BY wave"), expected);
  EXPECT_EQ(ask("SELECT leaf, stored, lost FROM stream_account ORDER BY leaf"), accounts);
}

TEST(FieldsAsJson, EveryTypeIsWhatSqliteReads) {
  const double infinite = std::numeric_limits<double>::infinity();
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(to_json({{1, std::int64_t{-4}},
                     {2, std::uint64_t{18446744073709551615u}},
                     {3, 0.25},
                     {4, std::vector<double>{1.5, unknown, infinite, -infinite}},
                     {5, "a \"b\"\n\xc3\xa4"},
                     {6, std::string("\xff\x01", 2)},
                     {7, std::vector<std::byte>{std::byte{0xab}, std::byte{0x01}}},
                     {8, std::vector<std::string>{"x", "y"}},
                     {9, std::vector<std::int64_t>{}}}),
            "{\"1\":-4,\"2\":18446744073709551615,\"3\":0.25,\"4\":[1.5,null,9e999,-9e999],"
            "\"5\":\"a \\\"b\\\"\\u000a\xc3\xa4\",\"6\":\"\\u00ff\\u0001\",\"7\":\"ab01\","
            "\"8\":[\"x\",\"y\"],\"9\":[]}");
  EXPECT_EQ(to_json(wire::Fields()), "{}");
}

}  // namespace
}  // namespace xylem::storage
