#include "viz/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>

#include "storage/read/event_reader.h"
#include "tests/unit/storage/stored_run.h"
#include "viz/report_json.h"
#include "viz/report_text.h"

namespace xylem::viz {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportPage, IsBelowAMebibyteForAThousandRanksWhateverTheyDo) {
  std::mt19937 random(20261122);
  ReportPageValues values;
  const auto fill = [&random](storage::RankGrid& grid) {
    grid.world_size = 1024;
    grid.slot_ns = kSecond;
    grid.columns = 160;
    grid.scope.end_ns = 160 * kSecond;
    for (std::uint64_t row = 0; row < 128; ++row) {
      grid.rows.push_back({row * 8, 8, std::string(60, '&'), 1});
    }
    for (std::uint64_t i = 0; i < 128 * 160; ++i) {
      grid.cells.push_back(random() % (8 * kSecond));  // No two alike: no stroke is long.
      grid.watched.push_back(static_cast<std::uint64_t>(8 * kSecond));
    }
  };
  fill(values.mpi);
  fill(values.wait);
  values.matrix.world_size = 1024;
  values.matrix.block = 11;
  for (std::uint64_t row = 0; row < 1024; row += 11) {
    for (std::uint64_t column = 0; column < 1024; column += 11) {
      values.matrix.cells.push_back({row, column, 1, random() % 1'000'000});
    }
  }
  values.overview.report.run.command = std::string(200'000, '"');
  values.functions.functions.resize(100);
  values.hosts.hosts.resize(1024);
  for (auto& host : values.hosts.hosts) host.name = std::string(60, '<');
  const std::string page = make_report_page(values);
  EXPECT_LT(page.size(), 1u << 20);
  EXPECT_THAT(page, HasSubstr("and 924 more"));
}

TEST(ReportPage, ShowsTextAsText) {
  EXPECT_EQ(html_text("<a href=\"x\">'&\x1b\xff"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;??");
}

TEST(ReportPage, AnEmptyRunIsAPageThatSaysSo) {
  const std::string page = make_report_page({});
  EXPECT_THAT(page, HasSubstr("No rank has registered."));
  EXPECT_THAT(page, HasSubstr("No call of MPI was seen."));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(ReportPage, CountsWhatTheTreeWasMadeOf) {
  ReportPageValues values;
  for (const char* role : {"front_end", "comm_process", "comm_process", "back_end"}) {
    values.tree.report.nodes.emplace_back().role = role;
  }
  EXPECT_THAT(make_report_page(values),
              HasSubstr("The tree had 2 communication processes and 1 back end.</p>"));
  for (int i = 0; i < 3; ++i) values.tree.report.nodes.emplace_back().role = "program";
  EXPECT_THAT(make_report_page(values),
              HasSubstr("2 communication processes, 1 back end and 3 programs.</p>"));
}

TEST(ReportPage, MapsJoinEqualNeighboursAndLeaveOutNothingness) {
  ReportPageValues values;
  values.mpi.world_size = 1;
  values.mpi.slot_ns = 100;
  values.mpi.columns = 4;
  values.mpi.rows = {{0, 1, "n", 250, 400}};
  values.mpi.cells = {100, 100, 0, 50};
  values.mpi.watched = {100, 100, 100, 100};
  values.wait = values.mpi;
  const std::string page = make_report_page(values);
  EXPECT_THAT(page, HasSubstr("<path class=\"l9\" d=\"M0 0h2\"/>"));
  EXPECT_THAT(page, HasSubstr("<path class=\"l5\" d=\"M3 0h1\"/>"));
}

storage::CallUnderWay a_call(std::uint32_t rank, bool has_ended, bool is_host_lost) {
  storage::CallUnderWay call;
  call.rank = Rank{rank};
  call.function = "MPI_Recv<";
  call.begin_ns = kSecond;
  call.at_ns = 3 * kSecond;
  call.peer = Rank{7};
  call.has_ended = has_ended;
  call.is_host_lost = is_host_lost;
  return call;
}

TEST(ReportPage, ListsTheCallsUnderWay) {
  ReportPageValues values;
  EXPECT_THAT(make_report_page(values), Not(HasSubstr("id=\"under_way\"")));
  storage::Report& report = values.overview.report;
  report.under_way = {a_call(3, false, false), a_call(4, true, false), a_call(5, false, true)};
  report.under_way_in_all = 9;
  const std::string page = make_report_page(values);
  EXPECT_THAT(page, HasSubstr("<table id=\"under_way\">"));
  EXPECT_THAT(page, HasSubstr("<td class=\"n\"><data value=\"3\">3</data></td>"
                              "<td class=\"n\"><data value=\"0\">0</data></td>"
                              "<td class=\"t\">MPI_Recv&lt;</td>"
                              "<td class=\"n\"><data value=\"2000000000\">2.00 s</data></td>"
                              "<td class=\"t\">1.00 s</td><td class=\"t\">7</td>"
                              "<td class=\"t\"></td></tr>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"t\">the rank ended in it</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"t\">its host was lost</td>"));
  EXPECT_THAT(page, HasSubstr("and 6 more"));
}

TEST(ReportText, SaysWhichCallsUnderWayDoNotLast) {
  storage::Report report;
  report.under_way = {a_call(3, false, false), a_call(4, true, false), a_call(5, false, true)};
  report.under_way_in_all = 3;
  const std::string text = report_text(report);
  EXPECT_THAT(text, HasSubstr("\nUnder way: 3 calls have not returned\n"));
  EXPECT_THAT(text, ContainsRegex(" 4  MPI_Recv< .*  the rank ended in it\n"));
  EXPECT_THAT(text, ContainsRegex(" 5  MPI_Recv< .*  its host was lost\n"));
  const std::string json = report_json(report);
  EXPECT_THAT(json, HasSubstr("\"under_way_in_all\":3,\"under_way\":[{\"world\":0,\"rank\":3,"));
  EXPECT_THAT(json, HasSubstr("\"has_ended\":true,\"host_lost\":false}"));
  EXPECT_THAT(json, HasSubstr("\"has_ended\":false,\"host_lost\":true}"));
}

TEST(ReportText, HasNoMeanWithTimeOfCallsUnderWay) {
  storage::Report report;
  storage::Report::Function function;
  function.name = "MPI_Recv";
  function.time_ns = 77 * kSecond;
  report.functions = {function};
  report.functions_in_all = 1;
  EXPECT_THAT(report_text(report), ContainsRegex("MPI_Recv +0 +77.0 s +0.0 % +0 ns\n"));
  report.functions[0].calls = 2;
  report.functions[0].max_ns = 3 * kSecond;
  EXPECT_THAT(report_text(report), Not(HasSubstr("38.5 s")));
  report.functions[0].max_ns = 40 * kSecond;
  EXPECT_THAT(report_text(report), HasSubstr("38.5 s"));
}

/// A run's file whose run goes on before every query.
class BusyRunFile final : public storage::RunFile {
 public:
  BusyRunFile(std::unique_ptr<storage::RunFile> file, std::function<void()> go_on)
      : file_(std::move(file)), go_on_(std::move(go_on)) {}
  Result<void> query(std::string_view sql, storage::RowSink& sink) override {
    go_on_();
    return file_->query(sql, sink);
  }
  Result<void> hold() override { return file_->hold(); }
  void release() override { file_->release(); }
  void set_deadline(Nanos deadline, const std::atomic<bool>* given_up) override {
    file_->set_deadline(deadline, given_up);
  }
  Result<std::shared_ptr<const storage::WaitStates>> wait_states() override {
    go_on_();
    return file_->wait_states();
  }
  Result<std::unique_ptr<storage::EventReader>> events(const storage::EventQuery& query) override {
    go_on_();
    return file_->events(query);
  }
  std::uint64_t chunks_decoded() const override { return file_->chunks_decoded(); }
  const std::string& path() const override { return file_->path(); }

 private:
  std::unique_ptr<storage::RunFile> file_;
  std::function<void()> go_on_;
};

class AskReportPageTest : public storage::StoredRun {
 protected:
  AskReportPageTest() : StoredRun(facts()) {
    put(storage::registration_packet(0, {storage::process_row(1, 0)}));
    put_window();
  }
  static storage::RunFacts facts() {
    storage::RunFacts facts;
    facts.window_ns = 250 * kMillisecond;
    return facts;
  }
  void put_window() {
    put(storage::window_packet(wave_, 0, 3, storage::account_row(0, 1, 3 * (wave_ + 1))));
    ++wave_;
    EXPECT_TRUE(store_->commit());
  }

  std::uint64_t wave_ = 0;
};

TEST_F(AskReportPageTest, AllValuesAreFromOneCommitWhileTheRunGoesOn) {
  auto file = storage::RunFile::open(path_);
  ASSERT_TRUE(file) << file.error().message;
  storage::RunView run(std::make_unique<BusyRunFile>(*std::move(file), [this] { put_window(); }));
  const auto values = ask_report_page(run);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_GT(wave_, 5u);
  const Nanos end = values->overview.scope.run_end_ns;
  EXPECT_EQ(values->mpi.scope.run_end_ns, end);
  EXPECT_EQ(values->wait.scope.run_end_ns, end);
  EXPECT_EQ(values->wait.slot_ns, values->mpi.slot_ns);
  EXPECT_EQ(values->alerts.scope.run_end_ns, end);
  const auto newer = run.scope();  // Nothing is held any more.
  ASSERT_TRUE(newer) << newer.error().message;
  EXPECT_GT(newer->run_end_ns, end);
}

}  // namespace
}  // namespace xylem::viz
