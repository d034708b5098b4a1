// Series of auxiliary services in a run's file: their values are right, and none is stored twice.

#include "wire/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <limits>

#include "storage/read/query.h"
#include "storage/read/report.h"
#include "storage/read/run_view.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using ::testing::HasSubstr;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint32_t kHostLane = 1, kProcessLane = 2;

wire::SeriesLayout host_layout() {
  return {"host",
          {{"cpu.user", "%", 1, true}, {"load.1m", "", 0.01, false}, {"cpu.steal", "%", 1, true}}};
}
wire::SeriesLayout process_layout() { return {"process", {{"rss", "KiB", 4, false}}}; }

class SeriesTest : public StoredRun {
 protected:
  SeriesTest() : StoredRun(facts()) {}

  static RunFacts facts() {
    RunFacts facts;
    facts.window_ns = 250 * kMillisecond;
    return facts;
  }
  void put_names(std::uint32_t leaf) {
    wire::Registration registration;
    registration.host = "node" + std::to_string(leaf);
    registration.processes = {process_row(7, 3)};
    registration.services = {{Lane{kHostLane}, "host"}, {Lane{kProcessLane}, "process"}};
    registration.layouts = {host_layout(), process_layout()};
    put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(leaf)},
                     wire::encode(registration)));
  }
  static wire::PacketId identity(std::uint32_t leaf, std::uint32_t lane, std::uint64_t first,
                                 std::uint64_t end) {
    return {wire::kSeriesStream, Lane{lane}, first, end, IntervalSet::of(leaf)};
  }
  /// A sample of `host`, taken `number` seconds after the begin.
  static wire::Packet sample(std::uint32_t leaf, std::uint64_t number,
                             std::vector<double> numbers) {
    wire::SeriesSample sample;
    sample.at_ns = static_cast<Nanos>(number) * kSecond;
    sample.span_ns = number == 0 ? 0 : 2 * kSecond;
    sample.slice = 4 * number;
    sample.layout = key_of(host_layout());
    sample.captured = number + 1;
    sample.entries = {{kLeafLane, std::move(numbers)}};
    return wire::Packet(identity(leaf, kHostLane, number, number + 1), wire::encode(sample));
  }
  static wire::Packet tombstone(std::uint32_t leaf, std::uint64_t first, std::uint64_t end) {
    wire::Packet packet(identity(leaf, kHostLane, first, end),
                        wire::encode(wire::Tombstone{"the journal was full", end - first}));
    packet.tombstone = true;
    return packet;
  }
  void end_leaf(std::uint32_t leaf) {
    wire::Packet last({wire::kWindowStream, kLeafLane, 1000, 1001, IntervalSet::of(leaf)}, {});
    last.last = true;
    put(last);
  }
};

TEST_F(SeriesTest, NumbersBecomeRatesAndValuesWithTheWindowTheyBelongTo) {
  put_names(0);
  put(sample(0, 0, {kUnknown, 25}));
  put(sample(0, 3, {150, 50}));
  EXPECT_EQ(ask("SELECT leaf, at_ns, name, value, begin_ns FROM series_value WHERE value IS NOT "
                "NULL ORDER BY at_ns, name"),
            "0|0|load.1m|0.25|0\n"
            "0|3000000000|cpu.user|75|3000000000\n"
            "0|3000000000|load.1m|0.5|3000000000\n");
  EXPECT_EQ(ask("SELECT name, unit, service FROM metric ORDER BY name"),
            "cpu.steal|%|host\ncpu.user|%|host\nload.1m||host\nrss|KiB|process\n");
}

TEST_F(SeriesTest, AnySqliteClientReadsThem) {
  put_names(0);
  put(sample(0, 1, {0, 100}));
  ASSERT_TRUE(store_->commit());
  sqlite3* plain = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &plain), SQLITE_OK);
  sqlite3_stmt* ask = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(plain, "SELECT value FROM host_metric WHERE name = 'load.1m'", -1,
                               &ask, nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(plain);
  ASSERT_EQ(sqlite3_step(ask), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_double(ask, 0), 1.0);
  sqlite3_finalize(ask);
  sqlite3_close(plain);
}

TEST_F(SeriesTest, NumbersOfAProcessAreThoseOfItsRank) {
  put_names(0);
  wire::SeriesSample both;
  both.at_ns = 5;
  both.layout = key_of(process_layout());
  both.captured = 1;
  both.entries = {{Lane{7}, {256}}, {Lane{8}, {1}}};  // Lane 8 is not registered yet.
  put(wire::Packet(identity(0, kProcessLane, 0, 1), wire::encode(both)));
  EXPECT_EQ(ask("SELECT world, rank, leaf, pid, at_ns, name, value FROM process_metric"),
            "0|3|0|1003|5|rss|1024\n");
  EXPECT_EQ(ask("SELECT count(*) FROM host_metric"), "0\n");
}

TEST_F(SeriesTest, NamesMayComeAfterTheNumbers) {
  put(sample(0, 0, {0, 200}));
  EXPECT_EQ(ask("SELECT name FROM host_metric"), "");
  put_names(0);
  EXPECT_EQ(ask("SELECT name, value FROM host_metric"), "load.1m|2\n");
}

TEST_F(SeriesTest, ASampleIsStoredOnceHoweverOftenItComes) {
  put_names(0);
  for (const std::uint64_t number : {0, 2, 1, 2, 0}) put(sample(0, number, {0, 1}));
  EXPECT_EQ(put(sample(0, 1, {0, 1})).kind, PutOutcome::Kind::kDuplicate);
  EXPECT_EQ(put(tombstone(0, 1, 2)).kind, PutOutcome::Kind::kDuplicate);
  EXPECT_EQ(ask("SELECT count(*) FROM host_metric WHERE name = 'load.1m'"), "3\n");
  EXPECT_EQ(ask("SELECT captured, stored, lost FROM service_account WHERE service = 'host'"),
            "3|3|0\n");
  EXPECT_EQ(ask("SELECT first, end FROM series_seen"), "0|3\n");
}

TEST_F(SeriesTest, TheAccountOfEachServiceAddsUpWhenItsLeafHasEnded) {
  put_names(0);
  put_names(1);
  put(sample(0, 0, {0, 1}));
  put(tombstone(0, 1, 4));
  put(sample(0, 4, {0, 1}));
  put(sample(1, 0, {0, 1}));
  const std::string account =
      "SELECT leaf, host, service, captured, stored, lost, complete FROM service_account WHERE "
      "captured > 0 ORDER BY leaf";
  EXPECT_EQ(ask(account), "0|node0|host|5|2|3|0\n1|node1|host|1|1|0|0\n");
  end_leaf(0);
  EXPECT_EQ(ask(account), "0|node0|host|5|2|3|1\n1|node1|host|1|1|0|0\n");
  EXPECT_EQ(
      ask("SELECT part, host, service, samples, calls, reason FROM loss WHERE part <> 'rank'"),
      "series|node0|host|3|NULL|the journal was full\n");
}

TEST_F(SeriesTest, WhatALostHostHadToldAndNeverCameIsLostAtTheEnd) {
  put_names(0);
  put(sample(0, 0, {0, 1}));
  put(sample(0, 4, {0, 1}));  // The packet says that five samples were taken.
  ASSERT_TRUE(store_->put_host_lost(LeafId{0}, "no heartbeat for 3 s"));
  EXPECT_EQ(ask("SELECT captured, stored, lost FROM service_account WHERE service = 'host'"),
            "5|2|0\n");
  ASSERT_TRUE(store_->end_run(0, 0));
  EXPECT_EQ(ask("SELECT captured, stored, lost, complete FROM service_account"
                " WHERE service = 'host'"),
            "5|2|3|0\n");
}

TEST_F(SeriesTest, WhatCannotBeReadIsLostWithItsReason) {
  put_names(0);
  put(wire::Packet(identity(0, kHostLane, 0, 1), wire::Bytes(3)));
  wire::Packet liar = sample(0, 5, {});
  liar.id.wave = 8;
  liar.id.wave_end = 9;
  put(liar);
  EXPECT_EQ(ask("SELECT captured, stored, lost FROM service_account WHERE service = 'host'"),
            "9|0|2\n");
  EXPECT_THAT(ask("SELECT reason FROM loss"), HasSubstr("the sample cannot be"));
}

TEST_F(SeriesTest, ImpossibleIdentitiesAreRefused) {
  for (const auto& id : {identity(0, 0, 0, 1), identity(0, wire::kMaxServices + 1, 0, 1),
                         identity(0, kHostLane, 1, 1)}) {
    EXPECT_FALSE(store_->put(wire::Packet(id, {}))) << raw(id.lane);
  }
  wire::PacketId two = identity(0, kHostLane, 0, 1);
  two.sources.insert(1, 2);
  EXPECT_FALSE(store_->put(wire::Packet(two, {})));
}

TEST_F(SeriesTest, AFileOfVersionSevenIsBroughtUpWithItsMetrics) {
  ASSERT_TRUE(store_->end_run(0, 0));
  store_.reset();
  change_file(path_, back_to(7) + "; INSERT INTO host_metric VALUES(4, 17, 'idle', 0.5)");
  resume();
  change_file(path_,
              "INSERT INTO host_metric(leaf, at_ns, name, value) VALUES(4, 18, 'idle', 0.25)");
  EXPECT_EQ(ask("SELECT leaf, at_ns, name, value FROM host_metric"),
            "4|17|idle|0.5\n4|18|idle|0.25\n");
  put_names(4);
  put(sample(4, 1, {0, 100}));
  EXPECT_EQ(ask("SELECT value FROM host_metric WHERE name = 'load.1m'"), "1\n");
}

TEST_F(SeriesTest, TheReportTellsTheServicesAndHowBusyHostsWere) {
  put_names(0);
  put_names(1);
  put(sample(0, 1, {300, 100, 100}));  // In two seconds. Stolen time does not count as busy.
  put(sample(0, 2, {100, 300, 200}));
  put(sample(1, 1, {0, 50}));
  put(tombstone(1, 2, 5));
  end_leaf(0);
  ASSERT_TRUE(store_->commit());
  auto run = RunFile::open(path_);
  const auto report = make_report(**run);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->services.size(), 2u);
  EXPECT_EQ(report->services[0].name, "host");
  EXPECT_EQ(report->services[0].back_ends, 2u);
  EXPECT_EQ(report->services[0].complete, 0u);  // Sample 0 of both hosts is still missing.
  EXPECT_EQ(report->services[0].captured, 3u + 5u);
  EXPECT_EQ(report->services[0].stored, 3u);
  EXPECT_EQ(report->services[0].lost, 3u);
  EXPECT_EQ(report->services[0].why, "");
  ASSERT_EQ(report->host_loads.size(), 2u);
  EXPECT_EQ(report->host_loads[0].host, "node0");
  EXPECT_DOUBLE_EQ(report->host_loads[0].processors_busy, 1.0);
  EXPECT_DOUBLE_EQ(report->host_loads[0].load, 2.0);
  for (const Report::Loss& loss : report->losses) EXPECT_EQ(loss.part, "rank") << loss.reason;
  EXPECT_TRUE(verify_totals(**run)->empty());
}

TEST_F(SeriesTest, TheReportTellsWhyAServiceGaveNoSample) {
  put_names(0);
  put_names(1);
  const auto process = [this] {
    EXPECT_TRUE(store_->commit());
    auto run = RunFile::open(path_);
    const auto report = make_report(**run);
    EXPECT_TRUE(report) << report.error().message;
    return report->services.at(1);
  };
  Report::Service none = process();
  EXPECT_EQ(none.name, "process");
  EXPECT_EQ(none.back_ends, 0u);
  EXPECT_EQ(none.captured + none.stored + none.lost, 0u);
  EXPECT_EQ(none.why, "nobody has told why");
  wire::Notice notice;
  notice.host = "node1";
  for (const char* text : {"it failed service=process", "it failed service=process why=late",
                           "it failed service=process-2", "service=host"}) {
    notice.text = text;
    ASSERT_TRUE(store_->put_notice(notice, notice.text.size() == 34 ? 9 : 5));
  }
  EXPECT_EQ(process().why, "node1: it failed service=process why=late");
}

TEST_F(SeriesTest, RanksHaveSeriesOfTheirOwn) {
  wire::Registration registration;
  registration.host = "node0";
  registration.processes = {process_row(7, 3), process_row(8, 2), process_row(9, 1, 2)};
  registration.services = {{Lane{kHostLane}, "host"}, {Lane{kProcessLane}, "process"}};
  registration.layouts = {host_layout(), process_layout()};
  put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(0)},
                   wire::encode(registration)));
  for (std::uint64_t number = 0; number < 4; ++number) {
    wire::SeriesSample sample;
    sample.at_ns = static_cast<Nanos>(number) * kSecond;
    sample.layout = key_of(process_layout());
    sample.captured = number + 1;
    const auto pages = static_cast<double>(number);
    sample.entries = {{Lane{7}, {pages}}, {Lane{8}, {100 + pages}}, {Lane{9}, {kUnknown}}};
    put(wire::Packet(identity(0, kProcessLane, number, number + 1), wire::encode(sample)));
  }
  ASSERT_TRUE(store_->end_run(0, 4 * kSecond));
  auto view = RunView::open(path_);
  ASSERT_TRUE(view) << view.error().message;
  const auto hosts = view->hosts();
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_THAT(hosts->rank_series, ::testing::ElementsAre("rss"));
  EXPECT_THAT(hosts->series, ::testing::IsEmpty());

  const auto all = view->series({.name = "rss", .columns = 2, .world = WorldId{0}});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->lines_in_all, 2u);
  ASSERT_EQ(all->lines.size(), 2u);
  EXPECT_EQ(all->lines[0].rank, Rank{2});
  EXPECT_EQ(all->lines[0].leaf, LeafId{0});
  EXPECT_EQ(all->lines[0].host, "node0");
  ASSERT_EQ(all->lines[0].points.size(), 2u);
  EXPECT_EQ(all->lines[0].points[0].min, 400);
  EXPECT_EQ(all->lines[0].points[1].max, 412);

  // A query that opens samples of another rank fails.
  change_file(path_, "UPDATE series_row SET numbers = 'no numbers' WHERE lane <> 7");
  const auto one =
      view->series({.name = "rss", .columns = 1, .world = WorldId{0}, .rank = Rank{3}});
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_EQ(one->lines.size(), 1u);
  EXPECT_EQ(one->lines[0].points.at(0).mean, 6);
  EXPECT_EQ(one->lines[0].points.at(0).samples, 4u);
  EXPECT_FALSE(view->series({.name = "rss", .world = WorldId{9}}));
  EXPECT_TRUE(view->series({.name = "rss"})->lines.empty());
}

TEST_F(SeriesTest, OfTooManySamplesOneInAWhileIsLookedAtAndTheAnswerSaysSo) {
  put_names(0);
  put_names(1);
  put(sample(0, 0, {0, 700, 0}));
  put(sample(1, 0, {0, 300, 0}));
  ASSERT_TRUE(store_->commit());
  change_file(path_,
              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)"
              " INSERT INTO series_row(service, lane, at_ns, span_ns, slice, layout, numbers)"
              " SELECT service, 0, i * 1000000, 1000000, 0, layout, '[0,' || (i * 100) || ',0]'"
              " FROM n, (SELECT service, layout FROM series_row LIMIT 1)");
  auto view = RunView::open(path_);
  ASSERT_TRUE(view) << view.error().message;
  const auto all = view->series({.name = "load.1m", .range = {0, 40 * kSecond}, .columns = 4});
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->lines.size(), 2u);
  // 16384 looks at two hosts in four slots of 10 s: 2048 a slot, every 4.9 ms.
  EXPECT_EQ(all->look_ns, 10 * kSecond / 2048);
  const SeriesTable::Point& first = all->lines[0].points.at(0);
  EXPECT_NEAR(static_cast<double>(first.samples), 2048, 1);
  EXPECT_EQ(first.min, 5);
  EXPECT_EQ(first.max, 9996);
  EXPECT_EQ(all->lines[1].points.at(0).mean, 3);
  const auto some = view->series({.name = "load.1m", .range = {0, 10 * kSecond}, .columns = 4});
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_EQ(some->look_ns, 0);
  EXPECT_EQ(some->lines[0].points.at(3).samples, 2500u);
}

TEST_F(SeriesTest, TheLastLookEndsWithTheRangeOrHasAllThatIsNewer) {
  put_names(0);
  put(sample(0, 0, {0, 700, 0}));
  ASSERT_TRUE(store_->commit());
  // 16384 intervals of 10 ns and an empty one of 5 ns; then a sample after the end.
  change_file(path_,
              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 32767)"
              " INSERT INTO series_row(service, lane, at_ns, span_ns, slice, layout, numbers)"
              " SELECT service, 0, 5 * i, 5, 0, layout, '[0,100,0]'"
              " FROM n, (SELECT service, layout FROM series_row LIMIT 1);"
              "INSERT INTO series_row(service, lane, at_ns, span_ns, slice, layout, numbers)"
              " SELECT service, 0, 163847, 5, 0, layout, '[0,9900,0]' FROM series_row LIMIT 1");
  auto view = RunView::open(path_);
  ASSERT_TRUE(view) << view.error().message;
  const auto cut = view->series({.name = "load.1m", .range = {0, 163845}, .columns = 1});
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_EQ(cut->look_ns, 10);
  EXPECT_EQ(cut->lines.at(0).points.at(0).samples, 16384u);
  EXPECT_EQ(cut->lines.at(0).points.at(0).max, 7);
  const auto all = view->series({.name = "load.1m", .range = {0, {}}, .columns = 1});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->look_ns, 10);
  EXPECT_EQ(all->lines.at(0).points.at(0).samples, 16385u);
  EXPECT_EQ(all->lines.at(0).points.at(0).max, 99);
}

TEST_F(SeriesTest, OfManyRanksSomeAreShownAndAllAreCounted) {
  wire::Registration registration;
  registration.host = "node0";
  registration.services = {{Lane{1}, "process"}};
  registration.layouts = {process_layout()};
  wire::SeriesSample sample;
  sample.layout = key_of(process_layout());
  sample.captured = 1;
  for (std::uint32_t rank = 0; rank < 300; ++rank) {
    registration.processes.push_back(process_row(rank + 1, rank, 1, 300));
    sample.entries.push_back({Lane{rank + 1}, {1.0 * rank}});
  }
  put(wire::Packet({wire::kRegistrationStream, kLeafLane, 0, 1, IntervalSet::of(0)},
                   wire::encode(registration)));
  put(wire::Packet(identity(0, 1, 0, 1), wire::encode(sample)));
  ASSERT_TRUE(store_->end_run(0, kSecond));
  auto view = RunView::open(path_);
  ASSERT_TRUE(view) << view.error().message;
  const auto series = view->series({.name = "rss", .world = WorldId{0}});
  ASSERT_TRUE(series) << series.error().message;
  EXPECT_EQ(series->lines_in_all, 300u);
  ASSERT_EQ(series->lines.size(), 256u);
  EXPECT_EQ(series->lines[255].rank, Rank{255});
  change_file(path_, "UPDATE series_row SET numbers = 'no numbers'");
  EXPECT_EQ(view->series({.name = "rss", .world = WorldId{0}}).error().code, Code::kCorrupt);
}

TEST_F(SeriesTest, AnyNumberComesBack) {
  put_names(0);
  const std::vector<double> numbers = {-300, 12345678.25, 1e100, 0,
                                       std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < numbers.size(); ++i) put(sample(0, i, {0, numbers[i]}));
  EXPECT_EQ(ask("SELECT value FROM host_metric WHERE name = 'load.1m' ORDER BY at_ns"),
            "-3\n123456.7825\n1e+98\n0\ninf\n");
}

TEST_F(SeriesTest, AViewOpensOfEachServiceOnlyTheNewestSample) {
  put_names(0);
  put_names(1);
  for (std::uint32_t number = 0; number < 3; ++number)
    put(sample(0, number, {50, 25.0 * number, 1}));
  put(sample(1, 0, {kUnknown, 300, kUnknown}));
  ASSERT_TRUE(store_->commit());
  change_file(path_, "INSERT INTO host_value VALUES(0, 7, 'idle', 0.5), (0, 3, 'idle', 0.25)");
  // A query that opens another sample fails.
  change_file(path_,
              "UPDATE series_row SET numbers = 'no numbers' WHERE at_ns IN (0, 1000000000) AND"
              " service = (SELECT id FROM service WHERE leaf = 0 AND name = 'host')");
  auto view = RunView::open(path_);
  ASSERT_TRUE(view) << view.error().message;
  const auto hosts = view->hosts();
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_THAT(hosts->series, ::testing::ElementsAre("cpu.steal", "cpu.user", "idle", "load.1m"));
  ASSERT_EQ(hosts->hosts.size(), 2u);
  EXPECT_THAT(
      hosts->hosts[0].newest,
      ::testing::ElementsAre(::testing::Pair("cpu.steal", 0.5), ::testing::Pair("cpu.user", 25),
                             ::testing::Pair("idle", 0.5), ::testing::Pair("load.1m", 0.5)));
  EXPECT_THAT(hosts->hosts[1].newest, ::testing::ElementsAre(::testing::Pair("load.1m", 3)));

  const auto overview = view->overview();
  ASSERT_TRUE(overview) << overview.error().message;
  ASSERT_EQ(overview->report.services.size(), 2u);
  EXPECT_EQ(overview->report.services[0].captured, 4u);
  EXPECT_THAT(overview->report.host_loads, ::testing::IsEmpty());
}

TEST_F(SeriesTest, ARunLastsInItsViewsUntilItsLastSample) {
  put_names(0);
  for (std::uint64_t number = 0; number < 8; ++number) put(sample(0, number, {50, 25, 1}));
  ASSERT_TRUE(store_->end_run(0, kSecond));
  auto view = RunView::open(path_);
  ASSERT_TRUE(view) << view.error().message;
  const auto series = view->series({.name = "load.1m", .columns = 7});
  ASSERT_TRUE(series) << series.error().message;
  EXPECT_EQ(series->scope.run_end_ns, 7 * kSecond);
  ASSERT_EQ(series->lines.size(), 1u);
  EXPECT_EQ(series->lines[0].points.size(), 7u);
  change_file(path_, "INSERT INTO host_value VALUES(0, 9000000000, 'idle', 0.5)");
  const auto scope = view->scope();
  ASSERT_TRUE(scope) << scope.error().message;
  EXPECT_EQ(scope->run_end_ns, 9 * kSecond);
}

}  // namespace
}  // namespace xylem::storage
