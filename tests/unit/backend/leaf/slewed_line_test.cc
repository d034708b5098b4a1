#include "backend/leaf/slewed_line.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace xylem::backend {
namespace {

TEST(SlewedLine, TheFirstOffsetHoldsForAllTimes) {
  SlewedLine line;
  EXPECT_FALSE(line.is_set());
  EXPECT_EQ(line.aim(5 * kSecond, 300), LineChange::kFirst);
  EXPECT_EQ(line.at(0), 300);
  EXPECT_EQ(line.at(5 * kSecond), 5 * kSecond + 300);
  EXPECT_EQ(line.at(500 * kSecond), 500 * kSecond + 300);
}

TEST(SlewedLine, ReachesANewOffsetWithinASecondWithoutAStep) {
  for (const Nanos change : {Nanos{-40'000}, Nanos{40'000}, Nanos{-1}, Nanos{1}}) {
    SCOPED_TRACE(change);
    SlewedLine line;
    line.aim(1, 0);
    EXPECT_EQ(line.aim(10 * kSecond, change), LineChange::kSlew);
    EXPECT_EQ(line.at(10 * kSecond), 10 * kSecond);
    const Nanos half = line.at(10 * kSecond + kSecond / 2) - 10 * kSecond - kSecond / 2;
    EXPECT_NEAR(static_cast<double>(half), static_cast<double>(change) / 2, 1);
    const Nanos end = line.at(11 * kSecond) - 11 * kSecond;
    EXPECT_NEAR(static_cast<double>(end), static_cast<double>(change), 1);
    EXPECT_EQ(line.at(20 * kSecond) - 20 * kSecond, end);
  }
}

TEST(SlewedLine, AnOffsetThatIsRightChangesNothing) {
  SlewedLine line;
  line.aim(1, 70);
  EXPECT_EQ(line.aim(kSecond, 70), LineChange::kNone);
  EXPECT_EQ(line.pieces().size(), 1u);
}

TEST(SlewedLine, WaitsForTheEndOfAChangeBeforeTheNext) {
  SlewedLine line;
  line.aim(1, 0);
  line.aim(kSecond, 1000);
  EXPECT_EQ(line.aim(kSecond + kSecond / 2, 5000), LineChange::kNone);
  EXPECT_EQ(line.aim(3 * kSecond, 5000), LineChange::kSlew);
}

TEST(SlewedLine, StepsWhenTheOffsetIsWrongByMoreThanASecond) {
  for (const Nanos offset : {-1000 * kSecond, 1000 * kSecond}) {
    SlewedLine line;
    line.aim(1, 0);
    EXPECT_EQ(line.aim(2000 * kSecond, offset), LineChange::kStep);
    EXPECT_EQ(line.at(1999 * kSecond), 1999 * kSecond);
    EXPECT_EQ(line.at(2000 * kSecond), 2000 * kSecond + offset);
  }
}

// The oldest piece may be a slope of a second. It says nothing of the time before it.
TEST(SlewedLine, OlderTimesHaveTheOffsetAtTheBeginOfTheOldestPiece) {
  SlewedLine line;
  line.aim(1, 0);
  line.aim(1000 * kSecond, 30 * kMillisecond);
  const SlewedLine successor(
      std::vector<LinePiece>(line.pieces().begin() + 1, line.pieces().end()));
  ASSERT_NE(successor.pieces().front().slope_off, 0);
  LineReader reader(successor);
  for (const Nanos x : {Nanos{-5}, Nanos{0}, 400 * kSecond, 1000 * kSecond}) {
    EXPECT_EQ(successor.at(x), x);
    EXPECT_EQ(reader(x), x);
  }
  EXPECT_EQ(successor.at(2000 * kSecond), line.at(2000 * kSecond));
}

TEST(SlewedLine, AcceptsAnyTimeAndAnyOffset) {
  constexpr Nanos kMax = std::numeric_limits<Nanos>::max();
  for (const Nanos offset : {-kMax - 1, -kSecond, kSecond, kMax}) {
    SlewedLine line;
    line.aim(kMax, offset);
    line.aim(kMax, -(offset / 2));
    for (const Nanos x : {-kMax - 1, Nanos{-1}, Nanos{0}, kMax}) std::ignore = line.at(x);
  }
}

// The offset is measured again and again. Converted times never change, nor does their order.
TEST(SlewedLine, KeepsTheOrderAndThePastWhateverTheOffsetLearns) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    SlewedLine line;
    Nanos now = kSecond;
    Nanos offset = 0;
    line.aim(now, offset);
    Nanos last = 0;
    std::vector<std::pair<Nanos, Nanos>> converted;
    for (int i = 0; i < 300; ++i) {
      LineReader reader(line);
      for (int k = 0; k < 10; ++k) {
        now += static_cast<Nanos>(random() % (20 * kMillisecond));
        const Nanos value = line.at(now);
        ASSERT_EQ(reader(now), value);
        ASSERT_GE(value, last);
        last = value;
        converted.emplace_back(now, value);
      }
      offset += static_cast<Nanos>(random() % 2'000'000) - 1'000'000;
      line.aim(now + 1, offset);
    }
    for (const auto& [x, value] : converted) ASSERT_EQ(line.at(x), value);
    const SlewedLine successor(std::vector<LinePiece>(line.pieces().begin(), line.pieces().end()));
    for (const auto& [x, value] : converted) ASSERT_EQ(successor.at(x), value);
    line.aim(now + 30 * kSecond, offset);
    EXPECT_NEAR(static_cast<double>(line.at(now + 60 * kSecond) - now - 60 * kSecond),
                static_cast<double>(offset), 1);
  }
}

}  // namespace
}  // namespace xylem::backend
