// Agents that are shell scripts, and launchers that really run, on this host.

#include "launch/launched_agents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace xylem::launch {
namespace {

using ::testing::HasSubstr;

class LaunchingAgents : public ::testing::Test {
 protected:
  LaunchingAgents() { std::filesystem::create_directory(folder_); }
  ~LaunchingAgents() override { std::filesystem::remove_all(folder_); }

  std::string script(const std::string& name, const std::string& text) {
    const std::string path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  /// As ssh and srun do: "HOST sh", the script on standard input.
  AgentLaunchOptions options(const std::string& agent) {
    AgentLaunchOptions made;
    made.launcher = script("launcher", "HOST=$1; export HOST; shift; exec \"$@\"\n");
    made.program = script("agent", agent);
    made.environment = {"XYLEM_KEY=secret"};
    return made;
  }

  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("xylem-agents-" + std::to_string(::getpid()));
};

TEST_F(LaunchingAgents, HearsWhoStandsAndWaitsForTheirEnd) {
  auto agents = LaunchedAgents::start(
      options(
          "echo Welcome to $HOST; [ $XYLEM_KEY = secret ] && echo ready $HOST 2 is half blind\n"),
      {{"n1", 1, {}}, {"n2", 1, {}}});
  ASSERT_TRUE(agents) << agents.error().message;
  EXPECT_TRUE(agents->wait_until_ready(30 * kSecond));
  ASSERT_EQ(agents->ready().size(), 2u);
  EXPECT_EQ(agents->ready()[0].host[0], 'n');
  EXPECT_NE(agents->ready()[0].host, agents->ready()[1].host);
  EXPECT_EQ(agents->ready()[0].ranks, 2u);
  EXPECT_EQ(agents->ready()[0].note, "is half blind");
  EXPECT_TRUE(agents->wait_for_end(30 * kSecond));
  EXPECT_EQ(agents->failures(), "");
}

TEST_F(LaunchingAgents, GivesAgentsTheirArguments) {
  auto agents = LaunchedAgents::start(options("echo ready \"$1-$2\" 0\n"), {{"n1", 1, {"--x y"}}});
  ASSERT_TRUE(agents) << agents.error().message;
  EXPECT_TRUE(agents->wait_until_ready(30 * kSecond));
  EXPECT_EQ(agents->ready()[0].host, "--launched---x");
  EXPECT_TRUE(agents->wait_for_end(30 * kSecond));
}

TEST_F(LaunchingAgents, UnderstandsAgentsWhoseLinesSrunLabels) {
  auto agents = LaunchedAgents::start(options("echo '00: ready n1 2'; echo 'not ready n2 1'\n"),
                                      {{"n1", 2, {}}});
  ASSERT_TRUE(agents) << agents.error().message;
  agents->wait_until_ready(30 * kSecond);
  ASSERT_EQ(agents->ready().size(), 1u);
  EXPECT_EQ(agents->ready()[0].host, "n1");
  EXPECT_EQ(agents->ready()[0].ranks, 2u);
  EXPECT_TRUE(agents->wait_for_end(30 * kSecond));
}

TEST_F(LaunchingAgents, SaysHowALauncherFailedThatStartedNone) {
  auto agents = LaunchedAgents::start(options("echo 'no such job' >&2; exit 3\n"), {{"n1", 4, {}}});
  ASSERT_TRUE(agents) << agents.error().message;
  EXPECT_FALSE(agents->wait_until_ready(30 * kSecond));
  EXPECT_THAT(agents->failures(), HasSubstr("ended with code 3: no such job"));
  EXPECT_TRUE(agents->wait_for_end(0));
}

TEST_F(LaunchingAgents, WaitsNoLongerThanItIsTo) {
  auto agents = LaunchedAgents::start(options("exec sleep 60\n"), {{"n1", 1, {}}});
  ASSERT_TRUE(agents) << agents.error().message;
  EXPECT_FALSE(agents->wait_until_ready(20 * kMillisecond));
  EXPECT_FALSE(agents->all_ended());
  EXPECT_FALSE(agents->wait_for_end(20 * kMillisecond)) << "it had to be told";
  EXPECT_TRUE(agents->all_ended());
}

TEST_F(LaunchingAgents, EndsWhoeverDoesNotHeedARequest) {
  auto agents = LaunchedAgents::start(
      options("trap '' TERM; echo ready $HOST 0; while :; do sleep 0.05; done\n"), {{"n1", 1, {}}});
  ASSERT_TRUE(agents) << agents.error().message;
  ASSERT_TRUE(agents->wait_until_ready(30 * kSecond));
  EXPECT_FALSE(agents->wait_for_end(0));
  EXPECT_TRUE(agents->all_ended());
}

TEST_F(LaunchingAgents, AreHeardWhileTheyStandInASessionOfTheirOwn) {
  auto agents = LaunchedAgents::start(options("echo ready $(ps -o sid= -p $$) 0; exec sleep 60\n"),
                                      {{"n1", 1, {}}});
  ASSERT_TRUE(agents) << agents.error().message;
  ASSERT_TRUE(agents->wait_until_ready(30 * kSecond));
  EXPECT_NE(agents->ready()[0].host, std::to_string(::getsid(0)));
}

}  // namespace
}  // namespace xylem::launch
