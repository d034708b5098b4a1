#include "storage/alert/alert_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/config.h"

namespace xylem::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<AlertLimits> read(const std::string& text) {
  const auto entries = parse_config(text, "x.toml");
  EXPECT_TRUE(entries) << entries.error().message;
  return read_alert_limits(*entries, "x.toml");
}

TEST(AlertOptions, SetThresholdsOrTurnRulesOff) {
  const auto limits = read(
      "[alerts]\nstalled = \"30s\"\nimbalance = 0.2\nlate = \"off\"\nloss = 7\nspan = \"1m\"\n");
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_EQ(limits->stalled_ns, 30 * kSecond);
  EXPECT_EQ(limits->imbalance, 0.2);
  EXPECT_EQ(limits->late, std::nullopt);
  EXPECT_EQ(limits->lost_calls, 7u);
  EXPECT_EQ(limits->span_ns, 60 * kSecond);
  const auto again = read(print_alert_limits(*limits));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *limits);
  EXPECT_EQ(print_alert_limits(*read("")), "");
}

TEST(AlertOptions, RefuseWhatIsNoThresholdAndSayWhere) {
  for (const char* line : {"stalled = \"1ms\"", "imbalance = 2", "late = -0.5", "loss = 0",
                           "span = \"off\"", "imbalance = \"much\"", "stall = \"1s\""}) {
    const auto limits = read("[alerts]\n" + std::string(line) + "\n");
    ASSERT_FALSE(limits) << line;
    EXPECT_THAT(limits.error().message, StartsWith("x.toml:2: alerts: ")) << line;
  }
  EXPECT_THAT(read("[alerts]\nstall = \"1s\"\n").error().message, HasSubstr("not 'stall'"));
}

TEST(AlertOptions, AreASection) {
  EXPECT_TRUE(read("[alerts]\n"));
  const auto limits = read("\nalerts = 1\n");
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().code, Code::kInvalidArgument);
  EXPECT_THAT(limits.error().message, StartsWith("x.toml:2: alerts is a section"));
}

}  // namespace
}  // namespace xylem::storage
