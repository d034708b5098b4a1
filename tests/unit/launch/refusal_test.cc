#include "launch/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace xylem::launch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A folder with programs named like launchers.
class RefusalTest : public ::testing::Test {
 protected:
  RefusalTest() {
    std::string name = "/tmp/xylem-refusal-XXXXXX";
    path_ = ::mkdtemp(name.data());
    for (const char* program : {"mpirun.openmpi", "mpirun.mpich", "srun", "app"}) {
      const std::string file = path_ + "/" + program;
      std::ofstream(file) << "#!/bin/sh\n";
      ::chmod(file.c_str(), 0755);
    }
  }
  ~RefusalTest() override { std::filesystem::remove_all(path_); }
  std::string clause(const std::vector<std::string>& command, int exit_code = 1,
                     bool is_root = false, const std::vector<std::string>& environment = {}) {
    const Refusal refusal = refused_launch(command, path_, environment, exit_code, is_root);
    return refusal.clause + (refusal.is_certain ? " (certain)" : "");
  }
  std::string path_;
};

TEST_F(RefusalTest, RefersToTheMessageOfTheLauncher) {
  EXPECT_EQ(clause({"mpirun.mpich", "-n", "4", "app"}),
            "mpirun.mpich of MPICH exited with code 1 and may have refused the job: see its own "
            "message above");
  EXPECT_EQ(clause({"srun", "-n", "4", "app"}, 127),
            "srun exited with code 127 and may have refused the job: see its own message above");
  EXPECT_THAT(clause({"mpirun.openmpi", "-n", "4", "app"}), HasSubstr("add --oversubscribe"));
  EXPECT_THAT(clause({"mpirun.openmpi", "--oversubscribe", "app"}),
              Not(HasSubstr("add --oversubscribe")));
}

TEST_F(RefusalTest, NamesTheRuleOfOpenMpiAboutRoot) {
  const char* const kRule = "mpirun.openmpi of Open MPI does not start a job as root";
  EXPECT_THAT(clause({"mpirun.openmpi", "app"}, 1, true),
              AllOf(HasSubstr(kRule), HasSubstr("(certain)")));
  EXPECT_THAT(clause({"mpirun.openmpi", "--allow-run-as-root", "app"}, 1, true),
              Not(HasSubstr(kRule)));
  EXPECT_THAT(clause({"mpirun.openmpi", "app"}, 1, true,
                     {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}),
              Not(HasSubstr(kRule)));
  EXPECT_THAT(clause({"mpirun.openmpi", "app"}, 1, true, {"OMPI_ALLOW_RUN_AS_ROOT=1"}),
              HasSubstr(kRule))
      << "Open MPI wants both variables";
  EXPECT_THAT(clause({"mpirun.mpich", "app"}, 1, true), Not(HasSubstr("as root")));
}

TEST_F(RefusalTest, IsSilentAboutOtherCommandsAndSuccess) {
  EXPECT_EQ(clause({"mpirun.openmpi", "app"}, 0, true), "");
  EXPECT_EQ(clause({"mpirun.openmpi", "app"}, 130, true), "") << "ended by a signal";
  EXPECT_EQ(clause({"mpirun.openmpi", "app"}, -1, true), "") << "nobody knows the code";
  EXPECT_EQ(clause({"app"}, 1, true), "");
  EXPECT_EQ(clause({}, 1), "");
}

}  // namespace
}  // namespace xylem::launch
