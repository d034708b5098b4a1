// The measurements of a host, from files like those of Linux in a temporary folder. The expected
// values are computed by hand.

#include "backend/host/host_meter.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>

#include "backend/host/core_count.h"
#include "backend/host/network_rate.h"
#include "tests/support/root_folder.h"

namespace xylem::backend {
namespace {

using placement::Fact;

constexpr Nanos kBegin = 7 * kSecond;

/// A host whose files a test writes.
class HostMeterTest : public ::testing::Test {
 protected:
  HostMeterTest() {
    write("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable:    4194304 kB\n");
    processors_have_made(0, 0, 0);
    write("/proc/loadavg", "0.20 0.18 0.12 4/80 11206\n");
  }

  void write(const std::string& path, const std::string& text) { folder_.write(path, text); }
  /// Ticks of each processor, since the host began.
  void processors_have_made(int used, int idle, int waiting) {
    std::string text = "cpu  1 1 1 1 1 1 1 1 0 0\n";
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      text += "cpu" + std::to_string(i) + " " + std::to_string(used) + " 0 0 " +
              std::to_string(idle) + " " + std::to_string(waiting) + " 0 0 0 99 0\n";
    }
    write("/proc/stat", text + "intr 1\n");
  }
  void in_group_of_version_2(const std::string& path) {
    write("/proc/self/cgroup", "0::" + path + "\n");
    write("/proc/self/mountinfo", "30 20 0:26 / /cg rw shared:4 - cgroup2 cgroup2 rw\n");
  }
  void processes(const std::string& folder, int running, int asleep) {
    std::string list;
    for (int i = 0; i < running + asleep; ++i) {
      const std::string pid = std::to_string(++last_pid_);
      list += pid + "\n";
      write("/proc/" + pid + "/stat", pid + " (a) R b) " + (i < running ? "R" : "S") + " 1 2 3\n");
    }
    write(folder + "/cgroup.procs", list);
  }

  testing::RootFolder folder_;
  const std::string& root_ = folder_.path();
  int last_pid_ = 100;
};

TEST_F(HostMeterTest, TakesTheIdleShareOfItsProcessorsAndCountsWaitingForDisksAsIdle) {
  HostMeter meter(root_);
  meter.begin(kBegin);
  processors_have_made(40, 50, 10);
  EXPECT_NEAR(*meter.read(kBegin + kSecond)[Fact::kIdle], 0.6, 1e-9);
}

TEST_F(HostMeterTest, CountsOtherProcessesOfTheMachinePerCore) {
  HostMeter meter(root_);
  meter.set_cores(2);
  meter.begin(kBegin);
  meter.look();  // Four processes run, including this one.
  write("/proc/loadavg", "0.20 0.18 0.12 2/80 11206\n");
  meter.look();
  EXPECT_DOUBLE_EQ(*meter.read(kBegin + kSecond)[Fact::kRunQueue], (3 + 1) / 2.0 / 2);
}

TEST_F(HostMeterTest, KnowsNothingOfWhatIsNotThere) {
  std::filesystem::remove_all(root_ + "/proc");
  HostMeter meter(root_);
  meter.begin(kBegin);
  const auto facts = meter.read(kBegin + kSecond);
  for (const Fact fact : {Fact::kIdle, Fact::kRunQueue, Fact::kMemory, Fact::kNetwork}) {
    EXPECT_FALSE(facts[fact]) << to_text(fact);
  }
}

TEST_F(HostMeterTest, HasNoIdleShareWithoutTime) {
  HostMeter meter(root_);
  meter.begin(kBegin);
  EXPECT_FALSE(meter.read(kBegin)[Fact::kIdle]);
}

TEST_F(HostMeterTest, IsThePartOfTheMachineThatAQuotaGrants) {
  in_group_of_version_2("/job/step");
  write("/cg/job/cpu.max", "50000 100000\n");     // Half a core,
  write("/cg/job/step/cpu.max", "max 100000\n");  // no further limit below.
  write("/cg/job/cpu.stat", "usage_usec 1000000\nnr_periods 10\nnr_throttled 0\n");
  processes("/cg/job", 0, 1);
  processes("/cg/job/step", 2, 3);
  HostMeter meter(root_);
  meter.set_cores(8);
  meter.begin(kBegin);
  // In 2 s: 1 s is granted, 0.25 s used.
  write("/cg/job/cpu.stat", "usage_usec 1250000\nnr_periods 30\nnr_throttled 0\n");
  const auto facts = meter.read(kBegin + 2 * kSecond);
  EXPECT_DOUBLE_EQ(*facts[Fact::kCores], 0.5);
  EXPECT_NEAR(*facts[Fact::kIdle], 0.75, 1e-9);
  EXPECT_NEAR(*facts[Fact::kRunQueue], (2 - 1) / 0.5, 1e-9) << "without the one that looks";
}

TEST_F(HostMeterTest, IsNotIdleWhileItIsThrottled) {
  in_group_of_version_2("/job");
  write("/cg/job/cpu.max", "50000 100000\n");
  write("/cg/job/cpu.stat", "usage_usec 0\nnr_throttled 5\n");
  HostMeter meter(root_);
  meter.begin(kBegin);
  // 20 periods of 0.1 s. In 15 of them the grant was used up, although half of all grants was left.
  write("/cg/job/cpu.stat", "usage_usec 500000\nnr_throttled 20\n");
  EXPECT_NEAR(*meter.read(kBegin + 2 * kSecond)[Fact::kIdle], 0.25, 1e-9);
}

TEST_F(HostMeterTest, ReadsControlGroupsOfVersion1) {
  write("/proc/self/cgroup", "3:cpuset:/\n2:cpuacct:/h\n1:cpu:/h\n4:memory:/m\n0::/h\n");
  write("/proc/self/mountinfo",
        "1 0 0:1 / /old/cpu rw - cgroup cgroup rw,cpu\n"
        "2 0 0:1 / /cpu rw - cgroup cgroup rw,cpu\n"
        "3 0 0:2 / /acct rw - cgroup cgroup rw,cpuacct\n"
        "4 0 0:3 / /memory rw - cgroup cgroup rw,memory\n");
  write("/cpu/h/cpu.cfs_quota_us", "200000\n");
  write("/cpu/h/cpu.cfs_period_us", "100000\n");
  write("/cpu/h/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
  write("/acct/h/cpuacct.usage", "0\n");
  write("/memory/m/memory.limit_in_bytes", "3221225472\n");  // 3 GiB
  write("/memory/m/memory.usage_in_bytes", "2147483648\n");
  write("/memory/m/memory.stat", "inactive_file 1\ntotal_inactive_file 536870912\n");
  HostMeter meter(root_);
  meter.set_cores(16);
  meter.begin(kBegin);
  write("/acct/h/cpuacct.usage", "500000000\n");
  const auto facts = meter.read(kBegin + kSecond);
  EXPECT_DOUBLE_EQ(*facts[Fact::kCores], 2);
  EXPECT_NEAR(*facts[Fact::kIdle], 0.75, 1e-9);
  EXPECT_NEAR(*facts[Fact::kMemory], 1.5, 1e-9) << "3 less 2, of which 0.5 can be had back";
}

TEST_F(HostMeterTest, HasTheMemoryThatIsAvailableWhereNoLimitLeavesLess) {
  in_group_of_version_2("/job");
  write("/cg/job/memory.max", "max\n");
  write("/cg/job/memory.current", "5\n");
  HostMeter meter(root_);
  meter.begin(kBegin);
  EXPECT_DOUBLE_EQ(*meter.read(kBegin + 1)[Fact::kMemory], 4);
  write("/cg/job/memory.max", "1073741824\n");
  write("/cg/job/memory.current", "2147483648\n");
  EXPECT_DOUBLE_EQ(*meter.read(kBegin + 2)[Fact::kMemory], 0) << "over its limit";
}

TEST_F(HostMeterTest, OfTooManyProcessesALookReadsAPartAndTheNextOneTheRest) {
  in_group_of_version_2("/job");
  write("/cg/job/cpu.max", "200000 100000\n");
  std::string list;
  for (int i = 0; i < 256; ++i) {  // Each second one runs.
    processes("/cg/other", i % 2, 1 - i % 2);
    list += std::to_string(last_pid_) + "\n";
  }
  write("/cg/job/cgroup.procs", list);
  HostMeter meter(root_);
  meter.begin(kBegin);
  meter.look();
  EXPECT_DOUBLE_EQ(*meter.read(kBegin + kSecond)[Fact::kRunQueue], 0);
  meter.look();
  EXPECT_DOUBLE_EQ(*meter.read(kBegin + kSecond)[Fact::kRunQueue], (0 + 255) / 2.0 / 2);
}

TEST_F(HostMeterTest, OfTooManyGroupsOnlyTheFirstAreLookedInto) {
  in_group_of_version_2("/job");
  write("/cg/job/cpu.max", "200000 100000\n");
  for (int step = 0; step < 100; ++step) {
    processes("/cg/job/step" + std::to_string(step), 1, 0);
  }
  HostMeter meter(root_);
  meter.begin(kBegin);
  EXPECT_DOUBLE_EQ(*meter.read(kBegin + kSecond)[Fact::kRunQueue], (63 - 1) / 2.0);
}

TEST(GroupFolders, DoNotTakeAnotherGroupForTheirOwn) {
  EXPECT_EQ(
      group_folders("cpu", "0::/docker/77/x\n", "30 20 0:26 /docker/7 /cg rw - cgroup2 none rw\n"),
      (std::vector<std::string>{"/cg"}));
}

TEST(GroupFolders, BeginWithOwnGroupAndClimb) {
  EXPECT_EQ(group_folders("cpu", "0::/a/b\n", "30 20 0:26 / /cg rw - cgroup2 none rw\n"),
            (std::vector<std::string>{"/cg/a/b", "/cg/a", "/cg"}));
}

TEST(GroupFolders, KnowContainersWhoseMountBeginsInTheMiddle) {
  const char* mounts = "30 20 0:26 /docker/7 /cg rw - cgroup2 none rw\n";
  EXPECT_EQ(group_folders("cpu", "0::/docker/7/x\n", mounts),
            (std::vector<std::string>{"/cg/x", "/cg"}));
  EXPECT_EQ(group_folders("cpu", "0::/\n", mounts), (std::vector<std::string>{"/cg"}));
}

TEST(GroupFolders, AreNoneOfTextsThatSayNothing) {
  for (const char* text : {"", "x", "::", "1:cpu", "\n\n", "0::/a"}) {
    EXPECT_TRUE(group_folders("cpu", text, "30 20 0:26 / - cgroup2\n - \n").empty()) << text;
  }
}

TEST(CoreCount, IsThatOfTheKernelsMaskAtMost) {
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  CoreCount count;
  ASSERT_TRUE(count.start());
  const auto cores = count.collect();  // Waits: the pipe blocks.
  ASSERT_TRUE(cores);
  EXPECT_GE(*cores, 1);
  EXPECT_LE(*cores, static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_LT(count.fd(), 0);
}

TEST(CoreCount, CountsCoresNotTheirThreads) {
  ASSERT_EQ(::setenv("HWLOC_SYNTHETIC", "core:6 pu:2", 1), 0);
  CoreCount count;
  const auto started = count.start();
  const auto cores = count.collect();
  ::unsetenv("HWLOC_SYNTHETIC");
  ASSERT_TRUE(started);
  EXPECT_EQ(cores, 6);
}

TEST(NetworkRate, IsNotKnownOfLoopbackNorOfNowhere) {
  EXPECT_FALSE(network_rate("127.0.0.1"));
  EXPECT_FALSE(network_rate("no address"));
  EXPECT_FALSE(interface_rate("xylem-none"));
}

}  // namespace
}  // namespace xylem::backend
