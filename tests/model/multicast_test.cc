// What goes down: each leaf sees each multicast once, or the sender is told that it did not.
// XYLEM_SEED repeats a run, XYLEM_CHAOS_RUNS is the number of seeds, XYLEM_ALL_SEEDS=1 tries more
// of them.

#include "tests/model/multicast.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "tests/support/seeds.h"

namespace xylem::model {
namespace {

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class MulticastChaos : public ::testing::Test {
 protected:
  MulticastChaos() { configure_log("chaos", Level::kError, "/dev/null"); }
  ~MulticastChaos() override { configure_log("xylem", Level::kWarn); }

  void run_from(std::uint64_t seed) {
    std::printf("chaos: from seed=%llu\n", static_cast<unsigned long long>(seed));
    MulticastOutcome outcome;
    std::uint64_t missed = 0;
    for (const std::uint64_t end =
             seed + number_from("XYLEM_CHAOS_RUNS", testing::seeds_to_try(200));
         seed != end; ++seed) {
      outcome = run_multicast({.seed = seed});
      missed += outcome.missed;
      ASSERT_TRUE(outcome.is_right()) << to_line(outcome) << "\nrepeat with XYLEM_SEED=" << seed;
    }
    std::printf("%s\n", to_line(outcome).c_str());
    EXPECT_GT(missed, 0u) << "too little went down to be missed by anybody";
  }
};

TEST_F(MulticastChaos, LosesNothingWithoutAWordAndShowsNothingTwice) { run_from(1); }

TEST_F(MulticastChaos, LosesNothingWithoutAWordFromAnySeed) {
  run_from(number_from("XYLEM_SEED", static_cast<std::uint64_t>(realtime_now() / kMillisecond)));
}

TEST_F(MulticastChaos, IsTheSameForTheSameSeed) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(to_line(run_multicast({.seed = seed})), to_line(run_multicast({.seed = seed})));
  }
}

class BrokenMulticastRule : public MulticastChaos,
                            public ::testing::WithParamInterface<MulticastBreak> {};

TEST_P(BrokenMulticastRule, IsFoundWithinAHundredSeeds) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const MulticastOutcome outcome = run_multicast({.seed = seed, .broken = GetParam()});
    if (outcome.is_right()) continue;
    std::printf("%s\n", to_line(outcome).c_str());
    return;
  }
  FAIL() << "not found within 100 seeds";
}

INSTANTIATE_TEST_SUITE_P(Model, BrokenMulticastRule,
                         ::testing::Values(MulticastBreak::kNoReplay, MulticastBreak::kNoGapReport),
                         [](const auto& rule) {
                           const bool is_replay = rule.param == MulticastBreak::kNoReplay;
                           return std::string(is_replay ? "NoReplay" : "NoGapReport");
                         });

}  // namespace
}  // namespace xylem::model
