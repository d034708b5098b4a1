#include "storage/read/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <random>
#include <thread>

#include "tests/unit/storage/viewed_run.h"

namespace xylem::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class RunViewTest : public ViewedRun {};

TEST_F(RunViewTest, OfARunWithoutRanksIsEmptyAndNoFailure) {
  RunView run = view();
  EXPECT_THAT(good(run.ranks({})).rows, IsEmpty());
  EXPECT_THAT(good(run.functions({})).functions, IsEmpty());
  EXPECT_THAT(good(run.matrix({})).cells, IsEmpty());
  EXPECT_EQ(good(run.timeline({})).detail, TimelineDetail::kWindows);
  EXPECT_THAT(good(run.hosts()).hosts, IsEmpty());
  EXPECT_THAT(good(run.series({"idle"})).lines, IsEmpty());
  EXPECT_THAT(good(run.tree()).report.nodes, IsEmpty());
  EXPECT_THAT(good(run.notices()).notices, IsEmpty());
  const Overview overview = good(run.overview());
  EXPECT_EQ(overview.report.run.command, "mpirun app");
  EXPECT_FALSE(overview.scope.has_ended);
  EXPECT_EQ(overview.calls_per_s, std::nullopt);
}

TEST_F(RunViewTest, AGridHasACellForEachRankAndWindowWhereTheyFit) {
  put_world(2, 1);
  put_window(0, 0, {profile_row(0, 1, 3), profile_row(0, 1, 1, kWaitall)});
  put_window(1, 2, {profile_row(1, 1, 5)});
  RunView run = view();

  const RankGrid time = good(run.ranks({}));
  EXPECT_EQ(time.slot_ns, kWindow);
  EXPECT_EQ(time.columns, 3u);
  EXPECT_THAT(time.cells, ElementsAre(4000, 0, 0, 0, 0, 5000));
  ASSERT_EQ(time.rows.size(), 2u);
  EXPECT_EQ(time.rows[0].host, "node0");
  EXPECT_EQ(time.rows[1].total, 5000u);
  EXPECT_FALSE(time.scope.estimated);

  EXPECT_THAT(good(run.ranks({.value = RankValue::kCalls})).cells, ElementsAre(4, 0, 0, 0, 0, 5));
  EXPECT_THAT(good(run.ranks({.value = RankValue::kBytes})).cells, ElementsAre(32, 0, 0, 0, 0, 40));
  EXPECT_THAT(good(run.ranks({.value = RankValue::kWait})).cells,
              ElementsAre(4000, 0, 0, 0, 0, 5000));
}

TEST_F(RunViewTest, ARankThatIsInAReceiveAllTheTimeIsWaitingAllTheTime) {
  put_world(1, 2);
  auto receiving = profile_row(0, 1, 1, kReceive);
  receiving.time_ns = static_cast<std::uint64_t>(kWindow);
  put_window(0, 0, {receiving, profile_row(0, 2, 1, kImmediateSend)});
  RunView run = view();
  EXPECT_THAT(good(run.ranks({.value = RankValue::kWait})).cells,
              ElementsAre(static_cast<std::uint64_t>(kWindow), 0));
  // Before version 18 of the schema, summaries did not count it.
  ASSERT_TRUE(store_->commit());
  change_file(path_, "PRAGMA user_version = 17");
  RunView old = view();
  EXPECT_THAT(good(old.ranks({.value = RankValue::kWait})).cells, ElementsAre(0, 0));
}

TEST_F(RunViewTest, AGridIsReducedByWholeWindowsAndWholeGroupsOfRanks) {
  put_world(1, 5);
  for (std::uint64_t wave = 0; wave < 10; ++wave) {
    std::vector<wire::ProfileRow> rows;
    for (std::uint32_t lane = 1; lane <= 5; ++lane) rows.push_back(profile_row(0, lane, 1));
    put_window(0, wave, rows);
  }
  const RankGrid grid = good(view().ranks({.value = RankValue::kCalls, .columns = 4, .rows = 2}));
  EXPECT_EQ(grid.slot_ns, 3 * kWindow);  // Ten windows in four slots: three, three, three, one.
  ASSERT_EQ(grid.rows.size(), 2u);
  EXPECT_EQ(grid.rows[1].first_rank, 3u);
  EXPECT_EQ(grid.rows[1].ranks, 2u);
  EXPECT_THAT(grid.cells, ElementsAre(9, 9, 9, 3, 6, 6, 6, 2));
}

TEST_F(RunViewTest, ARangeIsWidenedToWholeWindowsAndSaysSo) {
  put_world(1, 1);
  for (std::uint64_t wave = 0; wave < 8; ++wave) put_window(0, wave, {profile_row(0, 1, wave + 1)});
  const RankGrid grid =
      good(view().ranks({.range = {kWindow + 1, 3 * kWindow - 1}, .value = RankValue::kCalls}));
  EXPECT_EQ(grid.scope.begin_ns, kWindow);
  EXPECT_EQ(grid.scope.end_ns, 3 * kWindow);
  EXPECT_EQ(grid.scope.run_end_ns, 8 * kWindow);
  EXPECT_THAT(grid.cells, ElementsAre(2, 3));
}

TEST_F(RunViewTest, SaysThatTimesAreEstimates) {
  put_world(1, 1);
  wire::ProfileRow row = profile_row(0, 1, 4);
  row.estimated = true;
  put_window(0, 0, {row});
  RunView run = view();
  EXPECT_TRUE(good(run.ranks({})).scope.estimated);
  EXPECT_FALSE(good(run.ranks({.value = RankValue::kCalls})).scope.estimated);
  EXPECT_TRUE(good(run.functions({})).functions.at(0).estimated);
}

TEST_F(RunViewTest, RefusesWhatMakesNoSenseWithASentence) {
  put_world(1, 1);
  RunView run = view();
  const auto of_world = run.ranks({.ranks = {WorldId{3}}});
  ASSERT_FALSE(of_world);
  EXPECT_EQ(of_world.error().code, Code::kNotFound);
  EXPECT_THAT(of_world.error().message, HasSubstr("no world 3"));
  const auto backwards = run.ranks({.range = {2, 1}});
  ASSERT_FALSE(backwards);
  EXPECT_EQ(backwards.error().code, Code::kInvalidArgument);
  EXPECT_FALSE(run.ranks({.ranks = {WorldId{0}, 1, 0}}));
  EXPECT_FALSE(run.ranks({.columns = 0}));
  EXPECT_FALSE(run.ranks({.columns = kMaxColumns + 1}));
  EXPECT_FALSE(run.ranks({.rows = kMaxRows + 1}));
  EXPECT_FALSE(run.matrix({.blocks = 0}));
  EXPECT_FALSE(run.timeline({.limit = kMaxCalls + 1}));
  EXPECT_TRUE(run.ranks({})) << "a refused question must leave the file usable";
}

TEST_F(RunViewTest, FunctionsHaveSeriesAndDistribution) {
  put_world(1, 2);
  put_window(0, 0, {profile_row(0, 1, 3), profile_row(0, 2, 2)});
  put_window(0, 1, {profile_row(0, 1, 4), profile_row(0, 1, 1, kReceive)});
  const FunctionTable table = good(view().functions({.series = 10, .distribution = true}));
  ASSERT_EQ(table.functions.size(), 2u);
  const FunctionTable::Function& send = table.functions[0];
  EXPECT_EQ(send.name, "MPI_Send");
  EXPECT_EQ(send.function_class, "point_to_point");
  EXPECT_EQ(send.calls, 9u);
  EXPECT_EQ(send.ranks, 2u);
  EXPECT_THAT(send.series_ns, ElementsAre(5000, 4000));
  EXPECT_THAT(send.distribution, ElementsAre(Pair(1024, 9)));  // 1000 ns each.
  EXPECT_EQ(table.mpi_ns, 10'000u);
}

TEST_F(RunViewTest, MatricesAreSummedInBlocksOfRanks) {
  put_world(1, 4);
  wire::ProfileWindow window;
  window.rows = {profile_row(0, 1, 1)};
  for (std::uint32_t lane = 1; lane <= 4; ++lane) {
    window.matrix.push_back({LeafId{0}, Lane{lane}, Rank{lane % 4}, 100 * lane, lane});
  }
  window.waits = {{LeafId{0}, Lane{3}, Rank{0}, 7000, 2}};
  put(window_packet(0, IntervalSet::of(0), window));
  RunView run = view();

  const Matrix blocks = good(run.matrix({.blocks = 2}));
  EXPECT_EQ(blocks.block, 2u);
  ASSERT_EQ(blocks.cells.size(), 4u);
  EXPECT_EQ(blocks.cells[1].column, 2u);  // Rank 1 sent to rank 2.
  EXPECT_EQ(blocks.cells[1].amount, 200u);
  const Matrix part = good(run.matrix({.first_row = 2, .end_row = 3}));
  ASSERT_EQ(part.cells.size(), 1u);
  EXPECT_EQ(part.cells[0].row, 2u);
  EXPECT_EQ(part.cells[0].column, 3u);
  EXPECT_EQ(part.cells[0].count, 3u);
  const Matrix waits = good(run.matrix({.value = MatrixValue::kWaits}));
  ASSERT_EQ(waits.cells.size(), 1u);
  EXPECT_EQ(waits.cells[0].row, 2u);
  EXPECT_EQ(waits.cells[0].amount, 7000u);
}

/// A call that sends or receives.
TEST_F(RunViewTest, SeriesOfHostsAreReducedToLeastMeanAndMost) {
  put_world(2, 1);
  execute(
      "INSERT INTO host_metric VALUES(0, 0, 'idle', 1), (0, 5, 'idle', 3), (0, 10, 'idle', 8),"
      " (1, 19, 'idle', 4), (1, 19, 'it''s', 7)");
  RunView run = view();
  const HostTable table = good(run.hosts());
  EXPECT_THAT(table.series, ElementsAre("idle", "it's"));
  ASSERT_EQ(table.hosts.size(), 2u);
  EXPECT_EQ(table.hosts[0].name, "node0");
  EXPECT_EQ(table.hosts[0].ranks, 1u);
  EXPECT_THAT(table.hosts[0].newest, ElementsAre(Pair("idle", 8.0)));

  const SeriesTable series = good(run.series({"idle", {}, {0, 20}, 2}));
  EXPECT_EQ(series.slot_ns, 10);
  ASSERT_EQ(series.lines.size(), 2u);
  ASSERT_EQ(series.lines[0].points.size(), 2u);
  EXPECT_EQ(series.lines[0].points[0].min, 1);
  EXPECT_EQ(series.lines[0].points[0].mean, 2);
  EXPECT_EQ(series.lines[0].points[0].max, 3);
  EXPECT_EQ(series.lines[0].points[0].samples, 2u);
  ASSERT_EQ(series.lines[1].points.size(), 1u);
  EXPECT_EQ(series.lines[1].points[0].slot, 1u);
  EXPECT_EQ(good(run.series({"it's"})).lines.size(), 1u);
  EXPECT_EQ(good(run.series({"idle", LeafId{1}})).lines.size(), 1u);
}

TEST_F(RunViewTest, AHostThatIsSilentKeepsWhatItToldLast) {
  put_world(2, 1);
  execute(
      "INSERT INTO host_metric VALUES(0, 1, 'cores', 4), (0, 1, 'idle', 9), (0, 2, 'idle', 7);"
      "WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
      " INSERT INTO host_metric SELECT 1, i, 'idle', i FROM n");
  const auto expect = [](const HostTable& table) {
    EXPECT_THAT(table.series, ElementsAre("cores", "idle"));
    ASSERT_EQ(table.hosts.size(), 2u);
    EXPECT_THAT(table.hosts[0].newest, ElementsAre(Pair("cores", 4.0), Pair("idle", 7.0)));
    EXPECT_THAT(table.hosts[1].newest, ElementsAre(Pair("idle", 2000.0)));
  };
  expect(good(view().hosts()));
  execute(back_to(12));  // A file without the index.
  expect(good(view().hosts()));
}

TEST_F(RunViewTest, OfTooManyFactsOneInAWhileIsLookedAt) {
  put_world(3, 1);
  execute(
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39999)"
      " INSERT INTO host_metric SELECT leaf, i, 'idle', i FROM n, host WHERE leaf < 2;"
      "INSERT INTO host_metric VALUES(2, 5, 'idle', 1)");
  RunView run = view();
  const SeriesTable series = good(run.series({"idle", {}, {0, 40'000}, 4}));
  EXPECT_EQ(series.look_ns, 7);  // 16384 looks at three hosts in four slots: 1365 in 10 us.
  ASSERT_EQ(series.lines.size(), 3u);
  ASSERT_EQ(series.lines[0].points.size(), 4u);
  EXPECT_EQ(series.lines[0].points[0].min, 0);
  EXPECT_EQ(series.lines[0].points[0].samples, 1429u);
  EXPECT_EQ(series.lines[2].points.at(0).samples, 1u);

  const SeriesTable one = good(run.series({.name = "idle", .range = {0, 40'000}, .limit = 1}));
  EXPECT_EQ(one.lines.size(), 1u);
  EXPECT_EQ(one.lines_in_all, 3u);
  EXPECT_EQ(good(run.series({"idle", {}, {0, 8000}, 4})).look_ns, 0);
}

TEST_F(RunViewTest, TreeAndNoticesAreThoseOfTheRun) {
  NodeRow node{kFrontEndNode, wire::Role::kFrontEnd, "head", kFrontEndNode, 0, 1, wire::kNoLeaf,
               "attached"};
  ASSERT_TRUE(store_->put_node(node));
  for (const Nanos at : {10, 20}) {
    wire::Notice notice;
    notice.host = "node7";
    notice.text = "at " + std::to_string(at);
    ASSERT_TRUE(store_->put_notice(notice, at));
  }
  RunView run = view();
  ASSERT_EQ(good(run.tree()).report.nodes.size(), 1u);
  const Notices notices = good(run.notices(1));
  EXPECT_EQ(notices.notices_in_all, 2u);
  ASSERT_EQ(notices.notices.size(), 1u);
  EXPECT_EQ(notices.notices[0].text, "at 20");
}

TEST_F(RunViewTest, TheOverviewHasTheAccountAndTheRate) {
  put_world(1, 1);
  put(window_packet(3, 0, 10, account_row(0, 1, 12, true, 2)));
  const Overview overview = good(view().overview());
  EXPECT_EQ(overview.report.account.captured, 12u);
  EXPECT_EQ(overview.report.account.lost, 2u);
  EXPECT_EQ(overview.scope.lost_calls, 2u);
  EXPECT_EQ(overview.scope.run_end_ns, kSecond);
  EXPECT_EQ(overview.calls_per_s, 12.0);
}

// It ends within its last window.
TEST_F(RunViewTest, TheRateOfARunThatHasEndedIsOfItsElapsedTime) {
  put_world(1, 1);
  put(window_packet(3, 0, 10, account_row(0, 1, 12, true, 2)));
  const Nanos started = good(view().overview()).report.run.started_realtime_ns;
  ASSERT_TRUE(store_->end_run(0, started + kSecond * 3 / 4));
  const Overview overview = good(view().overview());
  EXPECT_EQ(overview.report.run.elapsed_ns, kSecond * 3 / 4);
  EXPECT_EQ(overview.scope.run_end_ns, kSecond);
  EXPECT_EQ(overview.calls_per_s, 16.0);
}

TEST_F(RunViewTest, ARunOfAnyTimesHasALength) {
  put_world(1, 1);
  put_window(0, 0, {profile_row(0, 1, 5)});
  execute(
      "UPDATE run SET started_ns = -9223372036854775808, ended_ns = 9223372036854775807;"
      "UPDATE process SET first_ns = -9223372036854775808, last_ns = 9223372036854775807");
  const Overview overview = good(view().overview());
  EXPECT_LT(overview.scope.run_begin_ns, 0);
  EXPECT_GT(overview.scope.run_end_ns - overview.scope.run_begin_ns, overview.scope.run_end_ns);
  EXPECT_GE(good(view().ranks({.columns = 7})).slot_ns, 1);
}

TEST_F(RunViewTest, ATimeThatIsNoIntegerIsInASlotThatThereIs) {
  put_world(1, 1);
  put_window(0, 0, {profile_row(0, 1, 5)});
  execute("UPDATE run SET window_ns = 1; UPDATE profile_row SET begin_ns = -3.5");
  const auto table = good(view().functions({.range = {-10, -3}, .series = 7}));
  ASSERT_EQ(table.functions.size(), 1u);
  EXPECT_EQ(table.functions[0].series_ns.size(), 7u);
  EXPECT_EQ(std::accumulate(table.functions[0].series_ns.begin(),
                            table.functions[0].series_ns.end(), std::uint64_t{0}),
            table.functions[0].time_ns);
}

TEST_F(RunViewTest, BlocksOfNoProcessAreInNoAnswer) {
  put_world(1, 1);
  put_window(0, 0, {profile_row(0, 1, 5)});
  execute(
      "INSERT INTO window_summary VALUES(77, 0, 0, 9223372036854775807, x'00010101010100',"
      " x'', x''), (78, 0, 0, -9223372036854775808, x'00010101010100', x'', x'');"
      "INSERT OR REPLACE INTO summary_state VALUES(0, -9223372036854775808)");
  const auto grid = good(view().ranks({.value = RankValue::kCalls}));
  ASSERT_EQ(grid.rows.size(), 1u);
  EXPECT_EQ(grid.rows[0].total, 5u);
}

TEST_F(RunViewTest, AnAnswerIsOfOneCommit) {
  put_world(1, 1);
  RunView run = view();
  ASSERT_TRUE(run.file().hold());
  put_window(0, 0, {profile_row(0, 1, 3)});
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(integer_of((*run.file().rows("SELECT count(*) FROM profile_row"))[0][0]), 0);
  run.file().release();
  EXPECT_EQ(integer_of((*run.file().rows("SELECT count(*) FROM profile_row"))[0][0]), 1);
}

TEST_F(RunViewTest, AQuestionEndsAtItsDeadline) {
  RunView run = view();
  constexpr const char* kEndless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
  run.file().set_deadline(monotonic_now() + 20 * kMillisecond);
  const auto asked = run.file().rows(kEndless);
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, Code::kTimedOut) << asked.error().message;
  run.file().set_deadline(kForever);
  EXPECT_TRUE(run.overview());
}

TEST_F(RunViewTest, TheFileBecomesPlainAtItsEndWhenNoViewIsOpen) {
  put_world(1, 1);
  { static_cast<void>(good(view().overview())); }
  ASSERT_TRUE(store_->end_run(0, kSecond));
  store_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
}

TEST_F(RunViewTest, TheEndOfARunWaitsForAReaderThatIsAboutToLeave) {
  RunView run = view();
  std::thread ending([this] { EXPECT_TRUE(store_->end_run(0, kSecond)); });
  const Nanos deadline = monotonic_now() + 20 * kSecond;
  const auto has_ended = [&run] {
    const auto rows = run.file().rows("SELECT count(ended_ns) FROM run");
    return rows && integer_of((*rows)[0][0]) == 1;
  };
  while (!has_ended() && monotonic_now() < deadline) std::this_thread::yield();
  // Longer than one attempt at the end takes, shorter than all attempts.
  const Nanos leaves_at = monotonic_now() + 60 * kMillisecond;
  while (monotonic_now() < leaves_at) std::this_thread::yield();
  { const RunView leaves = std::move(run); }
  ending.join();
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
}

TEST_F(RunViewTest, AQuestionThatIsOpenAtTheEndLeavesTheFileWhole) {
  RunView run = view();
  RunView asking = view();
  ASSERT_TRUE(asking.file().hold());
  put_world(1, 1);
  std::thread ending([this] { EXPECT_TRUE(store_->end_run(0, kSecond)); });
  const auto ended = [](RunFile& file) {
    const auto rows = file.rows("SELECT count(ended_ns) FROM run");
    return rows && integer_of((*rows)[0][0]) == 1;
  };
  const Nanos deadline = monotonic_now() + 20 * kSecond;
  while (!ended(run.file()) && monotonic_now() < deadline) std::this_thread::yield();
  // Longer than the end waits for idle readers.
  const Nanos answered_at = monotonic_now() + 700 * kMillisecond;
  while (monotonic_now() < answered_at) std::this_thread::yield();
  asking.file().release();
  ending.join();
  const std::string copy = folder_.file("copy.db");
  std::filesystem::copy_file(path_, copy);
  const auto copied = RunFile::open(copy);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_TRUE(ended(**copied));
  EXPECT_FALSE(ended(asking.file()) && std::filesystem::file_size(path_ + "-wal") != 0);
}

// The slow, obvious model: SQL over the same rows, cell by cell.
TEST_F(RunViewTest, SumsAreThoseOfSqlForAnyRange) {
  constexpr unsigned kSeed = 20261121;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  put_world(3, 3);
  for (std::uint64_t wave = 0; wave < 40; ++wave) {
    for (std::uint32_t leaf = 0; leaf < 3; ++leaf) {
      std::vector<wire::ProfileRow> rows;
      for (std::uint32_t lane = 1; lane <= 3; ++lane) {
        for (const FunctionId function : {kSend, kReceive, kWaitall}) {
          if (random() % 3 == 0) continue;
          rows.push_back(profile_row(leaf, lane, 1 + random() % 50, function));
        }
      }
      put_window(leaf, wave, rows);
    }
  }
  RunView run = view();
  for (int trial = 0; trial < 40; ++trial) {
    const Nanos begin = static_cast<Nanos>(random() % 40) * kWindow;
    const Nanos end = begin + static_cast<Nanos>(1 + random() % 40) * kWindow;
    const std::uint64_t first = random() % 9;
    const std::uint64_t last = first + random() % (10 - first);
    const RankGrid grid = good(run.ranks({.ranks = {WorldId{0}, first, last},
                                          .range = {begin, end},
                                          .columns = 1 + random() % 50,
                                          .rows = 1 + random() % 12}));
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      for (std::uint64_t column = 0; column < grid.columns; ++column) {
        const Nanos from = begin + static_cast<Nanos>(column) * grid.slot_ns;
        const std::string where = " WHERE rank >= " + std::to_string(grid.rows[row].first_rank) +
                                  " AND rank < " +
                                  std::to_string(grid.rows[row].first_rank + grid.rows[row].ranks) +
                                  " AND begin_ns >= " + std::to_string(from) + " AND begin_ns < " +
                                  std::to_string(std::min(from + grid.slot_ns, end));
        ASSERT_EQ(grid.cells[row * grid.columns + column],
                  sum("SELECT total(time_ns) FROM profile_window" + where))
            << where;
      }
    }
    const FunctionTable table = good(
        run.functions({.ranks = {WorldId{0}, first, last}, .range = {begin, end}, .series = 7}));
    for (const FunctionTable::Function& function : table.functions) {
      const std::string where = " WHERE function = '" + function.name +
                                "' AND rank >= " + std::to_string(first) + " AND rank < " +
                                std::to_string(last) + " AND begin_ns >= " + std::to_string(begin) +
                                " AND begin_ns < " + std::to_string(end);
      ASSERT_EQ(function.calls, sum("SELECT total(calls) FROM profile_window" + where));
      ASSERT_EQ(
          std::accumulate(function.series_ns.begin(), function.series_ns.end(), std::uint64_t{0}),
          sum("SELECT total(time_ns) FROM profile_window" + where));
    }
  }
  for (const FunctionTable::Function& function : good(run.functions({})).functions) {
    EXPECT_EQ(function.time_ns, sum("SELECT sum(time_ns) FROM function_total WHERE function = '" +
                                    function.name + "'"));
  }
}

}  // namespace
}  // namespace xylem::storage
