#include "overlay/refusals.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/log.h"

namespace xylem::overlay {
namespace {

constexpr Nanos kFirstRefusal = 100 * kSecond;

class RefusalsTest : public ::testing::Test {
 protected:
  RefusalsTest() {
    set_log_sink([this](Level, std::string_view line) { lines_.emplace_back(line); });
  }
  ~RefusalsTest() override { set_log_sink({}); }

  Refusals refusals_;
  std::vector<std::string> lines_;
};

TEST_F(RefusalsTest, LogsTheFirstOfAReasonAndHowManyFollowed) {
  for (int i = 0; i < 700; ++i) refusals_.add("10.0.0.9:1", "silent", kFirstRefusal + i);
  EXPECT_EQ(refusals_.count(), 700u);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0], "connection refused from=10.0.0.9:1 why=silent");
  ASSERT_EQ(refusals_.due(), kFirstRefusal + Refusals::kInterval);
  refusals_.tell(kFirstRefusal + Refusals::kInterval);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[1], "more connections refused count=699 within_s=10");
  EXPECT_FALSE(refusals_.due());
}

TEST_F(RefusalsTest, AnotherReasonIsNotHiddenByAFlood) {
  refusals_.add("a", "silent", kFirstRefusal);
  refusals_.add("a", "silent", kFirstRefusal);
  refusals_.add("b", "wrong key", kFirstRefusal);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[1], "connection refused from=b why=\"wrong key\"");
}

TEST_F(RefusalsTest, StrangersWhoMakeUpReasonsDoNotFloodEither) {
  for (int i = 0; i < 700; ++i) refusals_.add("a", std::to_string(i), kFirstRefusal);
  EXPECT_EQ(lines_.size(), Refusals::kReasons);
}

TEST_F(RefusalsTest, AFloodThatGoesOnIsOneLineAnInterval) {
  for (int s = 0; s < 100; ++s) {
    const Nanos now = kFirstRefusal + s * kSecond;
    if (refusals_.due() && *refusals_.due() <= now) refusals_.tell(now);
    refusals_.add("a", "silent", now);
  }
  EXPECT_EQ(lines_.size(), 1u + 9u);
}

TEST_F(RefusalsTest, AfterAQuietIntervalAReasonIsToldAgain) {
  refusals_.add("a", "silent", kFirstRefusal);
  refusals_.add("b", "silent", kFirstRefusal + Refusals::kInterval);
  EXPECT_EQ(lines_.size(), 2u);
  EXPECT_FALSE(refusals_.due());
}

}  // namespace
}  // namespace xylem::overlay
