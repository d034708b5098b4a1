// The closed formula, with numbers that were computed by hand.

#include "predict/network/analytic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

/// τ and 1/W in nanoseconds, α in millionths. A tick is a nanosecond.
FabricCosts fabric_of(std::uint64_t switch_ns, std::uint64_t per_byte_ns, std::uint32_t header) {
  const Fabric fabric{Femtoseconds{switch_ns * 1'000'000}, Femtoseconds{per_byte_ns * 1'000'000},
                      header};
  return {testing::network(0, 0, 0, per_byte_ns, 0, 1000), fabric, {}};
}

struct Row {
  std::uint64_t switch_ns, per_byte_ns;
  std::uint32_t header;
  std::uint64_t bytes;
  std::vector<ChannelLoad> channels;
  Ticks latency;
};

TEST(Analytic, AgreesWithATableMadeByHand) {
  constexpr std::uint64_t kHalf = kFullLoad / 2;
  for (const Row& row : {
           // No load. n τ + L/W + n α L/W.
           Row{100, 2, 100'000, 1000, {{}}, 100 + 2000 + 200},
           Row{100, 2, 100'000, 1000, {{}, {}, {}}, 300 + 2000 + 3 * 200},
           Row{100, 2, 0, 1000, {{}, {}, {}}, 300 + 2000},
           // α = 1 is store and forward: (n+1) L/W.
           Row{100, 2, kWhole, 1000, {{}, {}, {}}, 300 + 4 * 2000},
           Row{100, 2, 100'000, 0, {{}, {}}, 200},
           // ρ = 1/2: ρ/(μ-λ) = 1/2 / (1/2 μ) = 1/μ; half of the time the other 1800 are stored.
           Row{100, 2, 100'000, 1000, {{kHalf, 2000}}, 100 + 2000 + 200 + 2000 + 900},
           // Another mean size on the channel: only the wait changes.
           Row{100, 2, 100'000, 1000, {{kHalf, 500}}, 100 + 2000 + 200 + 500 + 900},
           // ρ = 0.8 waits 4/μ, ρ = 0.2 waits 1/(4 μ).
           Row{50,
               1,
               250'000,
               400,
               {{800'000'000, 400}, {}, {200'000'000, 800}},
               150 + 400 + 3 * 100 + (1600 + 240) + (200 + 60)},
       }) {
    const FabricCosts costs = fabric_of(row.switch_ns, row.per_byte_ns, row.header);
    const auto delay = mean_delay(costs, row.channels, row.bytes);
    ASSERT_TRUE(delay);
    EXPECT_EQ(delay->total(), row.latency) << row.bytes << " bytes, " << row.channels.size();
  }
}

// Equation (5) as it is printed, in floating point.
double equation(double tau, double transfer, double alpha, const std::vector<ChannelLoad>& all) {
  const auto n = static_cast<double>(all.size());
  double sum = n * tau + (n + 1) * transfer;
  for (const ChannelLoad& it : all) {
    const double rho = static_cast<double>(it.load) / 1e9;
    const double mu = 1 / static_cast<double>(it.service), lambda = rho * mu;
    sum += rho / (mu - lambda) - (1 - rho) * (1 - alpha) * transfer;
  }
  return sum;
}

TEST(Analytic, IsTheEquationAsPrinted) {
  const FabricCosts costs = fabric_of(130, 3, 125'000);
  // Near full load, floating point loses its digits in the difference of μ and λ.
  for (std::uint64_t load = 0; load < kFullLoad / 100 * 99; load += kFullLoad / 37) {
    const std::vector<ChannelLoad> all = {{load, 3000}, {load / 2, 1500}, {load / 3, 7000}};
    for (const std::uint64_t bytes : {0, 1, 800, 1'000'000}) {
      const auto delay = mean_delay(costs, all, bytes);
      ASSERT_TRUE(delay);
      // At most one tick less for each of two parts of three channels, and the header's rounding.
      EXPECT_NEAR(static_cast<double>(delay->total()),
                  equation(130, 3 * static_cast<double>(bytes), 0.125, all), 8);
    }
  }
}

TEST(Analytic, GoesToTheIdleNetworkWithTheLoad) {
  const FabricCosts costs = fabric_of(100, 2, 100'000);
  const auto idle = mean_delay(costs, std::vector<ChannelLoad>(4), 1000);
  ASSERT_TRUE(idle);
  EXPECT_EQ(idle->waiting + idle->storing, 0u);
  Ticks before = kMaxTicks;
  for (std::uint64_t load = kFullLoad / 2; load > 0; load /= 10) {
    const auto delay = mean_delay(costs, std::vector<ChannelLoad>(4, {load, 2000}), 1000);
    ASSERT_TRUE(delay);
    EXPECT_LE(delay->total(), before);
    before = delay->total();
  }
  EXPECT_EQ(before, idle->total());
}

TEST(Analytic, GrowsTowardsFullLoadAndSaysSaturation) {
  const FabricCosts costs = fabric_of(100, 2, 100'000);
  for (const auto& [load, wait] : {std::pair<std::uint64_t, Ticks>{900'000'000, 9 * 2000},
                                   {990'000'000, 99 * 2000},
                                   {999'000'000, 999 * 2000},
                                   {999'999'999, 999'999'999 * 2000ULL}}) {
    EXPECT_EQ(mean_wait({load, 2000}), wait);
  }
  for (const std::uint64_t load : {kFullLoad, kFullLoad + 1, kMaxTicks}) {
    EXPECT_FALSE(mean_wait({load, 2000}));
    EXPECT_FALSE(mean_delay(costs, std::vector<ChannelLoad>{{}, {load, 2000}}, 1000));
  }
}

TEST(Analytic, MeasuresLoad) {
  EXPECT_EQ(measured_load(0, 0, 1000), ChannelLoad());
  EXPECT_EQ(measured_load(500, 5, 1000), (ChannelLoad{kFullLoad / 2, 100}));
  EXPECT_EQ(measured_load(3000, 3, 1000), (ChannelLoad{3 * kFullLoad, 1000}));
  EXPECT_GE(measured_load(1, 1, 0).load, kFullLoad);
  EXPECT_EQ(measured_load(kMaxTicks, 1, 1).load, kMaxTicks);
}

TEST(Analytic, NeverOverflows) {
  const Fabric fabric{kMaxParameter, kMaxParameter, kWhole};
  const FabricCosts costs(testing::network(0, 0, 0, 0, 0, 0), fabric, {});
  const std::vector<ChannelLoad> all(100, {kFullLoad - 1, kMaxTicks});
  const auto delay = mean_delay(costs, all, ~0ULL);
  ASSERT_TRUE(delay);
  EXPECT_EQ(delay->total(), kMaxTicks);
}

TEST(FabricCosts, CountsAllTimesInTheSameTicks) {
  const Fabric fabric{Femtoseconds{100'500'000}, Femtoseconds{80'000}, 0};
  const FabricCosts costs(testing::network(10, 5, 0, 2, 1, 0), fabric,
                          {Femtoseconds{1}, Femtoseconds{2'000'000}});
  EXPECT_EQ(costs.ends().ticks_per_ns(), 1'000'000u);
  EXPECT_EQ(costs.memory().ticks_per_ns(), 1'000'000u);
  EXPECT_EQ(costs.switch_time(), 100'500'000u);
  EXPECT_EQ(costs.transfer(10), 800'000u);
  EXPECT_EQ(costs.memory().flight(), 5'000'001u);
  EXPECT_EQ(costs.memory().receive_cpu(3), 5'000'000u + 2 * 2'000'000u);
}

TEST(FabricCosts, RoundsHeadersToTheNearestTick) {
  EXPECT_EQ(fabric_of(0, 1, 1).header(499'999), 0u);
  EXPECT_EQ(fabric_of(0, 1, 1).header(500'000), 1u);
  EXPECT_EQ(fabric_of(0, 1, 333'333).header(3'000'001), 999'999u);
  EXPECT_EQ(fabric_of(0, 1, kWhole).header(kMaxTicks), kMaxTicks);
  EXPECT_EQ(fabric_of(0, 1, 0).header(kMaxTicks), 0u);
}

TEST(FabricCosts, HoldsUpTheReceiverOnlyIfTheChannelIsSlower) {
  const auto costs = [](std::uint64_t nic, std::uint64_t channel, std::uint64_t cpu = 0) {
    const Fabric fabric{{}, Femtoseconds{channel * 1'000'000}, 0};
    return FabricCosts(testing::network(0, 7, 0, nic, cpu, 0), fabric, {});
  };
  EXPECT_EQ(costs(2, 5).slower_than_receiver(10), 10 * 5u - 9 * 2u);
  EXPECT_EQ(costs(2, 2).slower_than_receiver(10), 2u) << "the NIC does not count the first byte";
  EXPECT_EQ(costs(3, 2).slower_than_receiver(10), 0u);
  EXPECT_EQ(costs(3, 2).slower_than_receiver(0), 0u);
  EXPECT_EQ(costs(2, 5, 4).slower_than_receiver(10), 10 * 5u - 9 * 4u);
  EXPECT_EQ(costs(2, 5, 6).slower_than_receiver(10), 0u) << "the processor is slower";
}

}  // namespace
}  // namespace xylem::predict
