#include "base/saturating.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace xylem {
namespace {

using Signed = std::numeric_limits<std::int64_t>;
using Unsigned = std::numeric_limits<std::uint64_t>;

TEST(SaturatingCast, CutsRealsToWhatTheTypeHolds) {
  EXPECT_EQ(saturating_cast<std::int64_t>(-2.5), -2);
  EXPECT_EQ(saturating_cast<std::int64_t>(0x1p63), Signed::max());
  EXPECT_EQ(saturating_cast<std::int64_t>(std::nextafter(0x1p63, 0)), Signed::max() - 1023);
  EXPECT_EQ(saturating_cast<std::int64_t>(-0x1p63), Signed::min());
  EXPECT_EQ(saturating_cast<std::int64_t>(-1e300), Signed::min());
  EXPECT_EQ(saturating_cast<std::uint64_t>(0x1p64), Unsigned::max());
  EXPECT_EQ(saturating_cast<std::uint64_t>(std::nextafter(0x1p64, 0)), Unsigned::max() - 2047);
  EXPECT_EQ(saturating_cast<std::uint64_t>(-0.5), 0u);
  EXPECT_EQ(saturating_cast<std::uint64_t>(-5), 0u);
  EXPECT_EQ(saturating_cast<std::int32_t>(2147483647.5), 2147483647);
  EXPECT_EQ(saturating_cast<std::int32_t>(INFINITY), 2147483647);
  EXPECT_EQ(saturating_cast<std::int64_t>(std::nan("")), 0);
}

TEST(SaturatingArithmetic, EndsAtTheTypesBounds) {
  EXPECT_EQ(saturating_add(Signed::max(), std::int64_t{1}), Signed::max());
  EXPECT_EQ(saturating_add(Signed::min(), std::int64_t{-1}), Signed::min());
  EXPECT_EQ(saturating_subtract(Signed::min(), std::int64_t{1}), Signed::min());
  EXPECT_EQ(saturating_subtract(std::int64_t{0}, Signed::min()), Signed::max());
  EXPECT_EQ(saturating_multiply(Signed::min(), std::int64_t{-1}), Signed::max());
  EXPECT_EQ(saturating_multiply(Signed::max(), std::int64_t{-2}), Signed::min());
  EXPECT_EQ(saturating_subtract(std::uint64_t{1}, std::uint64_t{2}), 0u);
  EXPECT_EQ(saturating_add(Unsigned::max(), std::uint64_t{2}), Unsigned::max());
  EXPECT_EQ(saturating_add(3, 4), 7);
}

}  // namespace
}  // namespace xylem
