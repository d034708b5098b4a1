// The tables `collective` and `unmatched`: what SQL sees of stored chunks.

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"
#include "wire/chunk.h"

namespace xylem::storage {
namespace {

constexpr FunctionId kReduceId{2}, kStartId{3}, kBarrierInitId{4}, kIbarrierId{5}, kDupId{6};

class MatchingTablesTest : public StoredRun {
 protected:
  MatchingTablesTest() {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      wire::Registration registration;
      registration.host = "node" + std::to_string(rank);
      registration.functions = {{kSend, "MPI_Send", 1},
                                {kReceive, "MPI_Recv", 1},
                                {kReduceId, "MPI_Reduce", 2},
                                {kStartId, "MPI_Start", 1},
                                {kBarrierInitId, "MPI_Barrier_init", 2},
                                {kIbarrierId, "MPI_Ibarrier", 2},
                                {kDupId, "MPI_Comm_dup", 5}};
      registration.processes = {process_row(1, rank, 1, kRanks)};
      put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(rank)},
                       wire::encode(registration)));
    }
  }

  /// The first events of a rank, and an account that says that there are no others.
  void put_all(std::uint32_t rank, const std::vector<wire::Event>& events) {
    if (!events.empty()) put(chunk_packet(rank, 1, 0, events));
    wire::ProfileWindow window;
    wire::AccountRow account;
    account.leaf = LeafId{rank};
    account.lane = Lane{1};
    account.captured = account.windowed = account.events = account.event_calls = events.size();
    window.accounts = {account};
    put(wire::Packet({wire::kWindowStream, kLeafLane, 1, 2, IntervalSet::of(rank)},
                     wire::encode(window)));
  }

  static wire::Event event(FunctionId function, Nanos begin, std::uint16_t flags = 0) {
    wire::Event made;
    made.function = function;
    made.begin_ns = begin;
    made.end_ns = begin + 10;
    made.comm = CommId{0};
    made.flags = flags;
    return made;
  }
  static wire::Event reduce(std::uint32_t number, Nanos begin, bool is_root) {
    wire::Event made = event(kReduceId, begin, wire::kEventNumbered | wire::kEventCollective);
    made.number = number;
    made.peer = 1;
    made.bytes = 8;
    made.room = is_root ? 8 : 0;
    made.operation = 3;
    return made;
  }

  static constexpr std::uint32_t kRanks = 2;
};

TEST_F(MatchingTablesTest, ACollectiveHasOneRowForAllItsRanks) {
  put_all(0, {reduce(0, 100, false), reduce(1, 300, false)});
  put_all(1, {reduce(0, 150, true), reduce(1, 290, true)});
  EXPECT_EQ(ask("SELECT * FROM collective"),
            "0|0|0|MPI_Reduce|2|2|1|sum|16|8|100|160\n"
            "0|0|1|MPI_Reduce|2|2|1|sum|16|8|290|310\n");
  EXPECT_EQ(ask("SELECT * FROM unmatched"), "");
}

TEST_F(MatchingTablesTest, OnCommSelfEachRankIsAlone) {
  auto alone = reduce(0, 100, true);
  alone.comm = wire::kCommSelf;
  put_all(0, {alone});
  put_all(1, {alone});
  EXPECT_EQ(ask("SELECT comm, number, ranks, members FROM collective"), "1|0|1|1\n1|0|1|1\n");
  EXPECT_EQ(ask("SELECT * FROM unmatched"), "");
}

TEST_F(MatchingTablesTest, ACollectiveWithoutAMemberIsNamed) {
  put_all(0, {reduce(0, 100, false), reduce(1, 300, false)});
  put_all(1, {reduce(0, 150, true)});
  EXPECT_EQ(ask("SELECT number, ranks, members FROM collective"), "0|2|2\n1|1|2\n");
  EXPECT_EQ(ask("SELECT * FROM unmatched"),
            "0|0|collective|1|calls of other members are not in the trace\n");
}

TEST_F(MatchingTablesTest, RanksThatCallDifferentFunctionsDoNotMeet) {
  auto other =
      event(kIbarrierId, 100, wire::kEventNumbered | wire::kEventPosts | wire::kEventCollective);
  put_all(0, {reduce(0, 100, false)});
  put_all(1, {other});
  EXPECT_EQ(ask("SELECT function, ranks FROM collective"), "MPI_Ibarrier|1\nMPI_Reduce|1\n");
  EXPECT_EQ(ask("SELECT rank, kind, count FROM unmatched"), "0|collective|1\n1|collective|1\n");
}

TEST_F(MatchingTablesTest, CallsWithoutANumberAreInNoRow) {
  auto unnumbered = reduce(0, 100, false);
  unnumbered.flags = 0;
  auto unknown = reduce(5, 200, false);
  unknown.comm = wire::kNoComm;
  auto elsewhere = reduce(7, 300, false);
  elsewhere.comm = CommId{77};
  put_all(0, {unnumbered, unknown, elsewhere});
  put_all(1, {});
  EXPECT_EQ(ask("SELECT comm, number, ranks, members FROM collective"), "77|7|1|NULL\n");
  EXPECT_EQ(ask("SELECT rank, kind, count, reason FROM unmatched"),
            "0|collective|2|its number is not known\n"
            "0|collective|1|the members of its communicator are not known\n");
}

TEST_F(MatchingTablesTest, ARankThatCallsTwiceIsNamed) {
  put_all(0, {reduce(0, 100, false), reduce(0, 200, false)});
  put_all(1, {reduce(1, 100, true)});
  EXPECT_EQ(ask("SELECT number, ranks FROM collective"), "0|1\n1|1\n");
  EXPECT_EQ(ask("SELECT * FROM unmatched"),
            "0|0|collective|2|a rank has called it twice\n"
            "0|1|collective|1|calls of other members are not in the trace\n");
}

TEST_F(MatchingTablesTest, EarlierChunksHaveNoFlagForCollectives) {
  auto earlier = reduce(0, 100, false);
  earlier.flags = wire::kEventNumbered;
  earlier.operation = wire::kNoOperation;
  put_all(0, {earlier});
  earlier.function = FunctionId{99};  // Its name is not known.
  put_all(1, {earlier});
  EXPECT_EQ(ask("SELECT function, operation, ranks FROM collective"),
            "MPI_Reduce|NULL|1\nfunction 99|NULL|1\n");
  EXPECT_EQ(ask("SELECT received_bytes FROM event"), "NULL\nNULL\n");
}

TEST_F(MatchingTablesTest, FilesOfEarlierSchemasAreRead) {
  put_all(0, {reduce(0, 100, false)});
  put_all(1, {reduce(0, 150, true)});
  ASSERT_TRUE(store_->commit());
  store_.reset();
  for (const int version : {21, 18, 12}) {
    const std::string copy = folder_.file("version_" + std::to_string(version) + ".db");
    std::filesystem::copy_file(path_, copy);
    change_file(copy, back_to(version));
    auto run = RunFile::open(copy);
    ASSERT_TRUE(run) << run.error().message;
    const auto rows = (*run)->rows("SELECT kind FROM unmatched");
    ASSERT_TRUE(rows) << version << ": " << rows.error().message;
    EXPECT_EQ(lines_of(*rows), "") << version;
  }
}

TEST_F(MatchingTablesTest, OnlyStartsOfPersistentCollectivesCount) {
  const auto start = event(kStartId, 200, wire::kEventPosts | wire::kEventCollective);
  const auto message = event(kStartId, 220, wire::kEventPosts);  // Of a receive from nobody.
  auto failed = reduce(0, 250, false);
  failed.flags = 0;
  failed.result = 5;
  put_all(0, {event(kBarrierInitId, 100), start, message, failed, event(kDupId, 400)});
  EXPECT_EQ(ask("SELECT * FROM collective"), "");
  EXPECT_EQ(ask("SELECT kind, count, reason FROM unmatched WHERE rank = 0"),
            "collective|1|its number is not known\n");
}

TEST_F(MatchingTablesTest, HalvesOfMessagesAreNamedWithTheirReason) {
  auto sent = event(kSend, 100, wire::kEventSend | wire::kEventNumbered);
  sent.peer = 1;
  sent.tag = 7;
  auto late = sent;
  late.begin_ns = 200;
  late.number = 1;
  auto unnumbered = sent;
  unnumbered.flags = wire::kEventSend;
  auto received = event(kReceive, 100, wire::kEventReceive | wire::kEventNumbered);
  received.peer = 0;
  received.tag = 7;
  auto never_sent = received;
  never_sent.begin_ns = 200;
  never_sent.number = 9;
  put_all(0, {sent, unnumbered, late});
  put_all(1, {received, never_sent});
  EXPECT_EQ(ask("SELECT * FROM unmatched"),
            "0|0|send|1|its number is not known\n"
            "0|0|send|1|its receive is not in the trace\n"
            "0|1|receive|1|its send is not in the trace\n");
}

TEST_F(MatchingTablesTest, WhatIsNotInTheTraceIsCounted) {
  put_all(0, {reduce(0, 100, false)});
  put_all(1, {reduce(0, 150, true)});
  ASSERT_TRUE(store_->commit());
  wire::ProfileWindow window;
  wire::AccountRow account;
  account.lane = Lane{1};
  account.captured = 9;
  account.lost = 3;
  account.windowed = 6;
  account.events = account.event_calls = 6;
  account.lost_parts = 4;
  account.untracked_receives = 2;
  window.accounts = {account};
  put(wire::Packet({wire::kWindowStream, kLeafLane, 5, 6, IntervalSet::of(0)},
                   wire::encode(window)));
  EXPECT_EQ(ask("SELECT kind, count, reason FROM unmatched WHERE rank = 0"),
            "call|5|their chunks are not in the file\n"
            "call|3|there was no room for their records\n"
            "part|2|the request could not be followed\n"
            "part|4|there was no room for their records\n");
}

TEST_F(MatchingTablesTest, ARankWithoutATraceSaysSo) {
  put_all(0, {reduce(0, 100, false)});
  wire::ProfileWindow window;
  wire::AccountRow account;
  account.leaf = LeafId{1};
  account.lane = Lane{1};
  account.captured = account.windowed = 12;
  window.accounts = {account};
  put(wire::Packet({wire::kWindowStream, kLeafLane, 1, 2, IntervalSet::of(1)},
                   wire::encode(window)));
  EXPECT_EQ(ask("SELECT rank, kind, count, reason FROM unmatched"),
            "0|collective|1|calls of other members are not in the trace\n"
            "1|call|12|the rank has no trace\n");
}

}  // namespace
}  // namespace xylem::storage
