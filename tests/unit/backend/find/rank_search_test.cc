#include "backend/find/rank_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/find/launch_ids.h"
#include "backend/find/selection_text.h"

namespace xylem::backend {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::string_literals;

// Like /proc/PID/environ: each entry ends with a zero.
std::string environment(const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) text += entry + '\0';
  return text;
}

// Recorded from real launchers.
const std::string kOpenMpi =
    environment({"PATH=/bin", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "PMIX_RANK=1",
                 "PMIX_NAMESPACE=389021697",
                 "OMPI_MCA_orte_precondition_transports=a3c24549066a5f23-66606d87f8b0a4da"});
const std::string kHydra =
    environment({"HYDI_CONTROL_FD=7", "MPI_LOCALNRANKS=2", "PMI_RANK=1", "PMI_FD=8", "PMI_SIZE=2"});
const std::string kSlurmPmi2 =
    environment({"SLURM_JOB_ID=12", "SLURM_STEP_ID=3", "SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4",
                 "PMI_RANK=1", "PMI_SIZE=4", "PMI_JOBID=12.3"});
const std::string kSlurmPmix =
    environment({"SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_PROCID=2", "SLURM_STEP_NUM_TASKS=4",
                 "PMIX_RANK=2", "PMIX_NAMESPACE=slurm.pmix.12.0"});
const std::string kSlurmAlone =
    environment({"SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=2"});
// mpirun of Open MPI in a Slurm job: its daemon is the task, the rank is another number.
const std::string kOpenMpiInSlurm =
    environment({"SLURM_PROCID=0", "SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "OMPI_COMM_WORLD_RANK=5",
                 "OMPI_COMM_WORLD_SIZE=8", "PMIX_NAMESPACE=7", "PMIX_RANK=5"});

TEST(LaunchIds, AreReadFromWhatEachLauncherSets) {
  const auto open_mpi = launch_ids(kOpenMpi);
  ASSERT_TRUE(open_mpi);
  EXPECT_EQ(open_mpi->rank, Rank{1});
  EXPECT_EQ(open_mpi->size, 2u);
  EXPECT_EQ(open_mpi->job, "openmpi a3c24549066a5f23-66606d87f8b0a4da 389021697");
  const auto hydra = launch_ids(kHydra);
  ASSERT_TRUE(hydra);
  EXPECT_EQ(hydra->rank, Rank{1});
  EXPECT_EQ(hydra->size, 2u);
  EXPECT_EQ(hydra->job, "") << "its environment names no job";
  const auto pmi2 = launch_ids(kSlurmPmi2);
  ASSERT_TRUE(pmi2);
  EXPECT_EQ(pmi2->job, "slurm 12.3");
  EXPECT_EQ(pmi2->size, 4u);
  const auto pmix = launch_ids(kSlurmPmix);
  ASSERT_TRUE(pmix);
  EXPECT_EQ(pmix->rank, Rank{2});
  EXPECT_EQ(pmix->size, 4u);
  EXPECT_EQ(pmix->job, "slurm 12.0");
  EXPECT_EQ(pmix->slurm_job, "12");
  const auto alone = launch_ids(kSlurmAlone);
  ASSERT_TRUE(alone);
  EXPECT_STREQ(alone->source, "SLURM_PROCID");
  EXPECT_EQ(alone->size, 2u);
}

TEST(LaunchIds, PreferTheLauncherThatIsNearestToTheRank) {
  const auto ids = launch_ids(kOpenMpiInSlurm);
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->rank, Rank{5});
  EXPECT_EQ(ids->size, 8u);
  EXPECT_EQ(ids->slurm_job, "12");
}

TEST(LaunchIds, AreNoneWithoutARank) {
  EXPECT_FALSE(launch_ids(""));
  EXPECT_FALSE(launch_ids(environment({"SLURM_JOB_ID=12", "PATH=/bin"})));
  for (const char* rank : {"", "-1", "x", "1x", "4294967296", " 1"}) {
    EXPECT_FALSE(launch_ids(environment({"PMI_RANK="s + rank}))) << rank;
  }
  EXPECT_FALSE(launch_ids(environment({"XPMI_RANK=1", "PMI_RANKS=2", "PMI_RANK"})));
}

TEST(LaunchIds, AreNoneForTheShellOfABatchScriptOrOfAnInteractiveJob) {
  EXPECT_FALSE(launch_ids(environment({"SLURM_JOB_ID=12", "SLURM_PROCID=0"})));
  EXPECT_FALSE(
      launch_ids(environment({"SLURM_JOB_ID=12", "SLURM_PROCID=0", "SLURM_STEP_ID=4294967291"})));
}

TEST(LaunchIds, ReadAnyBytesAndKeepBoundedOnes) {
  EXPECT_FALSE(launch_ids("\0\0\0"s));
  EXPECT_TRUE(launch_ids("PMI_RANK=7")) << "cut before its zero";
  const auto ids = launch_ids(
      environment({"OMPI_COMM_WORLD_RANK=0", "PMIX_NAMESPACE=" + std::string(9000, 'x')}));
  ASSERT_TRUE(ids);
  EXPECT_LT(ids->job.size(), 600u);
}

TEST(ControlPort, StandsInAProxysCommandLine) {
  EXPECT_EQ(control_port(environment(
                {"/usr/bin/hydra_pmi_proxy", "--control-port", "vm:36251", "--proxy-id", "0"})),
            "vm:36251");
  EXPECT_EQ(control_port(environment({"ssh", "-x", "node01", "\"/usr/bin/hydra_pmi_proxy\"",
                                      "--control-port", "vm:36251"})),
            "vm:36251");
  EXPECT_EQ(control_port(environment({"other", "--control-port", "vm:1"})), "");
  EXPECT_EQ(control_port(environment({"hydra_pmi_proxy", "--control-port"})), "");
  EXPECT_EQ(control_port(""), "");
}

SeenProcess process(std::uint32_t pid, std::uint32_t parent, const std::string& program,
                    const std::string& environ_text, const std::string& library = "libmpi.so.40") {
  SeenProcess seen;
  seen.pid = pid;
  seen.parent = parent;
  seen.start_time = pid;
  seen.program = program;
  seen.ids = launch_ids(environ_text);
  if (seen.ids) seen.mpi_library = library;
  return seen;
}

SeenProcess proxy(std::uint32_t pid, const std::string& port) {
  SeenProcess seen = process(pid, 1, "/usr/bin/hydra_pmi_proxy", "");
  seen.command_line = environment({"hydra_pmi_proxy", "--control-port", port});
  return seen;
}

std::vector<std::uint32_t> pids(const std::vector<FoundRank>& ranks) {
  std::vector<std::uint32_t> found;
  for (const FoundRank& rank : ranks) found.push_back(rank.pid);
  return found;
}

TEST(RankSearch, TakesTheProgramAndNeitherItsWrapperNorItsChildren) {
  const std::vector<SeenProcess> seen = {
      process(10, 1, "/bin/bash", kOpenMpi, ""), process(11, 10, "/opt/app", kOpenMpi),
      process(12, 11, "/opt/app", kOpenMpi), process(13, 11, "/usr/bin/gzip", kOpenMpi, "")};
  const auto found = find_ranks(seen, {});
  EXPECT_EQ(pids(found), std::vector<std::uint32_t>{11});
  EXPECT_EQ(found[0].rank, Rank{1});
  EXPECT_EQ(found[0].size, 2u);
  EXPECT_EQ(found[0].program, "/opt/app");
}

TEST(RankSearch, TakesAProgramWithoutAnMpiLibraryOnlyWhereTheJobOrTheProgramWasNamed) {
  const std::vector<SeenProcess> seen = {process(10, 1, "/bin/sh", kSlurmAlone, ""),
                                         process(11, 10, "/opt/static_app", kSlurmAlone, "")};
  EXPECT_THAT(find_ranks(seen, {}), IsEmpty());
  RankSelection by_job;
  by_job.slurm_job = "12";
  by_job.is_named = true;
  EXPECT_EQ(pids(find_ranks(seen, by_job)), std::vector<std::uint32_t>{11});
  RankSelection by_name;
  by_name.match = "static*";
  EXPECT_EQ(pids(find_ranks(seen, by_name)), std::vector<std::uint32_t>{11});
}

TEST(RankSearch, DoesNotTakeLaunchersThatAreTasksOfAStep) {
  for (const char* name : {"/usr/bin/orted", "/usr/bin/hydra_pmi_proxy", "/usr/bin/srun",
                           "/opt/libexec/xylem/xylem-backend"}) {
    RankSelection selection;
    selection.is_named = true;
    EXPECT_THAT(find_ranks(std::vector{process(10, 1, name, kSlurmAlone)}, selection), IsEmpty())
        << name;
  }
}

TEST(RankSearch, TellsHydrasJobsApartByTheirProxies) {
  const std::vector<SeenProcess> seen = {proxy(5, "vm:1"), process(10, 5, "/opt/app", kHydra),
                                         proxy(6, "vm:2"), process(11, 6, "/opt/app", kHydra)};
  const auto both = find_ranks(seen, {});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].job, "hydra vm:1");
  EXPECT_NE(world_key_of(both[0].job), world_key_of(both[1].job));
  RankSelection selection;
  selection.control_port = "vm:2";
  EXPECT_EQ(pids(find_ranks(seen, selection)), std::vector<std::uint32_t>{11});
}

TEST(RankSearch, KeepsToTheJobAndStepThatWereNamed) {
  const std::vector<SeenProcess> seen = {process(10, 1, "/opt/app", kSlurmPmi2),
                                         process(11, 1, "/opt/app", kSlurmPmix),
                                         process(12, 1, "/opt/app", kOpenMpi)};
  RankSelection selection;
  selection.slurm_job = "12";
  EXPECT_EQ(find_ranks(seen, selection).size(), 2u);
  selection.slurm_step = "3";
  EXPECT_EQ(pids(find_ranks(seen, selection)), std::vector<std::uint32_t>{10});
  selection.slurm_job = "1";
  EXPECT_THAT(find_ranks(seen, selection), IsEmpty());
}

TEST(RankSearch, BelievesALaunchersTableAndLooksBelowAWrapper) {
  const std::vector<SeenProcess> seen = {process(10, 1, "/bin/bash", ""),
                                         process(11, 10, "/opt/app", kHydra),
                                         process(20, 1, "/opt/app", ""), process(30, 1, "/x", "")};
  RankSelection selection;
  selection.listed = {{10, Rank{0}}, {20, Rank{7}}, {99, Rank{3}}};
  selection.size = 8;
  selection.world = "launcher 4 5";
  const auto found = find_ranks(seen, selection);
  EXPECT_EQ(pids(found), (std::vector<std::uint32_t>{11, 20}));
  EXPECT_EQ(found[0].rank, Rank{0}) << "the table's number, not the environment's";
  EXPECT_EQ(found[1].rank, Rank{7});
  EXPECT_EQ(found[1].size, 8u);
  EXPECT_EQ(found[0].job, "launcher 4 5");
  selection.match = "a?p";
  EXPECT_EQ(find_ranks(seen, selection).size(), 2u);
  selection.match = "other";
  EXPECT_THAT(find_ranks(seen, selection), IsEmpty());
}

TEST(RankSearch, EndsOnParentsThatGoInACircle) {
  const std::vector<SeenProcess> seen = {process(10, 11, "/opt/app", kHydra),
                                         process(11, 10, "/opt/app", kHydra)};
  EXPECT_EQ(find_ranks(seen, {}).size(), 1u);
}

TEST(Wish, GoesThroughWordsAndBack) {
  RankSelection selection;
  selection.match = "a b*=?";
  selection.slurm_job = "12";
  selection.slurm_step = "0";
  selection.control_port = "vm:1";
  selection.world = "launcher 4 5";
  selection.size = 9;
  selection.listed = {{4711, Rank{0}}, {4712, Rank{1}}};
  selection.is_named = true;
  const auto words = to_words(selection);
  const auto read = parse_selection(words);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_words(*read), words);
  EXPECT_EQ(read->listed, selection.listed);
  EXPECT_EQ(read->match, selection.match);
  EXPECT_THAT(to_words({}), IsEmpty());
}

TEST(Wish, RefusesWordsThatMeanNothing) {
  for (const char* word : {"", "match", "match=", "size=x", "listed=1", "listed=1:0", "listed=a:2",
                           "named=no", "other=1", "job="}) {
    EXPECT_THAT(parse_selection({word}).error().message, HasSubstr("not a valid search for ranks"))
        << word;
  }
}

}  // namespace
}  // namespace xylem::backend
