// Real processes: children of the test, each with its own environment.

#include "backend/find/proc_table.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backend/agent/quiet_segment.h"
#include "backend/agent/segment.h"
#include "base/argv.h"
#include "base/clock.h"

namespace xylem::backend {
namespace {

using namespace std::string_literals;

/// Waits until a file of a process in /proc is not empty. posix_spawn returns a moment earlier:
/// when the child has left the parent's memory.
void wait_for_content(pid_t pid, const std::string& file) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
  const Nanos deadline = monotonic_now() + 10 * kSecond;
  while (std::ifstream(path).peek() == std::ifstream::traits_type::eof()) {
    ASSERT_LT(monotonic_now(), deadline) << path << " stays empty";
    std::this_thread::yield();
  }
}

/// A child that sleeps under the environment that it is given.
class Sleeper {
 public:
  explicit Sleeper(std::vector<std::string> variables) {
    std::vector<std::string> words = {"sleep", "600"};
    const auto argv = argv_of(words);
    const auto envp = argv_of(variables);
    EXPECT_EQ(::posix_spawnp(&pid_, "sleep", nullptr, nullptr, argv.data(), envp.data()), 0);
    wait_for_content(pid_, variables.empty() ? "cmdline" : "environ");
  }
  ~Sleeper() { end(); }

  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

 private:
  pid_t pid_ = -1;
};

const SeenProcess* find(const ProcTable& table, std::uint32_t pid) {
  const auto it = std::find_if(table.processes.begin(), table.processes.end(),
                               [pid](const SeenProcess& p) { return p.pid == pid; });
  return it == table.processes.end() ? nullptr : &*it;
}

TEST(ProcTable, ShowsARankAndWhoseChildItIs) {
  const Sleeper rank({"PMI_RANK=3", "PMI_SIZE=8"});
  const ProcTable table = read_proc_table(false);
  const SeenProcess* seen = find(table, rank.pid());
  ASSERT_NE(seen, nullptr);
  ASSERT_TRUE(seen->ids);
  EXPECT_EQ(seen->ids->rank, Rank{3});
  EXPECT_EQ(seen->ids->size, 8u);
  EXPECT_EQ(seen->parent, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(std::filesystem::path(seen->program).filename(), "sleep");
  EXPECT_EQ(seen->command_line, "sleep\0"s + "600\0"s);
  EXPECT_EQ(seen->mpi_library, "");
  EXPECT_EQ(seen->start_time, start_time_of(rank.pid()));
  EXPECT_NE(seen->start_time, 0u);
}

TEST(ProcTable, ShowsProcessesThatAreNoRanksWithoutIds) {
  const Sleeper other({"HOME=/"});
  const ProcTable table = read_proc_table(false);
  const SeenProcess* seen = find(table, other.pid());
  ASSERT_NE(seen, nullptr);
  EXPECT_FALSE(seen->ids);
}

TEST(ProcTable, DoesNotShowWhatHasEnded) {
  Sleeper rank({"PMI_RANK=3"});
  const std::uint32_t pid = rank.pid();
  rank.end();
  EXPECT_EQ(find(read_proc_table(false), pid), nullptr);
  EXPECT_EQ(start_time_of(pid), 0u);
}

TEST(ProcTable, IsEmptyWhereThereIsNone) {
  EXPECT_TRUE(read_proc_table(true, "/nonexistent").processes.empty());
}

TEST(MpiLibrary, IsKnownByItsFilesName) {
  const std::string before = "7f00-7f10 r--p 00000000 fe:01 12    /usr/lib/";
  EXPECT_EQ(mpi_library_in("0-1 r--p 0 0 0\n" + before + "libmpi.so.40.30.4\n"),
            "libmpi.so.40.30.4");
  EXPECT_EQ(mpi_library_in(before + "libmpich.so.12.2.0 (deleted)\n"),
            "libmpich.so.12.2.0 (deleted)");
  EXPECT_EQ(mpi_library_in(before + "libmpi_cxx.so.40\n"), "");
  EXPECT_EQ(mpi_library_in(before + "libc.so.6\nrest without a path"), "");
  EXPECT_EQ(mpi_library_in(""), "");
}

FoundRank rank_of(const Sleeper& sleeper) {
  FoundRank rank;
  rank.pid = sleeper.pid();
  rank.start_time = start_time_of(rank.pid);
  rank.rank = Rank{3};
  rank.size = 8;
  rank.job = "slurm 12.0";
  rank.program = "/opt/app";
  rank.mpi_library = "libmpi.so.40";
  return rank;
}

TEST(OpenProcess, TellsTheLimitOfThisProcessFromThatOfTheHost) {
  EXPECT_EQ(no_descriptor_text(EMFILE), "its host's agent has no descriptor left (ulimit -n)");
  EXPECT_EQ(no_descriptor_text(ENFILE), "its host has no descriptor left (sysctl fs.file-max)");
  EXPECT_EQ(no_descriptor_text(EPERM),
            "its host's agent got no descriptor for it: Operation not permitted");
}

TEST(OpenProcess, SaysThatThisProcessHasNoDescriptorLeft) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const std::uint64_t start_time = start_time_of(pid);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // First no descriptor is free. Then one is free: the process gets it, and its file in /proc has
  // none.
  for (const int left : {0, 1}) {
    const UniqueFd next(::dup(STDERR_FILENO));
    const rlimit few{static_cast<rlim_t>(next.get() + 1 + left), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto process = open_process(pid, start_time);
    ::setrlimit(RLIMIT_NOFILE, &before);
    ASSERT_FALSE(process) << left;
    EXPECT_EQ(process.error().message, no_descriptor_text(EMFILE)) << left;
  }
}

TEST(QuietSegment, IsThatOfARankWithoutCalls) {
  const Sleeper sleeper({});
  const auto held = hold_quietly(rank_of(sleeper));
  ASSERT_TRUE(held) << held.error().message;
  const auto segment = Segment::map(held->segment);
  ASSERT_TRUE(segment) << segment.error().message;
  const wire::ProcessRow row = segment->describe();
  EXPECT_TRUE(row.initialised);
  EXPECT_EQ(row.pid, sleeper.pid());
  EXPECT_EQ(row.rank, Rank{3});
  EXPECT_EQ(row.world_size, 8u);
  EXPECT_EQ(row.program, "/opt/app");
  EXPECT_EQ(row.mpi_library, "libmpi.so.40");
  EXPECT_TRUE(
      std::equal(row.world_key.begin(), row.world_key.end(), world_key_of("slurm 12.0").begin()));
  EXPECT_EQ(segment->counters(), SegmentCounters{});
  EXPECT_EQ(segment->rings(), 0u);
}

TEST(QuietSegment, TellsTheEndOfTheProcess) {
  Sleeper sleeper({});
  const auto held = hold_quietly(rank_of(sleeper));
  ASSERT_TRUE(held) << held.error().message;
  ASSERT_TRUE(held->pidfd);
  pollfd watched{held->pidfd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&watched, 1, 0), 0);
  sleeper.end();
  EXPECT_EQ(::poll(&watched, 1, 30'000), 1);
}

TEST(QuietSegment, TakesAProcessOfTheSameNumberForEnded) {
  const Sleeper sleeper({});
  FoundRank earlier = rank_of(sleeper);
  earlier.start_time -= 1;
  const auto held = hold_quietly(earlier);
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_FALSE(held->pidfd);
}

TEST(QuietSegment, IsMadeForTheSelectedRanksOfThisHost) {
  const Sleeper rank({"PMI_RANK=3", "PMI_SIZE=8"}), other({"HOME=/"});
  RankSelection selection;
  selection.listed = {{rank.pid(), Rank{3}}};
  selection.size = 8;
  const auto present = hold_selected(selection);
  ASSERT_TRUE(present) << present.error().message;
  ASSERT_EQ(present->held.size(), 1u);
  EXPECT_EQ(present->held.front().pid, rank.pid());
  EXPECT_EQ(present->note, "");
}

/// A table with one process. Nobody may read its environment.
class UnreadableProcess : public ::testing::Test {
 protected:
  UnreadableProcess() {
    std::string name = "/tmp/xylem-proc-test-XXXXXX";
    root_ = ::mkdtemp(name.data());
    const std::filesystem::path process = std::filesystem::path(root_) / "17";
    std::filesystem::create_directory(process);
    std::ofstream(process / "stat") << "17 (app) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 99";
    std::ofstream(process / "cmdline") << "app";
    std::ofstream(process / "environ") << "";
    ::chmod((process / "environ").c_str(), 0);
    ::chmod(root_.c_str(), 0755);
  }
  ~UnreadableProcess() override { std::filesystem::remove_all(root_); }
  std::string root_;
};

// Root may read everything.
[[noreturn]] void exit_with_note_for(const std::string& root) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && ::setuid(kNobody) != 0) std::_Exit(2);
  RankSelection selection;
  selection.is_named = true;
  const auto present = hold_selected(selection, root);
  const bool is_noted =
      present && present->held.empty() && present->note == "1 processes may not be read";
  std::_Exit(is_noted ? 0 : 1);
}

TEST_F(UnreadableProcess, IsNotedIfNoRankWasFound) {
  EXPECT_EXIT(exit_with_note_for(root_), ::testing::ExitedWithCode(0), "");
}

TEST(QuietSegment, IsMadeForEachRankThatHasNotEnded) {
  const Sleeper first({}), second({});
  std::vector<FoundRank> ranks = {rank_of(first), rank_of(first), rank_of(second)};
  ranks[1].start_time -= 1;  // The start time of an earlier process.
  const auto present = hold_all_quietly(ranks);
  ASSERT_TRUE(present) << present.error().message;
  ASSERT_EQ(present->size(), 2u);
  EXPECT_EQ(present->at(0).pid, first.pid());
  EXPECT_EQ(present->at(1).pid, second.pid());
}

}  // namespace
}  // namespace xylem::backend
