// Promises of every store, tested with both stores. The store in memory is the model for the other.

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "tests/unit/storage/packets.h"

namespace xylem::storage {
namespace {

using Kind = PutOutcome::Kind;

class EveryStore : public ::testing::TestWithParam<const char*> {
 protected:
  EveryStore() {
    if (GetParam() == std::string("memory")) {
      store_ = make_memory_store();
    } else {
      auto made = make_sqlite_store({folder_.file("run.db")});
      EXPECT_TRUE(made) << made.error().message;
      store_ = std::move(*made);
    }
    RunFacts facts;
    facts.command = {"mpirun", "-n", "4", "./app"};
    EXPECT_TRUE(store_->begin_run(facts));
  }

  PutOutcome put(const wire::Packet& packet) {
    auto outcome = store_->put(packet);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : PutOutcome{};
  }
  void commit() {
    const auto committed = store_->commit();
    ASSERT_TRUE(committed) << committed.error().message;
  }
  std::vector<AccountLine> account() {
    auto lines = store_->account();
    EXPECT_TRUE(lines) << lines.error().message;
    return lines ? *lines : std::vector<AccountLine>{};
  }
  /// Rank 0 of world 0 is lane 1 of leaf 7.
  void register_one() { put(registration_packet(7, {process_row(1, 0)})); }

  Folder folder_;
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Storage, EveryStore, ::testing::Values("memory", "sqlite"),
                         [](const auto& which) { return std::string(which.param); });

AccountLine line(std::uint32_t world, std::uint32_t rank, std::uint64_t captured,
                 std::uint64_t stored, std::uint64_t lost, bool complete) {
  return {WorldId{world}, Rank{rank}, captured, stored, lost, complete};
}

TEST_P(EveryStore, CountsAProcessThatEndedAndIsAllThereAsComplete) {
  register_one();
  put(window_packet(0, 7, 10, account_row(7, 1, 10)));
  put(window_packet(1, 7, 5, account_row(7, 1, 15, true)));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 15, 15, 0, true)}));
}

TEST_P(EveryStore, ShowsOnlyWhatIsCommitted) {
  register_one();
  put(window_packet(0, 7, 10, account_row(7, 1, 10)));
  EXPECT_GT(store_->pending_bytes(), 0u);
  EXPECT_TRUE(account().empty());
  commit();
  EXPECT_EQ(store_->pending_bytes(), 0u);
  EXPECT_EQ(account().size(), 1u);
}

TEST_P(EveryStore, CallsAProcessIncompleteWhileItsLastWindowIsMissing) {
  register_one();
  put(window_packet(1, 7, 5, account_row(7, 1, 15, true)));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 15, 5, 0, false)}));
  put(window_packet(0, 7, 10, account_row(7, 1, 10)));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 15, 15, 0, true)}));
}

TEST_P(EveryStore, CallsAProcessIncompleteWhileItLives) {
  register_one();
  put(window_packet(0, 7, 10, account_row(7, 1, 10)));
  commit();
  EXPECT_FALSE(account().front().complete);
}

TEST_P(EveryStore, CountsWhatMetAFullRingAsLost) {
  register_one();
  put(window_packet(0, 7, 8, account_row(7, 1, 10, true, 2)));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 10, 8, 2, true)}));
}

TEST_P(EveryStore, TakesTheNewestAccountWhateverTheOrderOfArrival) {
  register_one();
  put(window_packet(2, 7, 1, account_row(7, 1, 30, true)));
  put(window_packet(1, 7, 19, account_row(7, 1, 29)));
  put(window_packet(0, 7, 10, account_row(7, 1, 10)));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 30, 30, 0, true)}));
}

TEST_P(EveryStore, DropsAWindowWhoseSourcesAreAllKnown) {
  register_one();
  const auto packet = window_packet(0, 7, 10, account_row(7, 1, 10));
  EXPECT_EQ(put(packet).kind, Kind::kStored);
  EXPECT_EQ(put(packet).kind, Kind::kDuplicate);
  commit();
  EXPECT_EQ(put(packet).kind, Kind::kDuplicate);
  commit();
  EXPECT_EQ(account().front().stored, 10u);
}

TEST_P(EveryStore, DropsAWindowOfWhichAPartIsKnownAndNamesTheRest) {
  put(window_packet(0, 3, 1, account_row(3, 1, 1)));
  wire::ProfileWindow merged;
  merged.rows = {profile_row(2, 1, 5), profile_row(3, 1, 1), profile_row(4, 1, 6)};
  const PutOutcome outcome = put(window_packet(0, IntervalSet::range(2, 5), merged));
  EXPECT_EQ(outcome.kind, Kind::kPartlyKnown);
  EXPECT_EQ(outcome.missing.to_string(), "2,4");
  // A packet that is sent again alone is stored.
  EXPECT_EQ(put(window_packet(0, 2, 5, account_row(2, 1, 5))).kind, Kind::kStored);
  EXPECT_EQ(put(window_packet(0, 4, 6, account_row(4, 1, 6))).kind, Kind::kStored);
  EXPECT_EQ(put(window_packet(0, IntervalSet::range(2, 5), merged)).kind, Kind::kDuplicate);
}

TEST_P(EveryStore, KeepsSourcesOfDifferentWavesApart) {
  EXPECT_EQ(put(window_packet(0, 3, 1, account_row(3, 1, 1))).kind, Kind::kStored);
  EXPECT_EQ(put(window_packet(1, 3, 1, account_row(3, 1, 2))).kind, Kind::kStored);
}

TEST_P(EveryStore, KnowsAChunkByTheRangeOfItsRecords) {
  EXPECT_EQ(put(chunk_packet(7, 1, 0, 100)).kind, Kind::kStored);
  EXPECT_EQ(put(chunk_packet(7, 1, 200, 300)).kind, Kind::kStored);
  EXPECT_EQ(put(chunk_packet(7, 1, 20, 80)).kind, Kind::kDuplicate);
  EXPECT_EQ(put(chunk_packet(7, 1, 100, 200)).kind, Kind::kStored);
  EXPECT_EQ(put(chunk_packet(7, 1, 0, 300)).kind, Kind::kDuplicate);
  const PutOutcome part = put(chunk_packet(7, 1, 250, 350));
  EXPECT_EQ(part.kind, Kind::kPartlyKnown);
  EXPECT_EQ(part.missing, IntervalSet::of(7));
  EXPECT_EQ(put(chunk_packet(7, 2, 0, 100)).kind, Kind::kStored) << "another process";
  EXPECT_EQ(put(chunk_packet(8, 1, 0, 100)).kind, Kind::kStored) << "another leaf";
}

TEST_P(EveryStore, StoresATombstoneAsALossInPlaceOfItsPacket) {
  register_one();
  const auto given_up = window_packet(0, 7, 10, account_row(7, 1, 10));
  EXPECT_EQ(put(tombstone_of(given_up, 10)).kind, Kind::kStored);
  EXPECT_EQ(put(given_up).kind, Kind::kDuplicate) << "whichever is first is the truth";
  put(window_packet(1, 7, 5, account_row(7, 1, 15, true)));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 15, 5, 10, true)}));
}

TEST_P(EveryStore, TellsWhoseCallsWereGivenUpWhenTheCountersOfTheHostAgree) {
  put(registration_packet(7, {process_row(1, 0), process_row(2, 1)}));
  wire::ProfileWindow both;
  both.rows = {profile_row(7, 1, 10), profile_row(7, 2, 20)};
  both.accounts = {account_row(7, 1, 10), account_row(7, 2, 20)};
  put(tombstone_of(window_packet(0, IntervalSet::of(7), both), 30));
  wire::ProfileWindow last;
  last.rows = {profile_row(7, 1, 3)};
  last.accounts = {account_row(7, 1, 13, true), account_row(7, 2, 20, true)};
  put(window_packet(2, IntervalSet::of(7), last));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 13, 3, 10, true), line(0, 1, 20, 0, 20, true)}));
}

TEST_P(EveryStore, AttributesNothingWhileTheCountersOfTheHostDoNotAgree) {
  put(registration_packet(7, {process_row(1, 0), process_row(2, 1)}));
  put(tombstone_of(window_packet(0, 7, 10, account_row(7, 1, 10)), 10));
  put(window_packet(2, 7, 3, account_row(7, 1, 15, true)));  // Wave 1, 2 calls, is on its way.
  commit();
  EXPECT_EQ(account().front(), line(0, 0, 15, 3, 0, false));
  put(window_packet(1, 7, 2, account_row(7, 1, 12)));
  commit();
  EXPECT_EQ(account().front(), line(0, 0, 15, 5, 10, true));
}

TEST_P(EveryStore, KeepsAnAccountWhateverCountersAreClaimed) {
  put(registration_packet(7, {process_row(1, 0), process_row(2, 1)}));
  put(tombstone_of(window_packet(0, 7, 10, account_row(7, 1, 10)), 10));
  wire::ProfileWindow absurd;
  absurd.accounts = {account_row(7, 1, ~std::uint64_t{0}), account_row(7, 2, ~std::uint64_t{0})};
  put(window_packet(1, IntervalSet::of(7), absurd));
  commit();
  ASSERT_EQ(account().size(), 2u);
  EXPECT_FALSE(account().front().complete);
}

// Two short ranks end while nothing can be stored. The windows of a third rank are still missing.
TEST_P(EveryStore, KeepsTheAccountOfEachRankWhoseLastWindowWasGivenUp) {
  put(registration_packet(7, {process_row(1, 0), process_row(2, 1), process_row(3, 2)}));
  wire::ProfileWindow first;
  first.rows = {profile_row(7, 1, 10), profile_row(7, 2, 20), profile_row(7, 3, 30)};
  first.accounts = {account_row(7, 1, 10), account_row(7, 2, 20), account_row(7, 3, 30)};
  put(window_packet(0, IntervalSet::of(7), first));
  wire::ProfileWindow last;
  last.rows = {profile_row(7, 1, 5), profile_row(7, 2, 6), profile_row(7, 3, 7)};
  last.accounts = {account_row(7, 1, 15, true), account_row(7, 2, 29, true, 3),
                   account_row(7, 3, 37)};
  const wire::Packet whole = window_packet(1, IntervalSet::of(7), last);
  EXPECT_EQ(put(wire::make_tombstone(whole, "the journal was full")).kind, Kind::kStored);
  put(window_packet(3, 7, 1, account_row(7, 3, 40, true)));  // Wave 2, 2 calls, is on its way.
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 15, 10, 5, true), line(0, 1, 29, 20, 9, true),
                                    line(0, 2, 40, 31, 7, false)}));
  EXPECT_EQ(put(whole).kind, Kind::kDuplicate) << "whichever is first is the truth";
  put(window_packet(2, 7, 2, account_row(7, 3, 39)));
  commit();
  EXPECT_EQ(account().back(), line(0, 2, 40, 33, 7, true));
}

TEST_P(EveryStore, AttributesTheCallsOfAMergedWindowThatWasGivenUp) {
  put(registration_packet(7, {process_row(1, 0)}));
  put(registration_packet(8, {process_row(1, 1)}));
  wire::ProfileWindow both;
  both.rows = {profile_row(7, 1, 10), profile_row(8, 1, 20)};
  both.accounts = {account_row(7, 1, 10, true), account_row(8, 1, 20, true)};
  put(wire::make_tombstone(window_packet(0, IntervalSet::range(7, 9), both), "the disk was full"));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 10, 0, 10, true), line(0, 1, 20, 0, 20, true)}));
}

TEST_P(EveryStore, BelievesNoTombstoneThatTellsOfAnotherLeaf) {
  register_one();
  put(window_packet(0, 7, 10, account_row(7, 1, 10, true)));
  wire::Packet lie =
      wire::make_tombstone(window_packet(0, 7, 5, account_row(7, 1, 99)), "no reason");
  lie.id.sources = IntervalSet::of(8);
  put(lie);
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 10, 10, 0, true)}));
}

TEST_P(EveryStore, DropsATombstoneWhosePacketCameFirst) {
  register_one();
  const auto packet = window_packet(0, 7, 10, account_row(7, 1, 10, true));
  EXPECT_EQ(put(packet).kind, Kind::kStored);
  EXPECT_EQ(put(tombstone_of(packet, 10)).kind, Kind::kDuplicate);
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 10, 10, 0, true)}));
}

TEST_P(EveryStore, TakesTombstonesOfChunksByTheirRange) {
  const auto chunk = chunk_packet(7, 1, 0, 100);
  EXPECT_EQ(put(tombstone_of(chunk, 100)).kind, Kind::kStored);
  EXPECT_EQ(put(chunk).kind, Kind::kDuplicate);
}

TEST_P(EveryStore, NumbersWorldsInOrderOfTheirFirstAppearance) {
  put(registration_packet(5, {process_row(1, 0, 9)}));
  put(registration_packet(6, {process_row(1, 0, 3), process_row(2, 1, 9)}, 1));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 0, 0, 0, false), line(0, 1, 0, 0, 0, false),
                                    line(1, 0, 0, 0, 0, false)}));
}

TEST_P(EveryStore, TakesRegistrationsAsStateHoweverOften) {
  const auto packet = registration_packet(7, {process_row(1, 0)});
  EXPECT_EQ(put(packet).kind, Kind::kStored);
  EXPECT_EQ(put(packet).kind, Kind::kStored);
  commit();
  EXPECT_EQ(account().size(), 1u);
}

TEST_P(EveryStore, NamesAProcessThatWasCountedBeforeItRegistered) {
  put(window_packet(0, 7, 10, account_row(7, 1, 10, true)));
  commit();
  EXPECT_TRUE(account().empty());
  register_one();
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 10, 10, 0, true)}));
}

TEST_P(EveryStore, HidesProcessesThatNeverInitialisedMpi) {
  wire::ProcessRow row = process_row(1, 0);
  row.initialised = false;
  put(registration_packet(7, {row}));
  commit();
  EXPECT_TRUE(account().empty());
}

TEST_P(EveryStore, DoesNotForgetAWorldWhenAnOlderRegistrationComesLate) {
  register_one();
  wire::ProcessRow before = process_row(1, 0);
  before.initialised = false;
  put(registration_packet(7, {before}, 1));
  commit();
  EXPECT_EQ(account().size(), 1u);
}

TEST_P(EveryStore, LeavesAccountsOfALostHostIncomplete) {
  register_one();
  put(window_packet(0, 7, 10, account_row(7, 1, 10, true)));
  ASSERT_TRUE(store_->put_host_lost(LeafId{7}, "no heartbeat for 3 s"));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 10, 10, 0, false)}));
}

TEST_P(EveryStore, ClosesALostHostAtTheEndWithWhatItHadReportedAndNeverSent) {
  register_one();
  put(window_packet(0, 7, 10, account_row(7, 1, 10)));
  put(window_packet(2, 7, 5, account_row(7, 1, 40, false, 3)));
  ASSERT_TRUE(store_->put_host_lost(LeafId{7}, "no heartbeat for 3 s"));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 40, 15, 3, false)})) << "it may still come back";
  ASSERT_TRUE(store_->end_run(0, 1));
  EXPECT_EQ(account(), (std::vector{line(0, 0, 40, 15, 25, false)}));
}

TEST_P(EveryStore, CountsWhatALostHostHadGivenUpItselfOnce) {
  register_one();
  const auto window = window_packet(1, 7, 20, account_row(7, 1, 30));
  put(window_packet(0, 7, 10, account_row(7, 1, 10)));
  put(tombstone_of(window, 20, "the journal was full"));
  put(window_packet(3, 7, 1, account_row(7, 1, 36)));
  ASSERT_TRUE(store_->put_host_lost(LeafId{7}, "no heartbeat for 3 s"));
  ASSERT_TRUE(store_->end_run(0, 1));
  EXPECT_EQ(account(), (std::vector{line(0, 0, 36, 11, 25, false)}));
}

TEST_P(EveryStore, ClosesNoHostThatWasHeardOfAgain) {
  register_one();
  put(window_packet(0, 7, 10, account_row(7, 1, 10)));
  ASSERT_TRUE(store_->put_host_lost(LeafId{7}, "no heartbeat for 3 s"));
  commit();
  ASSERT_TRUE(store_->put_host_lost(LeafId{7}, ""));
  put(window_packet(1, 7, 5, account_row(7, 1, 15, true)));
  ASSERT_TRUE(store_->end_run(0, 1));
  EXPECT_EQ(account(), (std::vector{line(0, 0, 15, 15, 0, true)}));
}

TEST_P(EveryStore, StoresWhatCannotBeDecodedAsALossSoThatItIsNotSentAgain) {
  register_one();
  auto packet = window_packet(0, 7, 10, account_row(7, 1, 10));
  packet.payload.assign(17, std::byte{0xff});
  EXPECT_EQ(put(packet).kind, Kind::kStored);
  EXPECT_EQ(put(packet).kind, Kind::kDuplicate);
  auto chunk = chunk_packet(7, 1, 0, 10);
  chunk.payload.resize(chunk.payload.size() / 4);
  EXPECT_EQ(put(chunk).kind, Kind::kStored);
  put(window_packet(1, 7, 5, account_row(7, 1, 15, true)));
  commit();
  EXPECT_EQ(account(), (std::vector{line(0, 0, 15, 5, 0, false)})) << "10 calls are missing";
}

TEST_P(EveryStore, DoesNotBelieveAWindowThatTellsOfLeavesWhichAreNotItsSources) {
  register_one();
  wire::ProfileWindow window;
  window.rows = {profile_row(7, 1, 1000)};
  EXPECT_EQ(put(window_packet(0, IntervalSet::of(8), window)).kind, Kind::kStored);
  commit();
  EXPECT_EQ(account().front().stored, 0u);
}

TEST_P(EveryStore, TakesAnEmptyPayloadAsNothingToTell) {
  wire::Packet packet({wire::kWindowStream, kLeafLane, 0, 1, IntervalSet::range(2, 9)}, {});
  EXPECT_EQ(put(packet).kind, Kind::kStored);
  EXPECT_EQ(put(packet).kind, Kind::kDuplicate);
}

TEST_P(EveryStore, RefusesStreamsItDoesNotKnowAndImpossibleIdentities) {
  auto good = window_packet(0, 7, 1, account_row(7, 1, 1));
  std::vector<wire::Packet> bad(6, good);
  bad[0].id.stream = wire::kFirstToolStream;
  bad[1].id.sources = {};
  bad[2].id.sources = IntervalSet::of(raw(wire::kNoLeaf));
  bad[3].id.wave_end = bad[3].id.wave;
  bad[4] = chunk_packet(7, 1, 0, 10);
  bad[4].id.sources = IntervalSet::range(7, 9);
  bad[5] = chunk_packet(7, 1, 0, 10);
  bad[5].id.lane = kLeafLane;
  for (const wire::Packet& packet : bad) {
    const auto outcome = store_->put(packet);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Code::kInvalidArgument) << outcome.error().message;
  }
  EXPECT_EQ(put(good).kind, Kind::kStored) << "a bad packet harms no other";
  commit();
}

TEST_P(EveryStore, TakesNodesClocksLinksAndItsEnd) {
  EXPECT_TRUE(store_->put_node({kFrontEndNode, wire::Role::kFrontEnd, "node0", kFrontEndNode, 0, 1,
                                wire::kNoLeaf, "started"}));
  EXPECT_TRUE(store_->put_clock({LeafId{7}, 5, -3, 1}));
  EXPECT_TRUE(store_->put_link({NodeId{1}, 2, 3, 4, 5, 6, 7, 8}, 9));
  EXPECT_TRUE(store_->put_host_facts({LeafId{7}, {{"idle", 0.5}}}, 9));
  EXPECT_TRUE(store_->put_notice(wire::Notice{}, 9));
  EXPECT_GT(store_->pending_bytes(), 0u);
  EXPECT_TRUE(store_->end_run(3, realtime_now()));
}

// One run with several front ends, one after the other, in memory or in a file.
class EverySuccession : public ::testing::TestWithParam<const char*> {
 protected:
  /// The store of the first front end.
  std::unique_ptr<Store> begin() {
    RunFacts facts;
    facts.run_id = kRun;
    facts.epoch_ns = 42;
    std::unique_ptr<Store> store;
    if (is_in_memory()) {
      store = open_memory_store(run_).store;
    } else {
      auto made = make_sqlite_store({path_});
      EXPECT_TRUE(made) << made.error().message;
      store = std::move(*made);
      live_path_ = store->live_path();
    }
    EXPECT_TRUE(store->begin_run(facts));
    return store;
  }
  ResumedStore take_over() {
    if (is_in_memory()) return open_memory_store(run_);
    auto resumed = resume_sqlite_store({path_, live_path_, kRun});
    EXPECT_TRUE(resumed) << resumed.error().message;
    return std::move(*resumed);
  }
  bool is_in_memory() const { return GetParam() == std::string("memory"); }

  static constexpr const char* kRun = "3a";
  Folder folder_;
  std::string path_ = folder_.file("run.db");
  std::string live_path_;
  MemoryRun run_;
};

INSTANTIATE_TEST_SUITE_P(Storage, EverySuccession, ::testing::Values("memory", "sqlite"),
                         [](const auto& which) { return std::string(which.param); });

wire::Packet last_window(std::uint64_t wave, std::uint32_t leaf) {
  wire::Packet packet = window_packet(wave, IntervalSet::of(leaf), {});
  packet.last = true;
  return packet;
}

/// Lets a superseded front end store a packet. Returns the failure of its commit.
std::optional<Code> code_of_commit(Store& store, const wire::Packet& packet) {
  static_cast<void>(store.put(packet));
  const auto committed = store.commit();
  if (committed) return std::nullopt;
  return committed.error().code;
}

TEST_P(EverySuccession, TakesNothingFromWhomItSuperseded) {
  auto first = begin();
  const auto packet = window_packet(1, IntervalSet::of(7), {});
  auto second = take_over().store;
  EXPECT_EQ(code_of_commit(*first, packet), Code::kSuperseded);
  EXPECT_EQ(code_of_commit(*first, packet), Code::kSuperseded) << "not once, but for good";
  const auto end = first->end_run(0, realtime_now());
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Code::kSuperseded);
  first.reset();
  const auto again = second->put(packet);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->kind, PutOutcome::Kind::kStored);
  EXPECT_TRUE(second->commit());
}

TEST_P(EverySuccession, TellsASuccessorWhatIsCommittedAndNoMore) {
  auto first = begin();
  const NodeRow back_end{
      NodeId{5}, wire::Role::kBackEnd, "node1", kFrontEndNode, 1, 9, LeafId{7}, "attached", "key",
      {}};
  NodeRow inner{NodeId{6},
                wire::Role::kCommProcess,
                "node1",
                kFrontEndNode,
                1,
                10,
                wire::kNoLeaf,
                "started",
                "key",
                {{"10.0.0.1", 4711, "", ""}}};
  inner.reason = "even: fewest processes first, 2 there";
  ASSERT_TRUE(first->put_node(inner));
  inner.state = "attached";
  inner.addresses = {{"10.0.0.2", 4712, "", ""}, {"", 0, "/dev/shm/x/socket", "node1-key"}};
  wire::ProcessRow early = process_row(2, 1);
  early.initialised = false;
  ASSERT_TRUE(first->put(last_window(3, 7)));
  ASSERT_TRUE(first->put(last_window(3, 8)));
  ASSERT_TRUE(first->put(registration_packet(7, {process_row(1, 3, 9, 64), early})));
  ASSERT_TRUE(first->put_node(inner));
  ASSERT_TRUE(first->put_node(back_end));
  ASSERT_TRUE(first->commit());
  ASSERT_TRUE(first->put(window_packet(4, IntervalSet::of(8), {})));
  ASSERT_TRUE(first->put(last_window(5, 9)));
  first.reset();  // Before it has committed.

  const auto [second, past] = take_over();
  EXPECT_EQ(past.front_ends, 2u);
  EXPECT_EQ(past.epoch_ns, 42);
  EXPECT_EQ(past.ended, IntervalSet::range(7, 9));
  EXPECT_EQ(past.nodes, (std::vector{back_end, inner}));
  EXPECT_EQ(past.processes,
            (std::vector<PastProcess>{{LeafId{7}, Lane{1}, true, world_key(9), 64, Rank{3}},
                                      {LeafId{7}, Lane{2}, false, {}, 0, Rank{}}}));
  EXPECT_EQ(second->put(last_window(3, 7))->kind, PutOutcome::Kind::kDuplicate);
  EXPECT_EQ(second->put(window_packet(4, IntervalSet::of(8), {}))->kind, PutOutcome::Kind::kStored);
  EXPECT_TRUE(second->commit());
}

TEST_P(EverySuccession, CountsOnThroughAnyNumberOfFrontEnds) {
  auto store = begin();
  ASSERT_TRUE(store->put(registration_packet(7, {process_row(1, 0)})));
  for (std::uint64_t wave = 0; wave < 5; ++wave) {
    const bool ended = wave == 4;
    const auto packet = window_packet(wave, 7, 10, account_row(7, 1, 10 * (wave + 1), ended));
    ASSERT_TRUE(store->put(packet));
    ASSERT_TRUE(store->commit());
    store.reset();
    auto resumed = take_over();
    EXPECT_EQ(resumed.past.front_ends, wave + 2);
    store = std::move(resumed.store);
    EXPECT_EQ(store->put(packet)->kind, PutOutcome::Kind::kDuplicate);
  }
  ASSERT_TRUE(store->commit());
  EXPECT_EQ(*store->account(), (std::vector{line(0, 0, 50, 50, 0, true)}));
}

TEST_P(EverySuccession, EndsARunAgainWhoseFrontEndDiedRightAfterItsEnd) {
  auto first = begin();
  ASSERT_TRUE(first->put(registration_packet(7, {process_row(1, 0)})));
  ASSERT_TRUE(first->put(window_packet(0, 7, 10, account_row(7, 1, 10, true))));
  ASSERT_TRUE(first->end_run(3, realtime_now()));
  first.reset();
  auto [second, past] = take_over();
  EXPECT_EQ(past.front_ends, 2u);
  ASSERT_TRUE(second->end_run(3, realtime_now()));
  EXPECT_EQ(*second->account(), (std::vector{line(0, 0, 10, 10, 0, true)}));
}

// Random packets in random order: some come twice, some are merged, some are given up. Both stores
// decide and count alike, and neither counts a call twice.
TEST(StoresAgree, OnAnyOrderOfPackets) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::uint64_t max) { return random() % max; };
  for (int trial = 0; trial < 10; ++trial) {
    Folder folder;
    auto memory = make_memory_store();
    auto made = make_sqlite_store({folder.file("run.db")});
    ASSERT_TRUE(made) << made.error().message;
    auto& sqlite = *made;
    ASSERT_TRUE(memory->begin_run({}));
    ASSERT_TRUE(sqlite->begin_run({}));
    for (int step = 0; step < 400; ++step) {
      wire::Packet packet;
      const auto leaf = static_cast<std::uint32_t>(pick(5));
      const auto lane = static_cast<std::uint32_t>(1 + pick(2));
      const std::uint64_t wave = pick(30);
      if (pick(10) == 0) {
        packet = registration_packet(leaf, {process_row(lane, leaf * 2 + lane, leaf % 2)}, wave);
      } else if (pick(3) == 0) {
        const std::uint64_t first = pick(200);
        packet = chunk_packet(leaf, lane, first, first + 1 + pick(40));
      } else {
        const auto last = static_cast<std::uint32_t>(leaf + pick(3));
        wire::ProfileWindow window;
        for (std::uint32_t source = leaf; source <= last; ++source) {
          window.rows.push_back(profile_row(source, 1, 1 + wave));
          window.accounts.push_back(account_row(source, 1, wave * 10, pick(4) == 0, pick(3)));
        }
        packet = window_packet(wave, IntervalSet::range(leaf, last + 1), window);
      }
      if (pick(10) == 0) {
        const bool names_lanes = pick(2) == 0 && wire::may_be_given_up(packet);
        packet = names_lanes ? wire::make_tombstone(packet, "the journal was full")
                             : tombstone_of(packet, pick(20));
      }
      const auto ours = memory->put(packet);
      const auto theirs = sqlite->put(packet);
      ASSERT_TRUE(ours && theirs) << step;
      ASSERT_EQ(ours->kind, theirs->kind) << "step " << step;
      ASSERT_EQ(ours->missing, theirs->missing) << "step " << step;
      if (pick(20) == 0) {
        ASSERT_TRUE(memory->commit());
        ASSERT_TRUE(sqlite->commit());
        ASSERT_EQ(*memory->account(), *sqlite->account()) << "step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace xylem::storage
