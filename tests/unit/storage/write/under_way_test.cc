// Calls that have not returned, time that is reported late, and the time in which a rank was
// watched.

#include <gtest/gtest.h>

#include "storage/read/query.h"
#include "storage/write/store.h"
#include "tests/unit/storage/packets.h"

namespace xylem::storage {
namespace {

class UnderWayTest : public ::testing::Test {
 protected:
  UnderWayTest() {
    auto made = make_sqlite_store({path_});
    EXPECT_TRUE(made) << made.error().message;
    store_ = std::move(*made);
    EXPECT_TRUE(store_->begin_run({}));
    put(registration_packet(7, {process_row(1, 0), process_row(2, 1)}));
  }

  void put(const wire::Packet& packet) { EXPECT_TRUE(store_->put(packet)); }

  /// The answer as text: columns are divided by blanks, rows by semicolons.
  std::string ask(const std::string& sql) {
    EXPECT_TRUE(store_->commit());
    auto run = RunFile::open(path_);
    if (!run) return run.error().message;
    const auto rows = (*run)->rows(sql);
    if (!rows) return rows.error().message;
    std::string all;
    for (const auto& row : *rows) {
      if (!all.empty()) all += ";";
      for (std::size_t i = 0; i < row.size(); ++i) all += (i == 0 ? "" : " ") + to_text(row[i]);
    }
    return all;
  }

  static wire::UnderWayRow receive(std::uint32_t lane, Nanos begin_ns) {
    wire::UnderWayRow row;
    row.leaf = LeafId{7};
    row.lane = Lane{lane};
    row.thread = ThreadIndex{0};
    row.function = kReceive;
    row.begin_ns = begin_ns;
    row.peer = Rank{1};
    row.comm = CommId{0};
    return row;
  }

  /// A row of a call that is under way. It has time, but no calls.
  static wire::ProfileRow part(std::uint32_t lane, std::uint64_t time_ns) {
    wire::ProfileRow row;
    row.leaf = LeafId{7};
    row.lane = Lane{lane};
    row.function = kReceive;
    row.time_ns = time_ns;
    return row;
  }

  Folder folder_;
  std::string path_ = folder_.file("run.db");
  std::unique_ptr<Store> store_;
};

TEST_F(UnderWayTest, ShowsACallFromTheWindowInWhichItIsSeenUntilALaterWindowOfItsRank) {
  wire::ProfileWindow window;
  window.rows = {part(1, 100)};
  window.under_way = {receive(1, 123)};
  put(window_packet(4, IntervalSet::of(7), window));
  const std::string sql =
      "SELECT world, rank, thread, function, begin_ns, peer, comm, at_ns FROM under_way";
  EXPECT_EQ(ask(sql), "0 0 0 MPI_Recv 123 1 0 1250000000");
  put(window_packet(5, IntervalSet::of(7), window));
  EXPECT_EQ(ask(sql), "0 0 0 MPI_Recv 123 1 0 1500000000");
  wire::ProfileWindow other;
  other.rows = {profile_row(7, 2, 3)};
  put(window_packet(6, IntervalSet::of(7), other));
  EXPECT_EQ(ask("SELECT rank FROM under_way"), "0") << "another rank's call ends nothing";
  wire::ProfileWindow ended;
  ended.rows = {profile_row(7, 1, 1, kReceive)};
  put(window_packet(7, IntervalSet::of(7), ended));
  EXPECT_EQ(ask(sql), "");
}

TEST_F(UnderWayTest, AnOlderWindowThatComesLateHidesNothing) {
  wire::ProfileWindow window;
  window.rows = {part(1, 100)};
  window.under_way = {receive(1, 500)};
  put(window_packet(9, IntervalSet::of(7), window));
  window.under_way = {receive(1, 100)};
  put(window_packet(3, IntervalSet::of(7), window));
  EXPECT_EQ(ask("SELECT begin_ns FROM under_way"), "500");
}

// Ranks 0 and 1 are in a call. The window that is given up has a call of rank 0, but only time of
// rank 1.
TEST_F(UnderWayTest, AGivenUpWindowWithCallsOfARankMayHaveTheEndOfItsCall) {
  wire::ProfileWindow window;
  window.rows = {part(1, 100), part(2, 100)};
  window.under_way = {receive(1, 500), receive(2, 600)};
  put(window_packet(4, IntervalSet::of(7), window));
  wire::ProfileWindow given_up;
  given_up.rows = {profile_row(7, 1, 1, kReceive), part(2, 100)};
  given_up.accounts = {account_row(7, 1, 1, true)};
  put(wire::make_tombstone(window_packet(5, IntervalSet::of(7), given_up), "the journal was full"));
  EXPECT_EQ(ask("SELECT rank, begin_ns FROM under_way"), "1 600");
  EXPECT_EQ(ask("SELECT count(*) FROM call_under_way"), "1")
      << "nobody knows whether rank 0 ended in that call";
}

TEST_F(UnderWayTest, ACallThatIsSeenAfterTheGivenUpWindowIsListedAgain) {
  wire::ProfileWindow given_up;
  given_up.rows = {profile_row(7, 1, 1, kReceive)};
  const wire::Packet early = window_packet(3, IntervalSet::of(7), given_up);
  const wire::Packet late = window_packet(5, IntervalSet::of(7), given_up);
  wire::ProfileWindow window;
  window.rows = {part(1, 100)};
  window.under_way = {receive(1, 500)};
  put(window_packet(4, IntervalSet::of(7), window));
  put(wire::make_tombstone(early, "the journal was full"));
  EXPECT_EQ(ask("SELECT begin_ns FROM under_way"), "500") << "it was seen after that window";
  put(wire::make_tombstone(late, "the journal was full"));
  EXPECT_EQ(ask("SELECT begin_ns FROM under_way"), "");
  put(window_packet(6, IntervalSet::of(7), window));
  EXPECT_EQ(ask("SELECT begin_ns FROM under_way"), "500");
}

TEST_F(UnderWayTest, OfALostHostNobodyKnowsWhetherItsCallsLast) {
  wire::ProfileWindow window;
  window.under_way = {receive(1, 500)};
  put(window_packet(4, IntervalSet::of(7), window));
  ASSERT_TRUE(store_->put_host_lost(LeafId{7}, "it was not heard of any more"));
  EXPECT_EQ(ask("SELECT begin_ns FROM under_way"), "");
  ASSERT_TRUE(store_->put_host_lost(LeafId{7}, ""));
  EXPECT_EQ(ask("SELECT begin_ns FROM under_way"), "500");
}

TEST_F(UnderWayTest, ARankThatHasEndedIsInNoCall) {
  wire::ProfileWindow window;
  window.rows = {part(1, 100)};
  window.under_way = {receive(1, 500)};
  window.accounts = {account_row(7, 1, 0, true)};
  put(window_packet(3, IntervalSet::of(7), window));
  EXPECT_EQ(ask("SELECT count(*) FROM under_way"), "0");
}

TEST_F(UnderWayTest, UnknownPeersAndCommunicatorsAreNull) {
  wire::ProfileWindow window;
  wire::UnderWayRow row = receive(1, 5);
  row.peer.reset();
  row.comm.reset();
  window.under_way = {row};
  put(window_packet(3, IntervalSet::of(7), window));
  EXPECT_EQ(ask("SELECT peer IS NULL, comm IS NULL FROM under_way"), "1 1");
}

TEST_F(UnderWayTest, TimeOfAnEarlierWindowAddsUpThereAndInTheTotal) {
  wire::ProfileWindow first;
  first.rows = {profile_row(7, 1, 2, kReceive)};
  put(window_packet(4, IntervalSet::of(7), first));
  wire::ProfileWindow later;
  later.rows = {profile_row(7, 1, 1, kReceive)};
  later.earlier = {
      {LeafId{7}, Lane{1}, kReceive, true, 4 * kWindow, 5 * kWindow, 70},
      {LeafId{7}, Lane{1}, kReceive, false, 2 * kWindow, 3 * kWindow, 30},
  };
  put(window_packet(8, IntervalSet::of(7), later));
  EXPECT_EQ(ask("SELECT begin_ns / 250000000, sum(calls), sum(time_ns), max(estimated)"
                " FROM profile_window GROUP BY 1 ORDER BY 1"),
            "2 0 30 0;4 2 2070 1;8 1 1000 0");
  EXPECT_EQ(ask("SELECT calls, time_ns, min_ns, max_ns, estimated FROM function_total"),
            "3 3100 500 2000 1");
  EXPECT_EQ(ask("SELECT stored FROM account WHERE rank = 0"), "3");
}

TEST_F(UnderWayTest, RowsWithoutCallsAreNoShortestCall) {
  wire::ProfileWindow window;
  window.rows = {part(1, 100)};
  put(window_packet(4, IntervalSet::of(7), window));
  window.rows = {profile_row(7, 1, 1, kReceive)};
  put(window_packet(5, IntervalSet::of(7), window));
  window.rows = {part(1, 100)};
  put(window_packet(6, IntervalSet::of(7), window));
  EXPECT_EQ(ask("SELECT calls, time_ns, min_ns, max_ns FROM function_total"), "1 1200 500 2000");
}

TEST_F(UnderWayTest, KnowsSinceWhenAndUntilWhenARankWasWatched) {
  wire::AccountRow account = account_row(7, 1, 5);
  account.since_ns = 900;
  account.threads = 2;
  put(window_packet(4, 7, 5, account));
  EXPECT_EQ(ask("SELECT since_ns, until_ns IS NULL, threads FROM rank WHERE rank = 0"), "900 1 2");
  account.since_ns = 0;  // A successor does not know it.
  account.threads = 1;
  account.captured = account.windowed = 6;
  account.until_ns = 5000;
  account.ended = true;
  put(window_packet(5, 7, 1, account));
  EXPECT_EQ(ask("SELECT since_ns, until_ns, threads FROM rank WHERE rank = 0"), "900 5000 2");
  EXPECT_EQ(ask("SELECT since_ns IS NULL, threads IS NULL FROM rank WHERE rank = 1"), "1 1");
}

}  // namespace
}  // namespace xylem::storage
