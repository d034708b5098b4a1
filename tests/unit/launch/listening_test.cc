#include "launch/listening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xylem::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(JobReach, IsThisHostOnlyIfTheCommandIsCertainlyLocal) {
  CommandFacts local;
  local.launcher = Launcher::kMpich;
  local.is_local = true;
  const JobReach reach = reach_of(local, {"SLURM_JOB_NUM_NODES=4"});
  EXPECT_FALSE(reach.may_leave_host);
  EXPECT_FALSE(reach.is_remote);
}

TEST(JobReach, OfAScriptIsUnknownExceptInAnAllocationOfSeveralNodes) {
  const CommandFacts script;
  EXPECT_TRUE(reach_of(script, {}).may_leave_host);
  EXPECT_FALSE(reach_of(script, {}).is_remote);
  EXPECT_FALSE(reach_of(script, {"SLURM_JOB_NUM_NODES=1"}).is_remote);
  EXPECT_TRUE(reach_of(script, {"SLURM_JOB_NUM_NODES=2"}).is_remote);
  CommandFacts launcher;
  launcher.launcher = Launcher::kOpenMpi;
  EXPECT_TRUE(reach_of(launcher, {}).is_remote);
}

TEST(ListeningAddress, FollowsTheSetting) {
  const std::vector<net::InterfaceAddress> all = {
      {"e0", "10.1.0.1", false}, {"e1", "10.2.0.1", false}, {"lo", "127.0.0.1", true}};
  EXPECT_EQ(listening_address("auto", true, all), "10.1.0.1");
  EXPECT_EQ(listening_address("auto", false, all), "127.0.0.1") << "no other host needs it";
  EXPECT_EQ(listening_address("auto", true, {{"lo", "::1", true}}), "127.0.0.1");
  EXPECT_EQ(listening_address("auto", true, {}), "127.0.0.1");
  EXPECT_EQ(listening_address("e1", false, all), "10.2.0.1");
  EXPECT_EQ(listening_address("all", false, all), "0.0.0.0");
  EXPECT_EQ(listening_address("10.9.0.1", true, all), "10.9.0.1");
}

TEST(ListenForRun, TellsThePortAndWhereItIsReached) {
  const auto listening = listen_for_run({}, false);
  ASSERT_TRUE(listening) << listening.error().message;
  EXPECT_TRUE(listening->socket);
  EXPECT_NE(listening->port, 0);
  EXPECT_THAT(listening->reachable, ElementsAre("127.0.0.1"));
  EXPECT_TRUE(listening->is_loopback);
}

TEST(ListenForRun, NamesTheInterfacesIfThereIsNoneOfThatName) {
  StartOptions options;
  options.interface = "xylem-none";
  const auto refused = listen_for_run(options, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("--interface: "));
  EXPECT_THAT(refused.error().message, HasSubstr("lo (127.0.0.1)"));
}

}  // namespace
}  // namespace xylem::launch
