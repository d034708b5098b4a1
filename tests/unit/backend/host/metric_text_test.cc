#include "backend/host/metric_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace xylem::backend {
namespace {

using ::testing::HasSubstr;

double number_of(const MetricText& text, const std::string& name) {
  for (const MetricLine& line : text.lines) {
    if (line.name == name) return line.number;
  }
  return std::nan("");
}

TEST(MetricText, TakesANameAndANumberALine) {
  const MetricText text = parse_metrics("watts 12.5\ntemp\t-3\r\n  \nio.read/s 1e3\n");
  EXPECT_EQ(text.lines.size(), 3u);
  EXPECT_EQ(number_of(text, "watts"), 12.5);
  EXPECT_EQ(number_of(text, "temp"), -3);
  EXPECT_EQ(number_of(text, "io.read/s"), 1000);
  EXPECT_EQ(text.bad_lines, 0u);
}

TEST(MetricText, TakesALastLineWithoutAnEnd) {
  EXPECT_EQ(number_of(parse_metrics("watts 12.5\ntemp 3"), "temp"), 3);
}

TEST(MetricText, TakesOpenMetricsWithTypesUnitsLabelsTimesAndExemplars) {
  const MetricText text = parse_metrics(
      "# HELP jobs Done so far.\n"
      "# TYPE jobs counter\n"
      "jobs_total{queue=\"a}\\\"b\"} 17 1520879607.789 # {trace=\"x\"} 1\n"
      "# TYPE power gauge\n"
      "# UNIT power watts\n"
      "power{} 3 1520879607\n"
      "# EOF\n"
      "after_the_end 1\n");
  ASSERT_EQ(text.lines.size(), 2u);
  EXPECT_EQ(text.lines[0].name, "jobs_total{queue=\"a}\\\"b\"}");
  EXPECT_TRUE(text.lines[0].is_counter);
  EXPECT_EQ(text.lines[0].number, 17);
  EXPECT_EQ(text.lines[1].name, "power");
  EXPECT_FALSE(text.lines[1].is_counter);
  EXPECT_EQ(text.lines[1].unit, "watts");
}

TEST(MetricText, TakesPrometheusCountersWithTheirSuffix) {
  EXPECT_TRUE(parse_metrics("# TYPE x_total counter\nx_total 1\n").lines.at(0).is_counter);
}

TEST(MetricText, TakesNumbersThatAreNone) {
  const MetricText text =
      parse_metrics("a NaN\nb +Inf\nc -inf\nd +5\ne 1e999\nf -1e999\ng 1e-999\n");
  EXPECT_TRUE(std::isnan(number_of(text, "a")));
  EXPECT_EQ(number_of(text, "b"), INFINITY);
  EXPECT_EQ(number_of(text, "c"), -INFINITY);
  EXPECT_EQ(number_of(text, "d"), 5);
  EXPECT_EQ(number_of(text, "e"), INFINITY);
  EXPECT_EQ(number_of(text, "f"), -INFINITY);
  EXPECT_EQ(number_of(text, "g"), 0);
}

TEST(MetricText, CountsWhatIsNoMetricAndKeepsTheFirstForPeople) {
  const MetricText text = parse_metrics("Error: no\x1b[31m device\nwatts\n5 5\nok 1\nx{a=\"b 1\n");
  EXPECT_EQ(text.bad_lines, 4u);
  EXPECT_EQ(text.first_bad, "Error: no?[31m device");
  EXPECT_EQ(text.lines.size(), 1u);
}

TEST(MetricText, TheLastOfANameCounts) {
  const MetricText text = parse_metrics("a 1\nb 2\na 3\n");
  EXPECT_EQ(text.lines.size(), 2u);
  EXPECT_EQ(number_of(text, "a"), 3);
}

TEST(MetricText, TakesNoMoreMetricsThanItSays) {
  std::string many;
  for (std::size_t i = 0; i < kMaxMetrics + 10; ++i) many += "m" + std::to_string(i) + " 1\n";
  const MetricText text = parse_metrics(many);
  EXPECT_EQ(text.lines.size(), kMaxMetrics);
  EXPECT_EQ(text.dropped, 10u);
  EXPECT_EQ(parse_metrics(std::string(kLongestMetricName + 1, 'x') + " 1\n").bad_lines, 1u);
}

}  // namespace
}  // namespace xylem::backend
