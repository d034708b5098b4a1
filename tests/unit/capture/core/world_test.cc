#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "capture/core/world_internal.h"

namespace xylem::capture {
namespace {

using Key = std::array<std::uint8_t, kWorldKeyBytes>;

/// The environment of a process as launchers give it, and nothing of the one that tests run in.
class WorldKey : public ::testing::Test {
 protected:
  void SetUp() override { give({}); }
  void TearDown() override { give({}); }

  static void give(const std::vector<std::pair<std::string, std::string>>& variables) {
    for (const char* name :
         {"XYLEM_WORLD", "XYLEM_RUN", "PMI_RANK", "PMI_SIZE", "PMI_SPAWNED", "PMIX_RANK",
          "PMIX_NAMESPACE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID",
          "SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_STEP_ID"}) {
      ::unsetenv(name);
    }
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  }
  static Key key() {
    std::uint8_t found[kWorldKeyBytes];
    find_world_key(found);
    return std::to_array(found);
  }
  static Key key_of(const std::vector<std::pair<std::string, std::string>>& variables) {
    give(variables);
    return key();
  }
};

TEST_F(WorldKey, IsEqualInRanksOfOneLauncherAndInNoOthers) {
  const Key first = key_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"XYLEM_WORLD", "aa"}});
  EXPECT_EQ(first, key_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"XYLEM_WORLD", "aa"}}));
  EXPECT_NE(first, key_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"XYLEM_WORLD", "ab"}}));
}

TEST_F(WorldKey, OfASpawnedWorldIsAnotherThoughTheLauncherIsTheSame) {
  const std::pair<std::string, std::string> rank{"OMPI_COMM_WORLD_RANK", "0"},
      drawn{"XYLEM_WORLD", "aa"};
  EXPECT_NE(key_of({rank, drawn, {"PMIX_NAMESPACE", "7.1"}}),
            key_of({rank, drawn, {"PMIX_NAMESPACE", "7.2"}}));
}

TEST_F(WorldKey, WithoutWhatALauncherHasDrawnIsOfTheSlurmStep) {
  const std::pair<std::string, std::string> job{"SLURM_JOB_ID", "12"};
  const Key first = key_of({{"SLURM_PROCID", "0"}, job, {"SLURM_STEP_ID", "0"}});
  EXPECT_EQ(first, key_of({{"SLURM_PROCID", "3"}, job, {"SLURM_STEP_ID", "0"}}));
  EXPECT_NE(first, key_of({{"SLURM_PROCID", "0"}, job, {"SLURM_STEP_ID", "1"}}));
}

TEST_F(WorldKey, OfAProcessWithoutALauncherIsItsOwn) {
  const Key mine = key();
  EXPECT_EQ(mine, key()) << "asked again it is the same";
  // What an outer launcher has drawn for its own ranks is not this process's.
  EXPECT_EQ(mine, key_of({{"XYLEM_WORLD", "aa"}}));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(key() == mine ? 1 : 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "a child has its parent's key";
}

TEST_F(WorldKey, PlaceIsWhatTheLauncherSays) {
  give({{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}});
  EXPECT_EQ(launch_place().rank, 3u);
  EXPECT_EQ(launch_place().size, 8u);
  give({{"PMI_RANK", "x"}, {"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}});
  EXPECT_EQ(launch_place().rank, 2u);
  EXPECT_EQ(launch_place().size, 4u);
  give({});
  EXPECT_EQ(launch_place().rank, kNoLaunchRank);
}

TEST_F(WorldKey, LaunchersAreKnownByTheirNames) {
  EXPECT_TRUE(is_launcher("/usr/bin/mpiexec.hydra"));
  EXPECT_TRUE(is_launcher("/opt/openmpi/bin/orterun"));
  EXPECT_FALSE(is_launcher("/usr/bin/bash"));
  EXPECT_FALSE(is_launcher("/home/me/orterun/app"));
}

}  // namespace
}  // namespace xylem::capture
