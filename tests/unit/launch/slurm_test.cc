#include "launch/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xylem::launch {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> allocation(const std::string& job, const std::string& hosts,
                                    const std::string& nodes) {
  return {"SLURM_JOB_ID=" + job, "SLURM_JOB_NODELIST=" + hosts, "SLURM_JOB_NUM_NODES=" + nodes,
          "SLURM_NTASKS=64"};
}

TEST(SlurmStep, IsOneTaskOnEachHostThatTakesNothingFromTheJob) {
  const auto step = step_beside(allocation("1234", "node[01-03,7]", "4"));
  ASSERT_TRUE(step);
  EXPECT_EQ(step->hosts, "node[01-03,7]");
  EXPECT_EQ(step->nodes, 4u);
  for (const char* part : {"srun --jobid=1234 ", " --overlap ", " --nodes=4 ", " --ntasks=4 ",
                           " --ntasks-per-node=1 ", " --mpi=none ", " --input=all "}) {
    EXPECT_THAT(step->launcher, HasSubstr(part));
  }
  EXPECT_TRUE(step->launcher.ends_with(" --nodelist")) << "the hosts are the next word";
}

TEST(SlurmStep, IsNoneOutsideAnAllocation) {
  EXPECT_FALSE(step_beside({}));
  EXPECT_FALSE(step_beside({"SLURM_CONF=/etc/slurm.conf"}));
  EXPECT_FALSE(step_beside({"SLURM_JOB_ID=12", "SLURM_JOB_NUM_NODES=1"}));
}

TEST(SlurmStep, TakesNothingFromTheEnvironmentThatCouldBeAnotherWordOfACommand) {
  EXPECT_FALSE(step_beside(allocation("12 --wrap=x", "node1", "1")));
  EXPECT_FALSE(step_beside(allocation("12", "node1 --uid=0", "1")));
  EXPECT_FALSE(step_beside(allocation("12", "--uid=0", "1")));
  EXPECT_FALSE(step_beside(allocation("12", "node1;id", "1")));
  EXPECT_FALSE(step_beside(allocation("12", "node1", "all")));
  EXPECT_FALSE(step_beside(allocation("0", "node1", "1")));
}

TEST(SlurmStep, OfARunningJobIsReadFromWhatSqueueSays) {
  EXPECT_THAT(slurm_query("77"), ::testing::Contains("--jobs=77"));
  const auto step = step_in("77", "RUNNING 2 node[01-02]\n");
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_THAT(step->launcher, HasSubstr("--jobid=77 "));
  EXPECT_EQ(step->hosts, "node[01-02]");
  EXPECT_EQ(step->nodes, 2u);
}

TEST(SlurmStep, OfAJobThatDoesNotRunIsRefusedWithItsState) {
  EXPECT_EQ(step_in("77", "").error().message, "Slurm job 77 is not known, or has ended");
  EXPECT_EQ(step_in("77", "PENDING 2 \n").error().message,
            "Slurm job 77 does not run: it is PENDING");
  EXPECT_THAT(step_in("77", "RUNNING 2 n1\nRUNNING 2 n3\n").error().message, HasSubstr("array"));
  for (const char* answer : {"RUNNING", "RUNNING 2", "RUNNING x n1", "RUNNING 1 n1;id"}) {
    EXPECT_THAT(step_in("77", answer).error().message, HasSubstr("no hosts in")) << answer;
  }
}

TEST(SlurmJob, IsANumber) {
  EXPECT_TRUE(is_slurm_job("1"));
  EXPECT_TRUE(is_slurm_job("4294967295"));
  for (const char* text : {"", "0", "12.0", "12_3", "12+1", "-1", " 1", "99999999999", "job"}) {
    EXPECT_FALSE(is_slurm_job(text)) << text;
  }
}

}  // namespace
}  // namespace xylem::launch
