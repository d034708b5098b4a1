#include "base/quantity_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace xylem {
namespace {

TEST(Quantities, ShowThreeDigitsAndTheirUnit) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1204113), "1,204,113");
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(1204113, "rank"), "1,204,113 ranks");
  EXPECT_EQ(duration_text(std::numeric_limits<Nanos>::max()), "2562047 h 47 m");
  EXPECT_EQ(duration_text(std::numeric_limits<Nanos>::min()), "-2562047 h 47 m");
  EXPECT_EQ(duration_text(std::numeric_limits<Nanos>::min() + 1), "-2562047 h 47 m");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1234), "1.23 us");
  EXPECT_EQ(duration_text(99949), "99.9 us");
  EXPECT_EQ(duration_text(999'499), "999 us");
  EXPECT_EQ(duration_text(999'500), "1.00 ms");
  EXPECT_EQ(duration_text(12 * kSecond + 345 * kMillisecond), "12.3 s");
  EXPECT_EQ(duration_text(243 * kSecond), "4 m 03 s");
  EXPECT_EQ(duration_text(7500 * kSecond), "2 h 05 m");
  EXPECT_EQ(duration_text(-5), "-5 ns");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(12902), "12.6 KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{5} << 40), "5.00 TiB");
}

TEST(DateText, IsInUtc) {
  EXPECT_EQ(date_text(1'780'000'000 * kSecond + 999 * kMillisecond), "2026-05-28 20:26:40 UTC");
  EXPECT_EQ(date_text(0), "1970-01-01 00:00:00 UTC");
}

TEST(PercentText, HasOneDecimal) {
  EXPECT_EQ(percent_text(0.382), "38.2 %");
  EXPECT_EQ(percent_text(1), "100.0 %");
}

}  // namespace
}  // namespace xylem
