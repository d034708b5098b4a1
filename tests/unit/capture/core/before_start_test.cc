// What a process does before capture has started in it, and how it starts: early calls, children of
// fork(), late starts. Each test is a process of its own. threads_test.cc has the program's main().

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/unit/capture/core/linked_capture.h"

namespace xylem::capture {
namespace {

/// Processes that have not started MPI yet, each its own: gtest plays what a test says in a fresh
/// process (a "threadsafe death test"), which ends with 0 when what was claimed held there.
class BeforeTheStartDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

constexpr auto kInTime = std::chrono::seconds(3);  // Less than anybody waits in vain.

/// A run of this process's own.
std::string own_run() {
  char run[17];
  std::snprintf(run, sizeof run, "%016llx",
                0xbeef000000000000ull + static_cast<unsigned>(::getpid()));
  ::setenv(xylem::kEnvRun, run, 1);
  return run;
}

bool is_so(bool claim, const char* what) {
  if (!claim) std::fprintf(stderr, "not so: %s\n", what);
  return claim;
}

bool ends_well(pid_t child) {
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

std::uint64_t calls_of(std::uint16_t function) {
  return process.segment == nullptr ? 0 : counters(&ThreadRing::calls)[function];
}

/// What the library does not see: MPI is initialised all the same.
void start_mpi_unseen() {
  int provided = 0;
  auto* const init = reinterpret_cast<int (*)(int*, char***, int, int*)>(
      ::dlsym(::dlopen("libstub_mpi.so", RTLD_NOW | RTLD_NOLOAD), "PMPI_Init_thread"));
  init(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
}

bool counts_a_tools_early_calls_once() {
  const AgentFolder agent(own_run());
  for (int i = 0; i < 5; ++i) MPI_Wtick();
  start_mpi();
  return is_so(calls_of(kMPI_Wtick) == 5, "five calls of MPI_Wtick");
}
TEST_F(BeforeTheStartDeathTest, ACallThatAToolPassesOnIsCountedOnce) {
  EXPECT_EXIT(::_exit(counts_a_tools_early_calls_once() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

bool records_many_early_calls() {
  const AgentFolder agent(own_run());
  constexpr std::uint64_t kCalls = 2 * kMaxRecordCalls + 7;
  for (std::uint64_t i = 0; i < kCalls; ++i) MPI_Wtime();
  start_mpi();
  std::uint64_t records = 0, calls = 0;
  for (std::uint32_t r = 0; r < process.segment->threads.load(); ++r) {
    const ThreadRing& ring = *process.threads[r].ring;
    for (std::uint64_t at = 0; at < ring.head.load(); ++at) {
      const Record& record = process.threads[r].records[slot_of(ring, at, ring.limit.load())];
      if (record.function != kMPI_Wtime) continue;
      ++records;
      calls += record.calls;
    }
  }
  return is_so(calls_of(kMPI_Wtime) == kCalls, "all calls are counted") &&
         is_so(calls == kCalls, "the records stand for all of them") &&
         is_so(records == 3, "a record stands for as many as it can");
}
TEST_F(BeforeTheStartDeathTest, MoreCallsThanARecordCanStandForHaveSeveral) {
  EXPECT_EXIT(::_exit(records_many_early_calls() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

bool counts_early_calls_of_callbacks() {
  const AgentFolder agent(own_run());
  stub_tool_callback = [] { MPI_Wtime(); };
  for (int i = 0; i < 3; ++i) MPI_Wtick();
  start_mpi();
  return is_so(calls_of(kMPI_Wtick) == 3, "three calls of MPI_Wtick") &&
         is_so(calls_of(kMPI_Wtime) == 3, "three calls of MPI_Wtime");
}
TEST_F(BeforeTheStartDeathTest, ACallFromACallbackIsCounted) {
  EXPECT_EXIT(::_exit(counts_early_calls_of_callbacks() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

bool counts_early_calls_where_they_were_made() {
  const AgentFolder agent(own_run());
  for (int i = 0; i < 5; ++i) MPI_Wtime();
  const pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0; i < 2; ++i) MPI_Wtime();
    start_mpi();
    ::_exit(is_so(calls_of(kMPI_Wtime) == 2, "the child's own two calls") ? 0 : 1);
  }
  const bool is_childs = ends_well(child);
  start_mpi();
  return is_so(calls_of(kMPI_Wtime) == 5, "the parent's own five calls") && is_childs;
}
TEST_F(BeforeTheStartDeathTest, AChildCountsItsOwnCallsAndNotItsParents) {
  EXPECT_EXIT(::_exit(counts_early_calls_where_they_were_made() ? 0 : 1),
              ::testing::ExitedWithCode(0), "");
}

/// A child that is forked while another thread starts the library by `start`, and holds the lock.
template <class Start>
bool starts_in_a_child_forked_during(Start start) {
  AgentFolder agent(own_run(), 0);
  agent.fill_queue();
  std::thread starter(start);
  const auto deadline = std::chrono::steady_clock::now() + kInTime;
  while (!agent.is_locked() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  if (!is_so(agent.is_locked(), "the parent is registering")) ::_exit(1);
  int go_on[2];
  if (::pipe(go_on) != 0) ::_exit(1);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    if (::read(go_on[0], &byte, 1) != 1) ::_exit(1);
    const auto begin = std::chrono::steady_clock::now();
    start_mpi();
    const auto took = std::chrono::steady_clock::now() - begin;
    const bool is_started = process.segment != nullptr &&
                            process.segment->pid == static_cast<std::uint32_t>(::getpid());
    ::_exit(is_so(took < kInTime, "the child does not wait") &&
                    is_so(is_started, "the child is watched")
                ? 0
                : 1);
  }
  agent.empty_queue();
  starter.join();
  const bool is_parents = agent.registered() == ::getpid();
  const bool went_on = ::write(go_on[1], "", 1) == 1;
  return is_so(ends_well(child), "the child ends well") && went_on &&
         is_so(is_parents, "the parent registers") &&
         is_so(agent.registered() == child, "the child registers");
}
TEST_F(BeforeTheStartDeathTest, AChildForkedDuringMpiInitStartsAnewAtOnce) {
  EXPECT_EXIT(::_exit(starts_in_a_child_forked_during([] { start_mpi(); }) ? 0 : 1),
              ::testing::ExitedWithCode(0), "");
}

bool starts_in_a_child_forked_during_a_late_start() {
  start_mpi_unseen();
  return starts_in_a_child_forked_during([] { MPI_Wtime(); });
}
TEST_F(BeforeTheStartDeathTest, AChildForkedDuringALateStartStartsAnewAtOnce) {
  EXPECT_EXIT(::_exit(starts_in_a_child_forked_during_a_late_start() ? 0 : 1),
              ::testing::ExitedWithCode(0), "");
}

bool is_the_only_process_of_its_rank() {
  AgentFolder agent(own_run());
  start_mpi_unseen();
  const pid_t child = ::fork();
  if (child == 0) {
    MPI_Wtime();  // MPI says that it is initialised: it was, in the parent.
    ::_exit(is_so(process.segment == nullptr, "the child is not watched") ? 0 : 1);
  }
  const bool is_childs = ends_well(child);
  MPI_Wtime();
  return is_so(agent.next().pid == static_cast<std::uint32_t>(::getpid()),
               "the parent is who registers first") &&
         is_childs;
}
TEST_F(BeforeTheStartDeathTest, AChildForkedBeforeTheFirstCallIsNoSecondProcessOfTheRank) {
  EXPECT_EXIT(::_exit(is_the_only_process_of_its_rank() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

bool registers_a_rank_of_a_world_of_unknown_size() {
  AgentFolder agent(own_run());
  ::setenv("PMI_RANK", "2", 1);
  ::unsetenv("PMI_SIZE");
  const rlimit no_file{4096, 4096};
  ::setrlimit(RLIMIT_FSIZE, &no_file);
  start_mpi();
  const Registration said = agent.next();
  return is_so(said.unwatched[0] != 0, "it says why it cannot be watched") &&
         is_so(said.rank == 2 && said.world_size == 3, "rank 2 of a world of 3 at least");
}
TEST_F(BeforeTheStartDeathTest, ARankThatIsNotWatchedIsInItsWorldThoughNobodyToldItsSize) {
  EXPECT_EXIT(::_exit(registers_a_rank_of_a_world_of_unknown_size() ? 0 : 1),
              ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace xylem::capture
