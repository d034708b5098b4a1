#include "cli/finding_lines.h"

#include <gtest/gtest.h>

namespace xylem {
namespace {

storage::Alert alert_of(const char* text) {
  storage::Alert alert;
  alert.text = text;
  return alert;
}

TEST(AlertLines, HaveTheSentenceOfTheAlert) {
  AlertLines lines;
  EXPECT_EQ(lines.line(alert_of("rank 3 is stopped"), kSecond), "alert: rank 3 is stopped");
}

TEST(AlertLines, ComeAtMostOnceASecondAfterAFewAndSayHowManyWereLeftOut) {
  AlertLines lines;
  for (int i = 0; i < AlertLines::kAtOnce; ++i) {
    EXPECT_EQ(lines.line(alert_of("a"), kSecond), "alert: a");
  }
  EXPECT_EQ(lines.line(alert_of("b"), kSecond + 1), "");
  EXPECT_EQ(lines.line(alert_of("c"), 2 * kSecond - 1), "");
  EXPECT_EQ(lines.line(alert_of("d"), 2 * kSecond), "alert: d (and 2 more before)");
  EXPECT_EQ(lines.line(alert_of("e"), 2 * kSecond + 1), "");
  EXPECT_EQ(lines.line(alert_of("f"), 3 * kSecond), "alert: f (and 1 more before)");
}

TEST(AlertLines, EndAfterTheirMaximum) {
  AlertLines lines;
  std::string last;
  for (std::uint64_t i = 1; i <= AlertLines::kMaxLines; ++i) {
    last = lines.line(alert_of("x"), static_cast<Nanos>(i) * kSecond);
    EXPECT_NE(last, "");
  }
  EXPECT_EQ(last, "alert: x; no more alerts are printed, the store has them");
  EXPECT_EQ(lines.line(alert_of("x"), 100 * kSecond), "");
}

TEST(FindingLines, OfAFileThatIsNoRunAreNone) {
  EXPECT_TRUE(finding_lines("/nonexistent/run.db").empty());
}

}  // namespace
}  // namespace xylem
