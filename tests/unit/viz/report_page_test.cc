#include "viz/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace xylem::viz {
namespace {

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
  values.mpi.rows = {{0, 1, "n", 250}};
  values.mpi.cells = {100, 100, 0, 50};
  values.wait = values.mpi;
  const std::string page = make_report_page(values);
  EXPECT_THAT(page, HasSubstr("<path class=\"l9\" d=\"M0 0h2\"/>"));
  EXPECT_THAT(page, HasSubstr("<path class=\"l5\" d=\"M3 0h1\"/>"));
}

}  // namespace
}  // namespace xylem::viz
