#include <gtest/gtest.h>

#include "frontend/launch.h"
#include "frontend/setup.h"

namespace xylem::frontend {
namespace {

LaunchOptions some_options() {
  LaunchOptions options;
  options.addresses = {"10.0.0.1:4711", "127.0.0.1:4711"};
  options.run = "abc";
  options.capture_library = "/x/libxylem-capture.so";
  options.backend = "/x/xylem-backend";
  return options;
}

std::string value(const Environment& environment, const std::string& name) {
  for (const auto& [key, text] : environment) {
    if (key == name) return text;
  }
  return "(not set)";
}

TEST(JobEnvironment, PreloadsInFrontOfWhatIsPreloadedAlready) {
  EXPECT_EQ(value(job_environment(some_options(), {"LD_PRELOAD=/y.so"}), "LD_PRELOAD"),
            "/x/libxylem-capture.so:/y.so");
  EXPECT_EQ(value(job_environment(some_options(), {"HOME=/"}), "LD_PRELOAD"),
            "/x/libxylem-capture.so");
}

TEST(JobEnvironment, TellsOpenMpiToForwardOnlyWhenHostsAreRemote) {
  LaunchOptions options = some_options();
  EXPECT_EQ(value(job_environment(options, {}), "OMPI_MCA_mca_base_env_list"), "(not set)");
  options.remote = true;
  EXPECT_EQ(value(job_environment(options, {"OMPI_MCA_mca_base_env_list=FOO"}),
                  "OMPI_MCA_mca_base_env_list"),
            "FOO;LD_PRELOAD;XYLEM_ADDRESS;XYLEM_RUN;XYLEM_KEY;XYLEM_BACKEND;XYLEM_TLS");
}

TEST(JobEnvironment, GivesAllAddresses) {
  EXPECT_EQ(value(job_environment(some_options(), {}), "XYLEM_ADDRESS"),
            "10.0.0.1:4711,127.0.0.1:4711");
}

TEST(Variable, IsFoundByItsWholeName) {
  EXPECT_EQ(variable({"AB=1", "A=2"}, "A"), "2");
  EXPECT_EQ(variable({"AB=1"}, "A"), "");
}

TEST(InspectCommand, SeesWhetherHostsAreNamed) {
  EXPECT_TRUE(inspect_command({"mpiexec.hydra", "-hosts", "a,b", "./x"}, "").names_hosts);
  EXPECT_TRUE(inspect_command({"orterun", "--host", "a:2", "./x"}, "").names_hosts);
  EXPECT_TRUE(inspect_command({"orterun", "--host=a:2", "./x"}, "").names_hosts);
  EXPECT_FALSE(inspect_command({"orterun", "-n", "4", "./x"}, "").names_hosts);
  EXPECT_FALSE(inspect_command({"./job.sh", "-host", "a"}, "").names_hosts) << "no launcher";
  EXPECT_EQ(inspect_command({"srun", "./x"}, "").launcher, Launcher::kSlurm);
  EXPECT_EQ(inspect_command({}, "").launcher, Launcher::kNone);
}

TEST(InspectCommand, TellsTheLaunchersOptionsFromTheProgramsOwn) {
  EXPECT_FALSE(inspect_command({"orterun", "-n", "4", "/bin/sh", "-f", "in"}, "").names_hosts);
  EXPECT_TRUE(inspect_command(
                  {"orterun", "--mca", "plm_rsh_agent", "/bin/sh", "--host", "a:2", "/bin/sh"}, "")
                  .names_hosts);
  EXPECT_TRUE(
      inspect_command({"mpiexec.hydra", "-launcher-exec", "/bin/sh", "-hosts", "a", "/bin/sh"}, "")
          .names_hosts);
}

TEST(SetupLine, SurvivesTheChannel) {
  frontend::Setup setup;
  setup.run = "abc";
  setup.key = net::make_key();
  setup.command = {"mpirun", "-n", "4", "./a \"b\"\n"};
  setup.store = "x.db";
  setup.chunks = true;
  setup.window = 123;
  setup.reachable_hosts = {"10.0.0.1"};
  const std::string line = to_json(setup);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto back = parse_setup(line);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), line);
  EXPECT_EQ(back->key, setup.key);
  EXPECT_EQ(back->command, setup.command);
}

TEST(SetupLine, RefusesWhatIsNotOne) {
  for (const char* text : {"", "{}", "[]", "{\"run\": 3}", "garbage", "null"}) {
    const auto setup = parse_setup(text);
    ASSERT_FALSE(setup) << text;
    EXPECT_EQ(setup.error().code, Code::kCorrupt) << text;
  }
}

}  // namespace
}  // namespace xylem::frontend
