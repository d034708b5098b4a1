#include "predict/network/loggps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/ids.h"
#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::network;

TEST(Nanoseconds, AreDecimalNumbersOfUpToSixPlaces) {
  for (const auto& [text, femtoseconds] : {std::pair{"0", 0ULL},
                                           {"2500", 2'500'000'000ULL},
                                           {"0.18", 180'000ULL},
                                           {"0.000001", 1ULL},
                                           {"1000000000000", 1'000'000'000'000'000'000ULL}}) {
    const auto read = parse_nanoseconds(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    EXPECT_EQ(raw(*read), femtoseconds) << text;
  }
}

TEST(Nanoseconds, RefusesAnythingElse) {
  for (const char* text : {"", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", " 1", "0x10", "nan",
                           "0.0000001", "1000000000001", "99999999999999999999999999"}) {
    const auto read = parse_nanoseconds(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
  }
}

TEST(LogGpsCosts, CountsInTheLargestUnitThatFits) {
  EXPECT_EQ(LogGpsCosts(network(2500, 1500, 1000, 6, 0, 1)).ticks_per_ns(), 1u);
  LogGps fractions = network(1, 1, 1, 1, 1, 1);
  fractions.gap_per_byte = Femtoseconds{180'000};  // 0.18 ns
  EXPECT_EQ(LogGpsCosts(fractions).ticks_per_ns(), 100u);
  fractions.latency = Femtoseconds{1};
  EXPECT_EQ(LogGpsCosts(fractions).ticks_per_ns(), 1'000'000u);
}

TEST(LogGpsCosts, CountFurtherBytes) {
  const LogGpsCosts costs(network(100, 10, 20, 3, 2, 5));
  EXPECT_EQ(costs.flight(), 110u);
  for (const std::uint64_t bytes : {0, 1}) {
    EXPECT_EQ(costs.send_cpu(bytes), 10u);
    EXPECT_EQ(costs.nic(bytes), 20u);
    EXPECT_EQ(costs.receive_cpu(bytes), 10u);
  }
  EXPECT_EQ(costs.send_cpu(11), 10u + 10 * 2);
  EXPECT_EQ(costs.nic(11), 20u + 10 * 3);
  EXPECT_EQ(costs.receive_cpu(11), 10u + 10 * 3) << "the larger of G and O";
  EXPECT_TRUE(costs.is_eager(5));
  EXPECT_FALSE(costs.is_eager(6));
}

TEST(LogGpsCosts, RoundToTheNearestNanosecond) {
  LogGps tenths = network(0, 0, 0, 0, 0, 0);
  tenths.latency = Femtoseconds{100'000};
  const LogGpsCosts costs(tenths);
  EXPECT_EQ(costs.to_ns(14), 1u);
  EXPECT_EQ(costs.to_ns(15), 2u);
}

TEST(LogGpsCosts, NeverOverflow) {
  LogGps large = network(0, 0, 0, 0, 0, 0);
  large.latency = large.overhead = large.gap = large.gap_per_byte = kMaxParameter;
  large.overhead_per_byte = Femtoseconds{raw(kMaxParameter) - 1};  // Ticks are femtoseconds.
  const LogGpsCosts costs(large);
  EXPECT_EQ(costs.ticks_per_ns(), 1'000'000u);
  EXPECT_LE(costs.flight(), kMaxTicks);
  for (const std::uint64_t bytes : {0ULL, 1ULL, 2ULL, 10ULL, ~0ULL}) {
    EXPECT_LE(costs.send_cpu(bytes), kMaxTicks);
    EXPECT_LE(costs.nic(bytes), kMaxTicks);
    EXPECT_LE(costs.receive_cpu(bytes), kMaxTicks);
  }
  EXPECT_EQ(costs.nic(~0ULL), kMaxTicks);
  EXPECT_EQ(costs.from_ns(~0ULL), kMaxTicks);
}

}  // namespace
}  // namespace xylem::predict
