#include "launch/attach_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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

/// A squeue that is a script, for as long as this object lives.
class ScriptedSqueue {
 public:
  explicit ScriptedSqueue(const std::string& script) : path_(std::getenv("PATH")) {
    std::filesystem::create_directory(folder_);
    const std::filesystem::path program = folder_ / "squeue";
    std::ofstream(program) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    ::setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
  }
  ~ScriptedSqueue() {
    ::setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  ScriptedSqueue(const ScriptedSqueue&) = delete;
  ScriptedSqueue& operator=(const ScriptedSqueue&) = delete;

  std::filesystem::path file(const std::string& name) const { return folder_ / name; }

 private:
  const std::string path_;
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("xylem-squeue-" + std::to_string(::getpid()));
};

const AttachTarget kJobTwelve = {.hosts = "", .match = "", .pid = 0, .job = "12"};

TEST(AttachPlan, AsksSlurmForTheHostsOfAJob) {
  const ScriptedSqueue squeue("echo \"$@\" >$0.said; echo 'RUNNING 2 node[01-02]'\n");
  const auto plan = plan_attach(kJobTwelve, "");
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->places.size(), 1u);
  EXPECT_EQ(plan->places[0].host, "node[01-02]");
  std::string said;
  std::getline(std::ifstream(squeue.file("squeue.said")) >> std::ws, said);
  EXPECT_EQ(said, "--noheader --jobs=12 --format=%T %D %N");
}

TEST(AttachPlan, RepeatsWhatSlurmComplainsOf) {
  const ScriptedSqueue squeue("echo 'slurm_load_jobs error: Invalid job id' >&2; exit 1\n");
  EXPECT_EQ(refusal_of(kJobTwelve),
            "--jobid: Slurm does not know job 12: slurm_load_jobs error: Invalid job id");
}

TEST(AttachPlan, EndsAnSqueueThatDoesNotAnswer) {
  for (const char* script : {"echo $$ >$0.self; exec sleep 1000\n",
                             "echo $$ >$0.self; exec >&- 2>&-; exec sleep 1000\n"}) {
    const ScriptedSqueue squeue(script);
    const Nanos begin = monotonic_now();
    const auto plan = plan_attach(kJobTwelve, "", 500 * kMillisecond);
    EXPECT_LT(monotonic_now() - begin, 60 * kSecond);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, Code::kTimedOut);
    EXPECT_THAT(plan.error().message, StartsWith("--jobid: squeue has not answered within 500 ms"));
    int self = 0;
    std::ifstream(squeue.file("squeue.self")) >> self;
    EXPECT_TRUE(self == 0 || ::kill(self, 0) != 0) << "it runs on";
  }
}

TEST(AttachPlan, SaysThatThereIsNoSqueue) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  EXPECT_THAT(refusal_of(kJobTwelve), StartsWith("--jobid: squeue is not there"));
  ::setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace xylem::launch
