#include "backend/agent/agent_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/pipe.h"
#include "base/run_contract.h"
#include "base/this_host.h"

namespace xylem::backend {
namespace {

using ::testing::HasSubstr;

constexpr const char* kVariables[] = {kEnvRun, kEnvAddress,  kEnvFolder, kEnvHost,
                                      kEnvTls, kEnvLogLevel, kEnvLogFile};

class AgentStartTest : public ::testing::Test {
 protected:
  AgentStartTest() {
    for (const char* name : kVariables) ::unsetenv(name);
    ::setenv(kEnvRun, "3a", 1);
    ::setenv(kEnvAddress, "10.0.0.1:4711", 1);
  }
  ~AgentStartTest() override {
    for (const char* name : kVariables) ::unsetenv(name);
  }
};

TEST_F(AgentStartTest, ByARankHasFolderAndHostFromTheEnvironment) {
  ::setenv(kEnvFolder, "/dev/shm/xylem-0-3a-node07", 1);
  const auto incomplete = read_agent_start(Stay::kWithRanks);
  ASSERT_FALSE(incomplete);
  EXPECT_EQ(incomplete.error().code, Code::kInvalidArgument);
  EXPECT_THAT(incomplete.error().message, HasSubstr("XYLEM_HOST is not set"));
  ::setenv(kEnvHost, "node07", 1);
  const auto start = read_agent_start(Stay::kWithRanks);
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_EQ(start->run, "3a");
  EXPECT_EQ(start->folder, "/dev/shm/xylem-0-3a-node07");
  EXPECT_EQ(start->host, "node07");
  EXPECT_TRUE(start->tls);
  EXPECT_EQ(start->log_level, "warn");
  EXPECT_EQ(start->log_file, "");
}

TEST_F(AgentStartTest, ByALauncherUsesTheRunsFolderAndThisHostsName) {
  ::setenv(kEnvTls, "off", 1);
  ::setenv(kEnvLogLevel, "debug", 1);
  ::setenv(kEnvLogFile, "/tmp/agent.log", 1);
  for (const Stay stay : {Stay::kUntilTold, Stay::kWithFound}) {
    const auto start = read_agent_start(stay);
    ASSERT_TRUE(start) << start.error().message;
    EXPECT_EQ(start->folder, "/dev/shm/xylem-" + std::to_string(::geteuid()) + "-3a");
    EXPECT_EQ(start->host, this_host_name());
    EXPECT_FALSE(start->tls);
    EXPECT_EQ(start->log_level, "debug");
    EXPECT_EQ(start->log_file, "/tmp/agent.log");
  }
  ::setenv(kEnvAddress, "", 1);
  const auto without = read_agent_start(Stay::kUntilTold);
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message, HasSubstr("XYLEM_ADDRESS is not set"));
}

TEST_F(AgentStartTest, DecidesHowLongTheAgentStays) {
  const auto options = [](Stay stay) {
    AgentStart start;
    start.stay = stay;
    return agent_options(start, {});
  };
  const AgentOptions ranks = options(Stay::kWithRanks);
  EXPECT_GT(ranks.first_linger, 0) << "the rank that has started it may register late";
  const AgentOptions told = options(Stay::kUntilTold);
  EXPECT_GT(told.linger, 3600 * 24 * 365 * kSecond) << "no other agent would be started";
  EXPECT_GT(told.first_linger, 3600 * 24 * 365 * kSecond);
  const AgentOptions found = options(Stay::kWithFound);
  EXPECT_EQ(found.linger, 0) << "no other rank will come";
  EXPECT_EQ(found.first_linger, 0);
  EXPECT_LT(found.finish_patience, ranks.finish_patience);
  EXPECT_GT(found.idle_interval, ranks.idle_interval) << "there are no rings to drain";
}

TEST_F(AgentStartTest, StartsTheCommunicationProcessesOfTheSameRunAndInstallation) {
  AgentStart start;
  start.run = "3a";
  start.address = "10.0.0.1:4711";
  start.folder = "/dev/shm/xylem-0-3a";
  start.host = "node07";
  start.tls = false;
  start.log_level = "debug";
  const CommProcessSetting setting = comm_process_setting(start, "key-of-the-host");
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  EXPECT_EQ(setting.program, (here / "xylem-commproc").string());
  EXPECT_EQ(setting.run, start.run);
  EXPECT_EQ(setting.front_end, start.address);
  EXPECT_EQ(setting.folder, start.folder);
  EXPECT_EQ(setting.host, start.host);
  EXPECT_EQ(setting.host_key, "key-of-the-host");
  EXPECT_FALSE(setting.tls);
  EXPECT_EQ(setting.log_level, "debug");
}

TEST_F(AgentStartTest, FitsTheJournalIntoTheLimitOfFileSizes) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1'000'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  AgentStart start;
  start.folder = "/dev/shm/xylem-0-3a";
  const GuardOptions options = guard_options(start);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(options.journal_bytes, 999'424u) << "244 pages";
  EXPECT_EQ(options.folder, start.folder);
  EXPECT_EQ(guard_options(start).journal_bytes, GuardOptions().journal_bytes);
}

TEST_F(AgentStartTest, AnnouncesItselfAndLetsGoOfItsOutput) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  std::fflush(stdout);  // Or the child would write this text too.
  const pid_t agent = ::fork();
  if (agent == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(pipe->write.get(), STDOUT_FILENO);
    ::dup2(pipe->write.get(), STDERR_FILENO);
    pipe->write.reset();
    announce_ready("node07", 3, "2 processes may not be read");
    for (;;) ::pause();
  }
  pipe->write.reset();
  std::string text;
  char piece[256];
  for (ssize_t size; (size = ::read(pipe->read.get(), piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(size));  // Ends although the agent lives.
  }
  EXPECT_EQ(text, "ready node07 3 2 processes may not be read\n");
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
}

}  // namespace
}  // namespace xylem::backend
