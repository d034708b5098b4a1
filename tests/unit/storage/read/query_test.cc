// Reading a run with SQL of users: what it sees, what it may not do, and what it costs.

#include "storage/read/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "storage/schema_internal.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using ::testing::HasSubstr;

class QueryTest : public StoredRun {
 protected:
  QueryTest() : StoredRun({}, "a run?.db#%41") {}  // A URI would have to escape this name.

  /// Four ranks on two leaves, each with five chunks of 100 events, 100 us apart.
  void put_four_ranks() {
    for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
      put(registration_packet(leaf, {process_row(1, 2 * leaf), process_row(2, 2 * leaf + 1)}));
      for (std::uint32_t lane = 1; lane <= 2; ++lane) {
        for (std::uint64_t chunk = 0; chunk < 5; ++chunk) {
          put(chunk_packet(leaf, lane, 100 * chunk, 100 * chunk + 100));
        }
      }
    }
    ASSERT_TRUE(store_->commit());
  }
  RunFile& run() {
    if (!run_) {
      auto opened = RunFile::open(path_);
      EXPECT_TRUE(opened) << opened.error().message;
      run_ = std::move(*opened);
    }
    return *run_;
  }
  /// Queries committed data. All calls use the same reader.
  std::string ask(const std::string& sql) {
    const auto rows = run().rows(sql);
    return rows ? lines_of(*rows) : rows.error().message;
  }
  /// Checks the result, and how many chunks were opened for it.
  std::string ask_for(std::uint64_t chunks, const std::string& sql) {
    const std::uint64_t before = run().chunks_decoded();
    const std::string answer = ask(sql);
    EXPECT_EQ(run().chunks_decoded() - before, chunks) << sql;
    return answer;
  }

  std::unique_ptr<RunFile> run_;
};

TEST(ValuesOfAnyFile, AreCutToWhatAnIntegerHolds) {
  using Limits = std::numeric_limits<std::int64_t>;
  EXPECT_EQ(integer_of(3.7e19), Limits::max());
  EXPECT_EQ(integer_of(-3.7e19), Limits::min());
  EXPECT_EQ(integer_of(0x1p63), Limits::max());
  EXPECT_EQ(integer_of(-0x1p63), Limits::min());
  EXPECT_EQ(integer_of(std::nan("")), 0);
  EXPECT_EQ(integer_of(-2.5), -2);
  EXPECT_EQ(time_of(Limits::min()), -time_of(Limits::max()));
  EXPECT_GT(time_of(Limits::max()) - time_of(Limits::min()), 0);
  EXPECT_EQ(time_of(std::int64_t{1'700'000'000} * kSecond), 1'700'000'000 * kSecond);
}

TEST(ValuesAsJson, HoldNothingThatATerminalObeys) {
  EXPECT_EQ(to_json(std::string("\x1b[2J\n\x7f\xc2\x9b\u00fc\xff\"\\")),
            "\"\\u001b[2J\\u000a\\u007f\\u009b\u00fc\\ufffd\\\"\\\\\"");
}

TEST_F(QueryTest, MakesTextsPrintableForPeople) {
  ASSERT_TRUE(store_->commit());
  change_file(path_, "UPDATE run SET command = 'a' || char(27) || '[2J'");
  constexpr const char* kSql = "SELECT command, x'1b' FROM run";
  EXPECT_EQ(ask(kSql), "a\x1b[2J|1b\n");
  const auto opened = RunFile::open(path_, Texts::kPrintable);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto rows = (*opened)->rows(kSql);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(text_of((*rows)[0][0]), "a\\x1b[2J");
}

TEST_F(QueryTest, ShowsEventsAsTheyWereRecorded) {
  put(registration_packet(3, {process_row(1, 2)}));
  auto events = some_events(0, 2);
  events[1].peer = wire::kNoPeer;
  events[1].tag = wire::kNoTag;
  events[1].comm = wire::kNoComm;
  events[1].result = 13;
  events[1].calls = 1000;
  events[1].request = 77;
  events[1].thread = ThreadIndex{3};
  put(chunk_packet(3, 1, 0, events));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(ask("SELECT world, rank, thread, begin_ns, end_ns, kind, function, peer, bytes, tag,"
                " comm, request, result, calls FROM event"),
            "0|2|0|0|400|mpi|MPI_Send|0|0|0|0|NULL|0|1\n"
            "0|2|3|1000|1400|mpi|MPI_Recv|NULL|8|NULL|NULL|77|13|1000\n");
}

TEST_F(QueryTest, ShowsCompletionsInATableOfTheirOwn) {
  put(registration_packet(3, {process_row(1, 2)}));
  auto events = some_events(0, 3);
  events[1].kind = wire::kKindCompletion;
  events[1].calls = 0;
  put(chunk_packet(3, 1, 0, events));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(ask("SELECT count(*) FROM event"), "2\n");
  EXPECT_EQ(ask("SELECT kind, begin_ns, peer FROM completion"), "completion|1000|1\n");
}

TEST_F(QueryTest, OpensOnlyTheChunksOfTheRankAskedFor) {
  put_four_ranks();
  EXPECT_EQ(ask_for(20, "SELECT count(*), sum(calls) FROM event"), "2000|2000\n");
  EXPECT_EQ(ask_for(5, "SELECT count(*) FROM event WHERE world = 0 AND rank = 3"), "500\n");
  EXPECT_EQ(ask_for(10, "SELECT count(*) FROM event WHERE rank IN (0, 3)"), "1000\n");
  EXPECT_EQ(ask_for(10, "SELECT count(*) FROM event WHERE rank >= 2"), "1000\n");
  EXPECT_EQ(ask_for(0, "SELECT count(*) FROM event WHERE world = 1"), "0\n");
  EXPECT_EQ(ask_for(0, "SELECT count(*) FROM event WHERE rank = NULL"), "0\n");
}

TEST_F(QueryTest, OpensOnlyTheChunksOfTheTimeAskedFor) {
  put_four_ranks();
  // Chunk i has the events that began in [100 i, 100 i + 100) us.
  EXPECT_EQ(ask_for(4, "SELECT count(*) FROM event WHERE begin_ns >= 110000 AND begin_ns < 120000"),
            "40\n");
  EXPECT_EQ(ask_for(1,
                    "SELECT count(*) FROM event WHERE rank = 1 AND"
                    " begin_ns BETWEEN 210000 AND 219999"),
            "10\n");
  EXPECT_EQ(ask_for(4, "SELECT count(*) FROM event WHERE end_ns < 50000"), "200\n");
  EXPECT_EQ(ask_for(4, "SELECT count(*) FROM event WHERE end_ns > 450000"), "200\n");
  EXPECT_EQ(ask_for(4, "SELECT count(*) FROM event WHERE begin_ns = 333000"), "4\n");
  EXPECT_EQ(ask_for(1, "SELECT begin_ns FROM event WHERE rank = 0 LIMIT 1"), "0\n");
}

TEST_F(QueryTest, FindsFunctionsByNameAndByPattern) {
  put_four_ranks();
  EXPECT_EQ(ask("SELECT count(*) FROM event WHERE function = 'MPI_Recv'"), "1000\n");
  EXPECT_EQ(ask("SELECT count(*) FROM event WHERE function = 'mpi_recv'"), "0\n");
  EXPECT_EQ(ask("SELECT count(*) FROM event WHERE function = 'mpi_recv' COLLATE NOCASE"), "1000\n");
  EXPECT_EQ(ask("SELECT count(*) FROM event WHERE function LIKE 'MPI_S%'"), "1000\n");
}

TEST_F(QueryTest, JoinsEventsWithThemselvesAndWithTables) {
  put_four_ranks();
  EXPECT_EQ(ask("SELECT count(*) FROM event s JOIN event r ON r.rank = 1 AND r.begin_ns ="
                " s.begin_ns WHERE s.rank = 0 AND s.begin_ns < 5000"),
            "5\n");
  EXPECT_EQ(ask("SELECT r.host, count(*) FROM rank r JOIN event e USING (world, rank)"
                " GROUP BY r.host ORDER BY 1"),
            "node0|1000\nnode1|1000\n");
}

TEST_F(QueryTest, ShowsEventsOfProcessesWithoutAName) {
  put(chunk_packet(3, 1, 0, 1));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(ask("SELECT world, rank, function FROM event"), "NULL|NULL|function 0\n");
}

TEST_F(QueryTest, TellsApartFunctionsOfLeavesThatNumberThemDifferently) {
  put(registration_packet(1, {process_row(1, 0)}));
  wire::Registration other;
  other.host = "node2";
  other.functions = {{kSend, "my_own_call", 0}, {kReceive, "MPI_Recv", 1}};
  other.processes = {process_row(1, 1)};
  put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(2)},
                   wire::encode(other)));
  put(chunk_packet(1, 1, 0, 2));
  put(chunk_packet(2, 1, 0, 2));
  wire::ProfileWindow window;
  window.rows = {profile_row(1, 1, 3), profile_row(2, 1, 4), profile_row(2, 1, 5, kReceive)};
  put(window_packet(0, IntervalSet::range(1, 3), window));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(ask("SELECT rank, function FROM event ORDER BY rank, begin_ns"),
            "0|MPI_Send\n0|MPI_Recv\n1|my_own_call\n1|MPI_Recv\n");
  EXPECT_EQ(ask("SELECT rank, function, calls FROM function_total ORDER BY rank, calls"),
            "0|MPI_Send|3\n1|my_own_call|4\n1|MPI_Recv|5\n");
}

TEST_F(QueryTest, EndsWithASentenceAtADamagedChunk) {
  put_four_ranks();
  change_file(path_, "UPDATE event_chunk SET chunk = x'00' WHERE id = 7");
  const auto rows = run().rows("SELECT count(*) FROM event");
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, Code::kCorrupt);
  EXPECT_THAT(rows.error().message, HasSubstr("chunk 7 of world 0, rank 1 is damaged"));
  EXPECT_EQ(ask("SELECT count(*) FROM event WHERE rank = 0"), "500\n");
}

TEST_F(QueryTest, SeesWhatIsCommittedWhileTheRunIsWritten) {
  put_four_ranks();
  auto second = RunFile::open(path_);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(ask("SELECT count(*) FROM event"), "2000\n");
  put(chunk_packet(0, 1, 500, 600));
  EXPECT_EQ(ask("SELECT count(*) FROM event"), "2000\n");
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(ask("SELECT count(*) FROM event"), "2100\n");
  EXPECT_EQ(to_text((*second)->rows("SELECT count(*) FROM event")->at(0).at(0)), "2100");
}

TEST_F(QueryTest, HasTheStableNames) {
  put_four_ranks();
  wire::ProfileWindow window;
  window.rows = {profile_row(0, 1, 10)};
  window.matrix = {{LeafId{0}, Lane{1}, Rank{3}, 80, 10}};
  window.waits = {{LeafId{0}, Lane{1}, Rank{2}, 555, 5}};
  put(window_packet(0, IntervalSet::of(0), window));
  put(window_packet(1, IntervalSet::of(0), window));
  ASSERT_TRUE(store_->commit());
  for (const char* name :
       {"run", "host", "rank", "function", "profile_window", "host_metric", "clock", "loss", "node",
        "account", "process_metric", "metric", "service_account"}) {
    const auto rows = run().rows(std::string("SELECT * FROM ") + name);
    EXPECT_TRUE(rows) << rows.error().message;
  }
  EXPECT_EQ(ask("SELECT id, role, host, parent, level FROM node"), "");
  EXPECT_EQ(ask("SELECT world, rank, function, calls, time_ns, bytes FROM function_total"),
            "0|0|MPI_Send|20|20000|160\n");
  EXPECT_EQ(ask("SELECT world, source, destination, bytes, messages FROM comm_matrix"),
            "0|0|3|160|20\n");
  EXPECT_EQ(ask("SELECT world, rank, peer, time_ns, calls FROM wait_matrix"), "0|0|2|1110|10\n");
  EXPECT_EQ(ask("SELECT events, stored_events, calls, stored_calls FROM account_event LIMIT 1"),
            "0|500|0|500\n");
}

TEST_F(QueryTest, TellsLossesWithTheirReason) {
  put_four_ranks();
  auto account = account_row(0, 1, 10, false, 2);
  account.loss_by_function = {{kSend, 2}};
  put(window_packet(0, 0, 8, account));
  put(tombstone_of(chunk_packet(1, 2, 500, 600), 90, "the journal was full"));
  ASSERT_TRUE(store_->put_host_lost(LeafId{1}, "no heartbeat for 3 s"));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(ask("SELECT part, rank, host, function, calls, reason FROM loss ORDER BY part"),
            "chunk|3|node1|NULL|90|the journal was full\n"
            "host|NULL|node1|NULL|NULL|no heartbeat for 3 s\n"
            "ring|0|node0|MPI_Send|2|the ring was full: the agent could not keep up\n");
}

TEST_F(QueryTest, TellsAtTheEndWhatOfALostHostNeverCame) {
  put_four_ranks();
  auto account = account_row(1, 2, 100);
  account.events = account.event_calls = 530;  // 500 are here.
  put(window_packet(0, 1, 60, account));
  ASSERT_TRUE(store_->put_host_lost(LeafId{1}, "no heartbeat for 3 s"));
  ASSERT_TRUE(store_->end_run(0, 1));
  EXPECT_EQ(ask("SELECT part, rank, host, calls, reason, wave FROM loss ORDER BY part"),
            "chunk|3|node1|30|no heartbeat for 3 s|NULL\n"
            "host|NULL|node1|NULL|no heartbeat for 3 s|NULL\n"
            "window|NULL|node1|40|no heartbeat for 3 s|NULL\n");
  EXPECT_EQ(ask("SELECT captured, stored, lost, complete FROM account WHERE rank = 3"),
            "100|60|40|0\n");
  EXPECT_EQ(
      ask("SELECT events, stored_events, lost_events, calls, stored_calls, lost_calls, complete"
          " FROM account_event WHERE rank = 3"),
      "530|500|30|530|500|30|0\n");
}

TEST_F(QueryTest, KnowsOfALostHostThatItHadMoreEventsThanItLastReported) {
  put_four_ranks();
  auto account = account_row(1, 2, 10);
  account.events = account.event_calls = 10;
  put(window_packet(0, 1, 10, account));
  ASSERT_TRUE(store_->put_host_lost(LeafId{1}, "no heartbeat for 3 s"));
  ASSERT_TRUE(store_->end_run(0, 1));
  EXPECT_EQ(ask("SELECT events, stored_events, lost_events FROM account_event WHERE rank = 3"),
            "500|500|0\n");
}

TEST_F(QueryTest, AllowsOnlyReading) {
  put_four_ranks();
  const std::string victim = folder_.file("victim.db");
  for (const std::string& sql : {
           std::string("DELETE FROM run"),
           std::string("UPDATE process SET captured = 0"),
           std::string("INSERT INTO run(run_id) VALUES('x')"),
           std::string("DROP TABLE run"),
           std::string("CREATE TABLE x(a)"),
           std::string("CREATE TEMP TABLE x(a)"),
           std::string("CREATE TEMP VIEW x AS SELECT 1"),
           std::string("CREATE VIRTUAL TABLE x USING fts5(a)"),
           "ATTACH '" + victim + "' AS v",
           "VACUUM INTO '" + victim + "'",
           std::string("VACUUM"),
           std::string("REINDEX"),
           std::string("ANALYZE"),
           std::string("BEGIN"),
           std::string("SAVEPOINT s"),
           std::string("SELECT load_extension('/tmp/x.so')"),
           std::string("SELECT LOAD_EXTENSION('/tmp/x.so', 'y')"),
           std::string("PRAGMA journal_mode = DELETE"),
           std::string("PRAGMA user_version = 11"),
           std::string("PRAGMA writable_schema = ON"),
           std::string("PRAGMA query_only = OFF"),
           std::string("PRAGMA trusted_schema = ON"),
           std::string("PRAGMA wal_checkpoint(TRUNCATE)"),
           std::string("PRAGMA mmap_size = 1000000000"),
           std::string("PRAGMA temp_store_directory = '/'"),
           std::string("PRAGMA Synchronous = OFF"),
           std::string("SELECT 1; DELETE FROM run"),
           std::string("EXPLAIN DELETE FROM run"),
           std::string("WITH x AS (SELECT 1) DELETE FROM run"),
       }) {
    const auto rows = run().rows(sql);
    ASSERT_FALSE(rows) << sql;
    EXPECT_EQ(rows.error().code, Code::kPermissionDenied) << sql << ": " << rows.error().message;
    EXPECT_THAT(rows.error().message, HasSubstr("only reading")) << sql;
  }
  const auto schema = run().rows("UPDATE sqlite_schema SET sql = 'x'");
  ASSERT_FALSE(schema);
  EXPECT_THAT(schema.error().message, HasSubstr("may not be modified"));
  EXPECT_NE(::access(victim.c_str(), F_OK), 0);
  EXPECT_EQ(ask("PRAGMA integrity_check"), "ok\n");
  EXPECT_EQ(ask("PRAGMA user_version"), std::to_string(schema_version()) + "\n");
  EXPECT_THAT(ask("PRAGMA table_info(account)"), HasSubstr("captured"));
  EXPECT_EQ(ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<3)"
                " SELECT sum(i) FROM n"),
            "6\n");
  EXPECT_EQ(ask("SELECT count(*) FROM run"), "1\n");
  EXPECT_EQ(ask("SELECT sum(value) FROM json_each('[1, 2]')"), "3\n");
  EXPECT_EQ(ask("SELECT count(*) FROM pragma_table_info('event')"), "25\n");
}

TEST_F(QueryTest, SaysWhatIsWrongWithSql) {
  const auto wrong = [&](const char* sql) {
    const auto rows = run().rows(sql);
    EXPECT_FALSE(rows) << sql;
    EXPECT_EQ(rows.error().code, Code::kInvalidArgument) << rows.error().message;
    return rows.error().message;
  };
  EXPECT_EQ(wrong("SELEC 1"), "SQL: near \"SELEC\": syntax error (at character 1)");
  EXPECT_EQ(wrong("SELECT absent FROM run"), "SQL: no such column: absent (at character 8)");
  EXPECT_THAT(wrong("SELECT * FROM evnt"), HasSubstr("no such table: evnt"));
  EXPECT_THAT(wrong("SELECT zeroblob(300000000)"), HasSubstr("too big"));
  EXPECT_EQ(ask(" -- nothing \n ; "), "");
  EXPECT_EQ(ask("SELECT 1; SELECT 2;"), "1\n2\n");
}

TEST_F(QueryTest, SaysWhyAFileIsNoRun) {
  const auto why = [&](const std::string& path) {
    const auto opened = RunFile::open(path);
    EXPECT_FALSE(opened);
    return opened ? "" : opened.error().message;
  };
  const std::string text = folder_.file("text");
  std::ofstream(text) << "not a database, but longer than a header of SQLite has to be, by far ... "
                         "and some more, so that it does not count as a short file either.";
  const std::string other = folder_.file("other.db");
  change_file(other, "CREATE TABLE t(a)");
  const std::string empty = folder_.file("empty");
  std::ofstream(empty).flush();
  EXPECT_EQ(why(folder_.file("none")), folder_.file("none") + ": No such file or directory");
  EXPECT_EQ(why(folder_.path()), folder_.path() + ": it is a directory, not a run's file");
  EXPECT_EQ(why(text), text + ": it is not a SQLite database");
  EXPECT_EQ(why(empty), empty + ": it is empty, not a run's file");
  EXPECT_EQ(why(other), other + ": it is a SQLite database, but not a run of xylem");
  change_file(other, "PRAGMA application_id = 0x78796c6d");
  EXPECT_EQ(why(other), other + ": it is being created; try again");
  change_file(other, "PRAGMA user_version = -1");
  EXPECT_EQ(why(other), other + ": its schema cannot have version -1");
}

TEST_F(QueryTest, RefusesAFileOfANewerXylem) {
  ASSERT_TRUE(store_->end_run(0, 1));
  store_.reset();
  change_file(path_, "PRAGMA user_version = 1000");
  const auto opened = RunFile::open(path_);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("newer xylem"));
}

TEST_F(QueryTest, SeesOneCommitUntilTheLastReleaseOfNestedHolds) {
  put_four_ranks();
  const auto count = [this] { return lines_of(*run().rows("SELECT count(*) FROM event")); };
  ASSERT_TRUE(run().hold());
  ASSERT_TRUE(run().hold());
  put(chunk_packet(0, 1, 500, 600));
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(count(), "2000\n");
  run().release();
  EXPECT_EQ(count(), "2000\n");
  run().release();
  EXPECT_EQ(count(), "2100\n");
  run().release();  // Does nothing.
  ASSERT_TRUE(run().hold());
  EXPECT_EQ(count(), "2100\n");
  run().release();
}

TEST_F(QueryTest, ReadsFinishedRunsWhereNothingCanBeWritten) {
  put_four_ranks();
  ASSERT_TRUE(store_->end_run(0, 1));
  store_.reset();
  ASSERT_EQ(::chmod(path_.c_str(), 0400), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0500), 0);
  EXPECT_EQ(ask("SELECT count(*) FROM event"), "2000\n");
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0700), 0);
}

TEST_F(QueryTest, GivesEventsToOtherProgramsByTheExtension) {
  put_four_ranks();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open_v2(path_.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
  char* error = nullptr;
  ASSERT_EQ(sqlite3_load_extension(database, XYLEM_SQLITE_EXTENSION, nullptr, &error), SQLITE_OK)
      << error;
  std::string count;
  const auto keep = [](void* to, int, char** values, char**) {
    *static_cast<std::string*>(to) = values[0];
    return 0;
  };
  EXPECT_EQ(
      sqlite3_exec(database, "SELECT count(*) FROM event WHERE rank = 1", keep, &count, nullptr),
      SQLITE_OK);
  sqlite3_close(database);
  EXPECT_EQ(count, "500");
}

}  // namespace
}  // namespace xylem::storage
