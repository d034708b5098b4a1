#include "viz/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xylem::viz {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MetricsValues some_values() {
  MetricsValues values;
  values.overview.report.run.run_id = "a\"b\\c\n\xff";
  storage::Report::Function function;
  function.name = "MPI_Send";
  function.calls = 7;
  function.time_ns = 1'000'000'001;
  values.overview.report.functions = {function, function};
  storage::WorldTotals::World world;
  world.captured = (std::uint64_t{1} << 60) + 1;
  world.mpi_ns = (std::uint64_t{1} << 60) + 1;
  values.totals.worlds = {world};
  return values;
}

TEST(Metrics, AreExactAndHaveUnitHelpAndEnd) {
  const std::string text = metrics_text(some_values(), MetricsFormat::kOpenMetrics);
  EXPECT_THAT(text, HasSubstr("# TYPE xylem_calls_captured counter\n"));
  EXPECT_THAT(text, HasSubstr("xylem_calls_captured_total{world=\"0\"} 1152921504606846977\n"));
  EXPECT_THAT(text, HasSubstr("# UNIT xylem_mpi_time_seconds seconds\n# HELP "));
  EXPECT_THAT(text, HasSubstr("xylem_mpi_time_seconds_total{world=\"0\"} 1152921504.606846977\n"));
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST(Metrics, RanksInCallsAreCountedByTheLengthOfTheirCalls) {
  MetricsValues values = some_values();
  storage::WorldTotals::World& world = values.totals.worlds.front();
  world.ranks_in_call = {3, 2, 0, 0};
  world.longest_call_ns = 12'500'000'000;
  world.watched_ns = 99'000'000'000;
  const std::string text = metrics_text(values, MetricsFormat::kOpenMetrics);
  EXPECT_THAT(text, HasSubstr("# TYPE xylem_ranks_in_call gauge\n"));
  EXPECT_THAT(text, HasSubstr("xylem_ranks_in_call{world=\"0\",longer_than_seconds=\"1\"} 3\n"
                              "xylem_ranks_in_call{world=\"0\",longer_than_seconds=\"10\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("xylem_longest_call_under_way_seconds{world=\"0\"} 12.500000000\n"));
  EXPECT_THAT(text, HasSubstr("xylem_watched_time_seconds{world=\"0\"} 99.000000000\n"));
}

TEST(Metrics, LabelsHoldWhatTheFormatLets) {
  EXPECT_THAT(metrics_text(some_values(), MetricsFormat::kOpenMetrics),
              HasSubstr("xylem_run_info{run=\"a\\\"b\\\\c??\","));
}

TEST(Metrics, NoSeriesComesTwice) {
  const std::string text = metrics_text(some_values(), MetricsFormat::kOpenMetrics);
  EXPECT_THAT(text, HasSubstr("xylem_function_calls_total{function=\"MPI_Send\"} 14\n"));
  EXPECT_THAT(text,
              HasSubstr("xylem_function_time_seconds_total{function=\"MPI_Send\"} 2.000000002\n"));
}

TEST(Metrics, OlderReadersGetTheOlderFormat) {
  EXPECT_EQ(metrics_format(""), MetricsFormat::kOpenMetrics);
  EXPECT_EQ(metrics_format("*/*"), MetricsFormat::kOpenMetrics);
  EXPECT_EQ(metrics_format("text/plain;version=0.0.4"), MetricsFormat::kText);
  EXPECT_EQ(metrics_format("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            MetricsFormat::kOpenMetrics);
  const std::string text = metrics_text(some_values(), MetricsFormat::kText);
  EXPECT_THAT(text, HasSubstr("# TYPE xylem_calls_captured_total counter\n"));
  EXPECT_THAT(text, Not(HasSubstr("# UNIT")));
  EXPECT_THAT(text, Not(HasSubstr("EOF")));
}

}  // namespace
}  // namespace xylem::viz
