// The tables message, wait_state and wait_coverage: what SQL sees of stored chunks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <random>

#include "storage/read/report.h"
#include "storage/read/run_findings_internal.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"
#include "wire/chunk.h"

namespace xylem::storage {
namespace {

using ::testing::HasSubstr;

constexpr FunctionId kBarrierId{2}, kWaitallId{3};

class WaitTablesTest : public StoredRun {
 protected:
  WaitTablesTest() {
    // One leaf for each rank, so each has clocks and chunks of its own.
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      wire::Registration registration;
      registration.host = "node" + std::to_string(rank);
      registration.functions = {{kSend, "MPI_Send", 1},
                                {kReceive, "MPI_Recv", 1},
                                {kBarrierId, "MPI_Barrier", 2},
                                {kWaitallId, "MPI_Waitall", 3}};
      registration.processes = {process_row(1, rank, 1, kRanks)};
      put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(rank)},
                       wire::encode(registration)));
    }
  }

  static wire::Event call(FunctionId function, std::uint8_t flags, std::int32_t peer,
                          std::uint32_t number, Nanos begin, Nanos end) {
    wire::Event event;
    event.function = function;
    event.flags = flags | wire::kEventNumbered;
    event.peer = peer;
    event.number = number;
    event.begin_ns = begin;
    event.end_ns = end;
    event.comm = CommId{0};
    event.tag = flags == 0 ? wire::kNoTag : 7;
    event.bytes = 8;
    return event;
  }
  static wire::Event sent(std::int32_t to, std::uint32_t number, Nanos begin, Nanos end) {
    return call(kSend, wire::kEventSend, to, number, begin, end);
  }
  static wire::Event got(std::int32_t from, std::uint32_t number, Nanos begin, Nanos end) {
    return call(kReceive, wire::kEventReceive, from, number, begin, end);
  }
  static wire::Event barrier(std::uint32_t number, Nanos begin, Nanos end) {
    return call(kBarrierId, 0, wire::kNoPeer, number, begin, end);
  }

  static constexpr std::uint32_t kRanks = 3;
};

TEST_F(WaitTablesTest, AMessageHasOneRowAndAMissingHalfIsNull) {
  put(chunk_packet(0, 1, 0, {sent(1, 0, 10, 20), sent(1, 1, 30, 40)}));
  put(chunk_packet(1, 1, 0, {got(0, 0, 5, 25), got(2, 4, 50, 60)}));
  EXPECT_EQ(ask("SELECT * FROM message ORDER BY source, number"),
            "0|0|7|0|1|0|8|10|25\n"
            "0|0|7|0|1|1|8|30|NULL\n"
            "0|0|7|2|1|4|8|NULL|60\n");
}

TEST_F(WaitTablesTest, AMessageWithoutANumberIsNotPaired) {
  auto send = sent(1, 0, 10, 20);
  send.flags = wire::kEventSend;
  send.number = 0;
  put(chunk_packet(0, 1, 0, {send}));
  put(chunk_packet(1, 1, 0, {got(0, 0, 5, 25)}));
  EXPECT_EQ(ask("SELECT number, sent_ns, received_ns FROM message ORDER BY number"),
            "NULL|10|NULL\n0|NULL|25\n");
}

TEST_F(WaitTablesTest, WaitStatesHaveACauseAndARootCause) {
  put(chunk_packet(0, 1, 0, {got(1, 0, 0, 101), barrier(0, 110, 141)}));
  put(chunk_packet(1, 1, 0, {got(2, 0, 0, 72), sent(0, 0, 100, 101), barrier(0, 140, 141)}));
  put(chunk_packet(2, 1, 0, {sent(1, 0, 70, 71), barrier(0, 140, 141)}));
  EXPECT_EQ(ask("SELECT * FROM wait_state"),
            "0|0|1|late_sender|MPI_Recv|72|1|2\n"
            "0|1|2|late_sender|MPI_Recv|70|1|2\n"
            "0|0|1|wait_at_collective|MPI_Barrier|30|1|1\n"
            "0|0|1|late_sender|MPI_Recv|28|1|1\n");
  EXPECT_EQ(ask("SELECT * FROM wait_coverage"),
            "0|blocking|7|208\n0|analysed|7|208\n0|no_number|0|0\n0|missing|0|0\n"
            "0|ambiguous|0|0\n0|not_covered|0|0\n0|waiting|NULL|200\n0|unfollowed|NULL|0\n");
}

TEST_F(WaitTablesTest, FindingsNameTheRankThatWaitedLongestAndTheRootCause) {
  // Rank 0 waits for rank 1, which waits for rank 2 until 70.
  put(chunk_packet(0, 1, 0, {got(1, 0, 0, 101), barrier(0, 110, 141)}));
  put(chunk_packet(1, 1, 0, {got(2, 0, 0, 72), sent(0, 0, 100, 101), barrier(0, 140, 141)}));
  put(chunk_packet(2, 1, 0, {sent(1, 0, 70, 71), barrier(0, 140, 141)}));
  ASSERT_TRUE(store_->commit());
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  const auto report = make_report(**run);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->wait_states.rows_in_all, 4u);
  ASSERT_EQ(report->wait_states.causes.size(), 2u);
  EXPECT_EQ(report->wait_states.causes[0].rank, Rank{2});
  EXPECT_EQ(report->wait_states.causes[0].time_ns, 142);
  EXPECT_EQ(report->wait_states.causes[0].longest, (std::vector{Rank{0}, Rank{1}}));
  const auto waits = (*run)->wait_states();
  ASSERT_TRUE(waits) << waits.error().message;
  Inquiry inquiry(**run);
  const Activity activity = read_activity(inquiry, waits->get());
  ASSERT_EQ(activity.waits.size(), 2u);  // One of each root cause: ranks 1 and 2.
  const WaitActivity& by_two = activity.waits[1];
  EXPECT_EQ(by_two.rank, Rank{0});
  EXPECT_EQ(by_two.peer, Rank{1});
  EXPECT_EQ(by_two.time_ns, 72u);
  ASSERT_TRUE(by_two.reason);
  EXPECT_EQ(by_two.reason->root, Rank{2});
  EXPECT_EQ(by_two.reason->kind, WaitKind::kLateSender);
  EXPECT_EQ(by_two.reason->in_all_ns, 142u);
  EXPECT_EQ(by_two.reason->ranks, 2u);
  EXPECT_EQ(activity.covered.at(WorldId{0}), 1);
  EXPECT_TRUE(read_activity(inquiry, nullptr).waits.empty())
      << "there are no windows to estimate from";
}

TEST_F(WaitTablesTest, AnAnalysisEndsAtTheDeadline) {
  put(chunk_packet(0, 1, 0, {sent(1, 0, 10, 20)}));
  ASSERT_TRUE(store_->commit());
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  (*run)->set_deadline(1);
  const auto late = (*run)->wait_states();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kTimedOut);
  (*run)->set_deadline(kForever);
  const auto states = (*run)->wait_states();
  ASSERT_TRUE(states) << "the file can be read again: " << states.error().message;
  EXPECT_EQ((*states)->worlds.size(), 1u);
  EXPECT_EQ(*states, *(*run)->wait_states()) << "the result is kept";
}

TEST_F(WaitTablesTest, TheResultIsComputedAgainWhenThereAreMoreEvents) {
  put(chunk_packet(1, 1, 0, {sent(0, 0, 100, 101)}));
  ASSERT_TRUE(store_->commit());
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  const auto count = [&] { return lines_of(*(*run)->rows("SELECT count(*) FROM wait_state")); };
  EXPECT_EQ(count(), "0\n");
  put(chunk_packet(0, 1, 0, {got(1, 0, 0, 101)}));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(count(), "1\n");
}

TEST_F(WaitTablesTest, ARunWithoutEventsHasNoRows) {
  EXPECT_EQ(ask("SELECT * FROM message"), "");
  EXPECT_EQ(ask("SELECT * FROM wait_state"), "");
  EXPECT_EQ(ask("SELECT * FROM wait_coverage"), "");
}

TEST_F(WaitTablesTest, ADamagedChunkIsNamed) {
  put(chunk_packet(0, 1, 0, {sent(1, 0, 10, 20)}));
  ASSERT_TRUE(store_->commit());
  change_file(path_, "UPDATE event_chunk SET chunk = substr(chunk, 1, 20)");
  for (const char* table : {"message", "wait_state", "wait_coverage"}) {
    auto run = RunFile::open(path_);
    ASSERT_TRUE(run) << run.error().message;
    const auto rows = (*run)->rows(std::string("SELECT * FROM ") + table);
    ASSERT_FALSE(rows) << table;
    EXPECT_EQ(rows.error().code, Code::kCorrupt);
    EXPECT_THAT(rows.error().message, HasSubstr("of world 0, rank 0 is damaged"));
  }
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  const auto report = make_report(**run);
  ASSERT_TRUE(report) << "the rest of the report can be made: " << report.error().message;
  EXPECT_THAT(report->wait_states.fault, HasSubstr("is damaged"));
}

TEST_F(WaitTablesTest, AreInTheLoadableExtension) {
  put(chunk_packet(0, 1, 0, {sent(1, 0, 10, 20)}));
  put(chunk_packet(1, 1, 0, {got(0, 0, 0, 21)}));
  ASSERT_TRUE(store_->commit());
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open_v2(path_.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
  char* why = nullptr;
  EXPECT_EQ(sqlite3_load_extension(database, XYLEM_SQLITE_EXTENSION, nullptr, &why), SQLITE_OK)
      << why;
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(
      sqlite3_prepare_v2(database, "SELECT (SELECT count(*) FROM message), time_ns FROM wait_state",
                         -1, &statement, nullptr),
      SQLITE_OK)
      << sqlite3_errmsg(database);
  EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_int(statement, 0), 1);
  EXPECT_EQ(sqlite3_column_int(statement, 1), 10);
  sqlite3_finalize(statement);
  sqlite3_close(database);
}

TEST_F(WaitTablesTest, ACallMayBeInAnotherChunkThanItsCompletion) {
  constexpr std::uint32_t kMessages = 6;
  std::vector<wire::Event> chunk;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const Nanos begin = 100 * Nanos{i};
    put(chunk_packet(0, 1, i, {sent(1, i, begin + 50, begin + 51)}));
    wire::Event call = got(0, i, begin + 10, begin + 60);
    call.function = kWaitallId;
    wire::Event completion = call;
    completion.kind = wire::kKindCompletion;
    completion.calls = 0;
    call.flags = 0;
    call.peer = wire::kNoPeer;
    chunk.push_back(call);
    put(chunk_packet(1, 1, 2 * i - (i == 0 ? 0 : 1), chunk));
    chunk = {completion};
  }
  put(chunk_packet(1, 1, 2 * kMessages - 1, chunk));
  EXPECT_EQ(ask("SELECT kind, function, time_ns, calls FROM wait_state"),
            "late_sender|MPI_Waitall|240|6\n");
}

// The chunks of a process with threads overlap, and are not in the order of their events.
TEST_F(WaitTablesTest, ChunksInAnyOrderGiveTheSameMessages) {
  std::mt19937 random(5);
  std::vector<wire::Event> sends, receives;
  constexpr std::uint32_t kMessages = 20000;
  Nanos expected = 0;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const Nanos begin = 100 * Nanos{i}, wait = static_cast<Nanos>(random() % 50);
    sends.push_back(sent(1, i, begin + wait, begin + wait + 1));
    receives.push_back(got(0, i, begin, begin + wait + 2));
    receives.back().thread = ThreadIndex{static_cast<std::uint32_t>(random() % 2)};
    expected += wait;
  }
  // An agent also writes the records of one ring after those of the other.
  for (std::size_t at = 0; at < kMessages; at += 1000) {
    std::ranges::stable_sort(std::span(receives).subspan(at, 1000), {}, &wire::Event::thread);
  }
  const auto put_chunks = [&](std::uint32_t leaf, const std::vector<wire::Event>& events) {
    for (std::size_t at = 0; at < events.size(); at += 700) {
      const std::size_t end = std::min(events.size(), at + 700);
      put(chunk_packet(leaf, 1, at,
                       {events.begin() + static_cast<std::ptrdiff_t>(at),
                        events.begin() + static_cast<std::ptrdiff_t>(end)}));
    }
  };
  put_chunks(0, sends);
  put_chunks(1, receives);
  EXPECT_EQ(ask("SELECT count(*), count(sent_ns), count(received_ns) FROM message"),
            "20000|20000|20000\n");
  EXPECT_EQ(ask("SELECT sum(time_ns) FROM wait_state WHERE kind = 'late_sender'"),
            std::to_string(expected) + "\n");
}

}  // namespace
}  // namespace xylem::storage
