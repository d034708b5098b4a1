// What a report says of waits: with events their causes, without events an estimate.

#include "viz/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "viz/report_json.h"
#include "viz/report_page.h"

namespace xylem::viz {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

storage::Report report_with_trace() {
  storage::Report report;
  report.mpi_ns = 10 * kSecond;
  report.waits = {{WorldId{0}, Rank{1}, Rank{2}, 5 * kSecond, 120}};
  report.waits_in_all_ns = 5 * kSecond;
  storage::WaitSummary& waits = report.wait_states;
  waits.causes = {{WorldId{0}, Rank{2}, 6'100 * kMillisecond, 3, {Rank{0}, Rank{1}, Rank{3}}}};
  waits.causes_in_all = 1;
  waits.rows = {{WorldId{0}, Rank{1}, Rank{2}, Rank{2}, storage::WaitKind::kLateSender,
                 "MPI_Waitall", 4'030 * kMillisecond, 120},
                {WorldId{0}, Rank{0}, Rank{3}, Rank{2}, storage::WaitKind::kWaitAtCollective,
                 "MPI_Barrier", 2 * kSecond, 1}};
  waits.rows_in_all = 5;
  storage::WaitCoverage& coverage = waits.worlds.emplace_back();
  coverage.blocking = {200, 8 * kSecond};
  coverage.analysed = {150, 6 * kSecond};
  coverage.waiting_ns = 6'100 * kMillisecond;
  coverage.not_analysed[3] = {50, 2 * kSecond};
  return report;
}

TEST(ReportText, NamesRootCausesFirstThenTheLongestWaits) {
  const std::string text = report_text(report_with_trace());
  EXPECT_THAT(text, HasSubstr("\nWaits, from the trace: 6.10 s of 8.00 s in blocking calls;"
                              " 75.0 % of this time is analysed\n"
                              "  rank 2 caused 6.10 s of waiting in ranks 0, 1, 3\n"
                              "  rank 1 waited 4.03 s for rank 2 (late sender, MPI_Waitall,"
                              " 120 calls)\n"
                              "  rank 0 waited 2.00 s for rank 3 (wait at collective,"
                              " MPI_Barrier, 1 call; root cause: rank 2)\n"
                              "  and 3 more;"));
  EXPECT_THAT(text, HasSubstr("  not analysed: 2.00 s in 50 calls: kinds of calls that are not "
                              "covered, such as MPI_Scan"));
  EXPECT_THAT(text, Not(HasSubstr("estimate")));
}

TEST(ReportText, SaysThatWaitsWithoutEventsAreAnEstimateAndOfHowMuch) {
  storage::Report report = report_with_trace();
  report.wait_states = {};
  const std::string text = report_text(report);
  EXPECT_THAT(text, HasSubstr("\nWaits, an estimate: the whole time of calls that received from a"
                              " rank\n  They took 50.0 % of the time in MPI."));
  EXPECT_THAT(text, Not(HasSubstr("caused")));
}

TEST(ReportText, TakesTheEstimateIfNoEventHasANumber) {
  storage::Report report = report_with_trace();
  report.wait_states.worlds[0].analysed = {};
  EXPECT_THAT(report_text(report), HasSubstr("an estimate"));
}

TEST(ReportText, NamesTheRanksThatWaitedMostIfThereAreMany) {
  storage::Report report = report_with_trace();
  report.wait_states.causes[0].ranks = 63;
  EXPECT_THAT(report_text(report), HasSubstr("rank 2 caused 6.10 s of waiting in 63 ranks, most of"
                                             " it in ranks 0, 1, 3\n"));
}

TEST(ReportJson, HasCausesWaitsAndCoverage) {
  const std::string json = report_json(report_with_trace());
  EXPECT_THAT(json, HasSubstr(R"("waits_share":0.5)"));
  EXPECT_THAT(json, HasSubstr(R"("wait_causes":[{"world":0,"rank":2,"time_ns":6100000000,)"
                              R"("ranks":3,"longest":[0,1,3]}],"wait_causes_in_all":1)"));
  EXPECT_THAT(json, HasSubstr(R"({"world":0,"rank":0,"cause_rank":3,"root_rank":2,)"
                              R"("kind":"wait_at_collective","function":"MPI_Barrier",)"
                              R"("time_ns":2000000000,"calls":1})"));
  EXPECT_THAT(json, HasSubstr(R"("not_covered":{"calls":50,"time_ns":2000000000})"));
}

TEST(ReportPage, ShowsCausesIfThereAreEventsAndElseTheEstimate) {
  ReportPageValues values;
  values.overview.report = report_with_trace();
  values.waits.summary = values.overview.report.wait_states;
  const std::string page = make_report_page(values);
  EXPECT_THAT(page, HasSubstr("Waits, and the ranks that caused them"));
  EXPECT_THAT(page, HasSubstr("75.0 %"));
  EXPECT_THAT(page, HasSubstr("0, 1, 3"));
  EXPECT_THAT(page, Not(HasSubstr("an estimate: time of calls")));
  values.waits = {};
  EXPECT_THAT(make_report_page(values), HasSubstr("Waits, an estimate: time of calls"));
}

}  // namespace
}  // namespace xylem::viz
