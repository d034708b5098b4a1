// The rules of "nothing lost, nothing twice" under the simulator: right as they are, and found when
// one of them is broken. XYLEM_SEED repeats a run, XYLEM_CHAOS_RUNS is the number of seeds,
// XYLEM_ALL_SEEDS=1 tries more of them, XYLEM_CHAOS_BREAK breaks a rule.

#include "tests/model/chaos.h"

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

class Chaos : public ::testing::Test {
 protected:
  Chaos() {
    configure_log("chaos", Level::kError, "/dev/null");
    const char* rule = std::getenv("XYLEM_CHAOS_BREAK");
    auto broken = parse_break(rule == nullptr ? "" : rule);
    if (!broken) ADD_FAILURE() << broken.error().message;
    if (broken) broken_ = *broken;
  }
  ~Chaos() override { configure_log("xylem", Level::kWarn); }

  void run_from(std::uint64_t seed) {
    std::printf("chaos: from seed=%llu\n", static_cast<unsigned long long>(seed));
    const std::uint64_t end = seed + number_from("XYLEM_CHAOS_RUNS", testing::seeds_to_try(300));
    ChaosOutcome outcome;
    std::uint64_t steps = 0;
    for (; seed != end; ++seed) {
      outcome = run_chaos({.seed = seed, .broken = broken_, .tells = false});
      steps += outcome.steps;
      ASSERT_TRUE(outcome.is_right()) << to_line(outcome) << "\nrepeat with XYLEM_SEED=" << seed;
    }
    std::printf("%s\n%llu steps\n", to_line(outcome).c_str(),
                static_cast<unsigned long long>(steps));
  }

  Break broken_ = Break::kNone;
};

TEST_F(Chaos, LosesNothingAndStoresNothingTwice) { run_from(1); }

TEST_F(Chaos, LosesNothingFromAnySeed) {
  const auto now = static_cast<std::uint64_t>(realtime_now() / kMillisecond);
  run_from(number_from("XYLEM_SEED", now));
}

TEST_F(Chaos, IsTheSameForTheSameSeed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const ChaosOutcome once = run_chaos({.seed = seed});
    const ChaosOutcome again = run_chaos({.seed = seed});
    EXPECT_EQ(to_line(once), to_line(again));
  }
}

class BrokenRule : public Chaos, public ::testing::WithParamInterface<const char*> {};

TEST_P(BrokenRule, IsFoundWithinAHundredSeeds) {
  const auto broken = parse_break(GetParam());
  ASSERT_TRUE(broken) << broken.error().message;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const ChaosOutcome outcome = run_chaos({.seed = seed, .broken = *broken, .tells = false});
    if (outcome.is_right()) continue;
    std::printf("%s: %s\n", GetParam(), to_line(outcome).c_str());
    return;
  }
  FAIL() << GetParam() << " was not found within 100 seeds";
}

INSTANTIATE_TEST_SUITE_P(Model, BrokenRule,
                         ::testing::Values("no-dedupe", "no-resend", "merge-overlap",
                                           "forget-tombstone", "ack-before-commit", "no-epoch"));

}  // namespace
}  // namespace xylem::model
