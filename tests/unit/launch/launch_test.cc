#include "launch/launch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/run_contract.h"
#include "launch/front_end_process.h"
#include "launch/setup.h"

namespace xylem::launch {
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
  EXPECT_EQ(
      value(job_environment(options, {"OMPI_MCA_mca_base_env_list=FOO"}),
            "OMPI_MCA_mca_base_env_list"),
      "FOO;LD_PRELOAD;XYLEM_ADDRESS;XYLEM_RUN;XYLEM_KEY;XYLEM_BACKEND;XYLEM_TLS;ASAN_OPTIONS");
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
  EXPECT_TRUE(inspect_command({"mpiexec.hydra", "-hosts", "a,b", "./x"}, "", {}).names_hosts);
  EXPECT_TRUE(inspect_command({"orterun", "--host", "a:2", "./x"}, "", {}).names_hosts);
  EXPECT_TRUE(inspect_command({"orterun", "--host=a:2", "./x"}, "", {}).names_hosts);
  EXPECT_FALSE(inspect_command({"orterun", "-n", "4", "./x"}, "", {}).names_hosts);
  EXPECT_FALSE(inspect_command({"./job.sh", "-host", "a"}, "", {}).names_hosts) << "no launcher";
  EXPECT_EQ(inspect_command({"srun", "./x"}, "", {}).launcher, Launcher::kSlurm);
  EXPECT_EQ(inspect_command({}, "", {}).launcher, Launcher::kNone);
}

TEST(InspectCommand, TellsTheLaunchersOptionsFromTheProgramsOwn) {
  EXPECT_FALSE(inspect_command({"orterun", "-n", "4", "/bin/sh", "-f", "in"}, "", {}).names_hosts);
  EXPECT_TRUE(
      inspect_command({"orterun", "--mca", "plm_rsh_agent", "/bin/sh", "--host", "a:2", "/bin/sh"},
                      "", {})
          .names_hosts);
  EXPECT_TRUE(inspect_command(
                  {"mpiexec.hydra", "-launcher-exec", "/bin/sh", "-hosts", "a", "/bin/sh"}, "", {})
                  .names_hosts);
}

bool is_local(const std::vector<std::string>& command,
              const std::vector<std::string>& environment = {"HOME=/nonexistent"}) {
  return inspect_command(command, "", environment).is_local;
}

TEST(InspectCommand, TakesAJobForLocalOnlyWithAKnownLauncherAndNoWordOfHosts) {
  EXPECT_TRUE(is_local({"orterun", "-n", "4", "/bin/sh", "-host", "a"}));
  EXPECT_TRUE(is_local({"mpiexec.hydra", "-n", "4", "/bin/sh"}));
  EXPECT_TRUE(is_local({"orterun", "--mca", "btl", "self,vader", "-n", "4", "/bin/sh"}));
  EXPECT_FALSE(is_local({"srun", "-N", "4", "/bin/sh"})) << "srun asks for an allocation itself";
  EXPECT_FALSE(is_local({"srun", "/bin/sh"}));
  EXPECT_FALSE(is_local({"./job.sh"})) << "a script may start anything";
  EXPECT_FALSE(is_local({"xylem", "serve"}));
  EXPECT_FALSE(is_local({}));
}

TEST(InspectCommand, AnOptionThatMayNameHostsIsNotLocal) {
  for (const char* option :
       {"--default-hostfile", "-default-hostfile", "--hostfile", "-machinefile", "--host", "-H",
        "--rankfile", "-rf", "--app", "--tune", "--am", "--hnp", "--dvm"}) {
    EXPECT_FALSE(is_local({"orterun", option, "x", "-n", "4", "/bin/sh"})) << option;
  }
  EXPECT_FALSE(is_local({"orterun", "--default-hostfile=x", "-n", "4", "/bin/sh"}));
  for (const char* option : {"-f", "-hosts", "-machinefile", "-configfile", "-rmk"}) {
    EXPECT_FALSE(is_local({"mpiexec.hydra", option, "x", "-n", "4", "/bin/sh"})) << option;
  }
  for (const char* name : {"orte_default_hostfile", "rmaps_rank_file_path", "rds_hostfile_path"}) {
    EXPECT_FALSE(is_local({"orterun", "--mca", name, "x", "-n", "4", "/bin/sh"})) << name;
  }
  EXPECT_FALSE(
      is_local({"orterun", "-n", "1", "/bin/sh", "x", ":", "-host", "b", "-n", "1", "/bin/sh"}))
      << "the second program of a job has options too";
}

TEST(InspectCommand, AVariableOfASchedulerOrOfHostsIsNotLocal) {
  for (const char* entry :
       {"SLURM_JOB_ID=1", "SLURM_JOBID=1", "SLURM_NNODES=1", "PBS_NODEFILE=/x", "PBS_JOBID=1",
        "LSB_HOSTS=a b", "LSB_MCPU_HOSTS=a 1 b 1", "LSB_DJOB_HOSTFILE=/x", "PE_HOSTFILE=/x",
        "HYDRA_HOST_FILE=/x", "OMPI_MCA_orte_default_hostfile=/x",
        "PRTE_MCA_prte_default_hostfile=/x", "OMPI_MCA_rmaps_rank_file_path=/x"}) {
    EXPECT_FALSE(is_local({"orterun", "-n", "4", "/bin/sh"}, {entry})) << entry;
    EXPECT_FALSE(is_local({"mpiexec.hydra", "-n", "4", "/bin/sh"}, {entry})) << entry;
  }
  for (const char* entry :
       {"SLURM_CONF=/etc/x", "SGE_ROOT=/x", "OMPI_MCA_btl=self", "PBS_JOBID="}) {
    EXPECT_TRUE(is_local({"orterun", "-n", "4", "/bin/sh"}, {entry})) << entry;
  }
}

TEST(InspectCommand, AFileOfOpenMpiThatNamesHostsIsNotLocal) {
  const std::filesystem::path top =
      std::filesystem::temp_directory_path() / ("xylem-launch-" + std::to_string(::getpid()));
  std::filesystem::create_directories(top / "bin");
  std::filesystem::create_directories(top / "etc");
  std::filesystem::create_directories(top / ".openmpi");
  const std::string launcher = (top / "bin" / "orterun").string();
  std::ofstream(launcher) << "#!/bin/sh\n";
  const std::vector<std::string> job = {launcher, "-n", "4", "/bin/sh"};
  const std::vector<std::string> home = {"HOME=" + top.string()};
  std::ofstream(top / "etc" / "openmpi-default-hostfile") << "# nobody\n\n";
  std::ofstream(top / ".openmpi" / "mca-params.conf") << "#orte_default_hostfile=x\nbtl=self\n";
  EXPECT_TRUE(is_local(job, home));
  std::ofstream(top / ".openmpi" / "mca-params.conf") << "orte_default_hostfile = x\n";
  EXPECT_FALSE(is_local(job, home));
  EXPECT_TRUE(is_local(job)) << "another home";
  std::ofstream(top / "etc" / "openmpi-default-hostfile") << "node02\n";
  EXPECT_FALSE(is_local(job));
  std::filesystem::remove_all(top);
}

TEST(SetupLine, SurvivesTheChannel) {
  launch::Setup setup;
  setup.run = "abc";
  setup.key = net::make_key();
  setup.command = {"mpirun", "-n", "4", "./a \"b\"\n"};
  setup.store = "x.db";
  setup.settings = {{"window", "123ms", "x.toml:3: window"}};
  setup.sections = {{"stream.e", "", 7}};
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

TEST(RankEnvironment, PreloadsTheCaptureLibraryBeforeOthersAndOnce) {
  const std::string library = "/x/libxylem-capture.so";
  const auto alone = rank_environment(library, {"XYLEM_ADDRESS=10.0.0.1:4711"});
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(*alone, (Environment{{"LD_PRELOAD", library}}));
  const auto others = rank_environment(library, {"XYLEM_ADDRESS=a", "LD_PRELOAD=/y/libtool.so"});
  ASSERT_TRUE(others);
  EXPECT_EQ(*others, (Environment{{"LD_PRELOAD", library + ":/y/libtool.so"}}));
  const auto again = rank_environment(
      library, {"XYLEM_ADDRESS=a", "LD_PRELOAD=/y/libtool.so:/x/libxylem-capture.so"});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->empty());
}

TEST(RankEnvironment, IsNoneOutsideARunOrForALibraryThatCannotBePreloaded) {
  const auto outside = rank_environment("/x/libxylem-capture.so", {"LD_PRELOAD=/y/libtool.so"});
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, Code::kUnavailable);
  const auto blank = rank_environment("/my tools/libxylem-capture.so", {"XYLEM_ADDRESS=a"});
  ASSERT_FALSE(blank);
  EXPECT_EQ(blank.error().code, Code::kInvalidArgument);
}

TEST(ControlChannel, GivesTheSetupAndKeepsTheLinesThatFollow) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const UniqueFd starter(ends[0]), front_end(ends[1]);
  launch::Setup sent;
  sent.run = "abc";
  const std::string lines = to_json(sent) + "\nfinish 3\n";
  ASSERT_EQ(::send(starter.get(), lines.data(), lines.size(), 0),
            static_cast<ssize_t>(lines.size()));
  const auto setup = receive_setup(front_end.get());
  ASSERT_TRUE(setup) << setup.error().message;
  EXPECT_EQ(setup->run, "abc");
  char rest[32];
  const ssize_t size = ::recv(front_end.get(), rest, sizeof rest, 0);
  ASSERT_GT(size, 0);
  EXPECT_EQ(std::string(rest, static_cast<std::size_t>(size)), "finish 3\n");
}

TEST(ControlChannel, FailsWhenItEndsBeforeTheSetup) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  UniqueFd starter(ends[0]);
  const UniqueFd front_end(ends[1]);
  ASSERT_EQ(::send(starter.get(), "{}", 2, 0), 2);
  starter.reset();
  const auto setup = receive_setup(front_end.get());
  ASSERT_FALSE(setup);
  EXPECT_EQ(setup.error().code, Code::kUnavailable);
  send_answer(front_end.get(), "error");  // Nobody reads it; the front end goes on.
}

TEST(RunFolders, TellWhetherAnAgentIsOnThisHost) {
  const std::string run = "t" + std::to_string(::getpid());
  const std::string folder = run_folder(run);
  ASSERT_EQ(::mkdir(front_end_folder(run).c_str(), 0700), 0);
  EXPECT_FALSE(has_agent_folder(run)) << "only the front end's own";
  ASSERT_EQ(::mkdir((folder + "-node01").c_str(), 0700), 0);
  EXPECT_TRUE(has_agent_folder(run)) << "of a simulated host";
  EXPECT_FALSE(has_agent_folder(run + "0"));
  std::filesystem::remove(folder + "-node01");
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  EXPECT_TRUE(has_agent_folder(run));
  std::filesystem::remove(folder);
  EXPECT_FALSE(has_agent_folder(run));
  char path[kRunFolderBytes];
  const std::string other = write_run_folder(path, ::geteuid() + 1, run.c_str());
  ASSERT_EQ(::mkdir(other.c_str(), 0700), 0);
  EXPECT_FALSE(has_agent_folder(run)) << "another user has made it";
  if (::chown(other.c_str(), ::geteuid() + 1, ::getegid()) == 0) {
    EXPECT_TRUE(has_agent_folder(run)) << "of a rank that has changed its user";
  }
  std::filesystem::remove(other);
  EXPECT_FALSE(has_agent_folder(run));
  std::filesystem::remove(front_end_folder(run));
}

}  // namespace
}  // namespace xylem::launch
