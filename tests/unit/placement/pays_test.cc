// That fuzzy placement pays, by the model of tests/support/loaded_hosts.h: the claims of
// docs/placement.md
// ("Does it pay?") with margins that the figures there keep by far. Fixed seeds: a claim about
// defaults, not about luck.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/loaded_hosts.h"

namespace xylem::testing {
namespace {

using placement::Policy;

constexpr std::uint64_t kSeed = 20;
constexpr int kClusters = 30;

struct Ratio {
  double waves = 0;
  double delay = 0;
};

/// Fuzzy over even, geometric means over clusters.
Ratio fuzzy_over_even(std::size_t hosts, const char* text, double stale,
                      const std::function<std::vector<HostLoad>(std::mt19937_64&)>& draw) {
  const auto shape = *tree::parse_shape(text);
  const auto skeleton = *tree::grow(shape, hosts);
  std::mt19937_64 random(kSeed);
  Ratio sum;
  for (int i = 0; i < kClusters; ++i) {
    const auto seen = draw(random);
    auto loads = seen;
    redraw(loads, stale, random);
    const auto fuzzy = speed(skeleton, place_by(Policy::kFuzzy, shape, seen), loads);
    const auto even = speed(skeleton, place_by(Policy::kEven, shape, seen), loads);
    sum.waves += std::log(fuzzy.waves / even.waves) / kClusters;
    sum.delay += std::log(fuzzy.delay / even.delay) / kClusters;
  }
  return {std::exp(sum.waves), std::exp(sum.delay)};
}

Ratio on_random_loads(std::size_t hosts, const char* shape, double stale = 0) {
  return fuzzy_over_even(hosts, shape, stale,
                         [hosts](std::mt19937_64& random) { return draw_loads(hosts, random); });
}

TEST(FuzzyPays, ManifoldWhereFewHostsCarryTheTree) {
  for (const std::size_t hosts : {64, 256, 1024}) {
    SCOPED_TRACE(hosts);
    const Ratio ratio = on_random_loads(hosts, "kary:16");
    EXPECT_GT(ratio.waves, 3);
    EXPECT_LT(ratio.delay, 0.1);
  }
}

TEST(FuzzyPays, WhereAThirdOfTheHostsCarryTheTree) {
  const Ratio ratio = on_random_loads(256, "kary:4");
  EXPECT_GT(ratio.waves, 2.5);
  EXPECT_LT(ratio.delay, 0.1);
}

TEST(FuzzyPays, LittleButNeverLessWhereAlmostAllHostsMustCarryTheTree) {
  const Ratio ratio = on_random_loads(64, "kary:2");
  EXPECT_GT(ratio.waves, 1.1);
  EXPECT_LT(ratio.delay, 0.1);
}

TEST(FuzzyPays, StillWhenATenthOfTheFactsAreOutdated) {
  EXPECT_GT(on_random_loads(256, "kary:16", 0.1).waves, 2);
  EXPECT_GT(on_random_loads(256, "kary:4", 0.1).waves, 1.5);
}

TEST(FuzzyPays, NothingIsLostOnHostsThatAreAlike) {
  for (const double load : {0.0, 0.5, 3.0}) {
    for (const char* shape : {"kary:16", "kary:4", "kary:2"}) {
      SCOPED_TRACE(::testing::Message() << "load " << load << ", " << shape);
      HostLoad host;
      host.load = load;
      const Ratio ratio = fuzzy_over_even(
          64, shape, 0, [&](std::mt19937_64&) { return std::vector<HostLoad>(64, host); });
      EXPECT_NEAR(ratio.waves, 1, 1e-9);
      EXPECT_NEAR(ratio.delay, 1, 1e-9);
    }
  }
}

TEST(FuzzyPays, LittleIsLostWhenEveryFactIsOutdated) {
  EXPECT_GT(on_random_loads(256, "kary:16", 1).waves, 0.8);
  EXPECT_GT(on_random_loads(256, "kary:4", 1).waves, 0.8);
}

TEST(ModelOfLoadedHosts, IsTheExampleWorkedByHand) {
  // Two hosts and one communication process on the second, where one other process runs on its only
  // core. Two nodes there, so a node has 1 / (1 + 1) / 2 = 1/4 of a core. It works 1 + 2 = 3 us a
  // wave: 12 us. Its leaf works 1 us: 4 us. The front end has 1 + 1 = 2 us. Waves: 1 / 12 us. A
  // link of 8 Gbit/s has a message of 1000 bytes in 1 us. Delay from the leaf there: 4 + 1 + 10 of
  // the link, then 3000 us of waiting + 12 + 10 of the link + 3 messages of 1, then 2.
  const auto skeleton = *tree::grow(*tree::parse_shape("balanced:1x1"), 2);
  std::vector<HostLoad> loads(2);
  for (HostLoad& host : loads) host.network = 8;
  loads[1].cores = 1;
  loads[1].load = 1;
  WaveCost cost;
  cost.bytes = 1000;
  cost.latency = 10e-6;
  const std::vector<HostId> carriers = {HostId{1}};
  const TreeSpeed it = speed(skeleton, carriers, loads, cost);
  EXPECT_NEAR(it.waves, 1 / 12e-6, 1e-3);
  EXPECT_NEAR(it.delay, 3042e-6, 1e-12);
}

}  // namespace
}  // namespace xylem::testing
