#include "launch/attach_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace xylem::launch {
namespace {

using ::testing::Contains;
using ::testing::StartsWith;

std::string refusal_of(const AttachTarget& target) {
  const auto plan = plan_attach(target, "");
  return plan ? "" : plan.error().message;
}

TEST(AttachPlan, NeedsExactlyOneTarget) {
  EXPECT_THAT(refusal_of({}), StartsWith("attach: say where the job is"));
  EXPECT_THAT(refusal_of({.hosts = "a", .match = "", .pid = 1, .job = ""}),
              StartsWith("attach: say where the job is"));
}

TEST(AttachPlan, LooksOnEachHostOfTheListByTheGivenLauncher) {
  const auto plan =
      plan_attach({.hosts = "node[1-2]", .match = "app*", .pid = 0, .job = ""}, "rsh");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->launcher, "rsh");
  EXPECT_FALSE(plan->only_here);
  ASSERT_EQ(plan->places.size(), 2u);
  EXPECT_EQ(plan->places[0].host, "node1");
  EXPECT_EQ(plan->places[1].host, "node2");
  EXPECT_THAT(plan->places[1].arguments, Contains("--find"));
  EXPECT_THAT(plan->sought, StartsWith("processes of this user whose program matches 'app*'"));
}

TEST(AttachPlan, ThisHostAloneNeedsNoOther) {
  const auto plan = plan_attach({.hosts = "localhost", .match = "", .pid = 0, .job = ""}, "");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->only_here);
}

TEST(AttachPlan, RefusalsBeginWithTheOption) {
  EXPECT_THAT(refusal_of({.hosts = "node[2-", .match = "", .pid = 0, .job = ""}),
              StartsWith("--hosts: "));
  EXPECT_THAT(refusal_of({.hosts = "", .match = "", .pid = 0, .job = "1; rm"}),
              StartsWith("--jobid: '1; rm' is not a Slurm job number"));
  EXPECT_THAT(
      refusal_of(
          {.hosts = "", .match = "", .pid = static_cast<std::uint32_t>(::getpid()), .job = ""}),
      StartsWith("--pid: "));
}

}  // namespace
}  // namespace xylem::launch
