// The services `host` and `process` over recorded files, and over this host against other readings.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "backend/host_series.h"
#include "backend/process_series.h"
#include "base/log.h"
#include "tests/support/fake_network.h"

namespace xylem::backend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class HostSeriesTest : public ::testing::Test {
 protected:
  HostSeriesTest() {
    std::string name = "/tmp/xylem-host-test-XXXXXX";
    root_ = ::mkdtemp(name.data());
    set_log_sink([this](Level, std::string_view line) { said_.emplace_back(line); });
  }
  ~HostSeriesTest() override {
    set_log_sink({});
    std::filesystem::remove_all(root_);
  }
  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  /// Name -> value, as the store's views compute it.
  std::map<std::string, double> sample(SeriesSource& source, Nanos now, std::size_t entry = 0) {
    source.begin(network_, now);
    const auto reading = source.take(network_, now);
    std::map<std::string, double> values;
    if (!reading || reading->entries.size() <= entry) return values;
    const auto& numbers = reading->entries[entry].numbers;
    EXPECT_EQ(numbers.size(), source.layout().rows.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const wire::MetricRow& row = source.layout().rows[i];
      const double span = static_cast<double>(reading->span_ns) / 1e9;
      values[row.name] = numbers[i] * row.scale / (row.per_second ? span : 1);
    }
    return values;
  }

  std::string root_;
  std::vector<std::string> said_;
  testing::FakeNetwork network_;
};

TEST_F(HostSeriesTest, RecordedFilesGiveTheNumbersThatStandInThem) {
  file("/proc/stat",
       "cpu  100 0 50 1000 5 0 1 0 0 0\ncpu0 100 0 50 1000 5 0 1 0 0 0\n"
       "intr 5000 1 2\nctxt 900\nbtime 1\nprocesses 77\nprocs_running 3\n"
       "procs_blocked 1\nsoftirq 50 1 2 3 4 5 6 7 8 9 10\n");
  file("/proc/loadavg", "0.52 1.25 2.00 3/123 4567\n");
  file("/proc/meminfo", "MemTotal:       16000 kB\nHugePages_Total:       4\n");
  file("/proc/net/dev", "head\nhead\n  eth0:1000 10 1 2 0 0 0 0 500 5 0 0 0 0 0 0\n");
  file("/proc/pressure/io", "some avg10=1.50 avg60=0.00 avg300=0.00 total=1000000\n");
  file("/proc/diskstats",
       " 8 0 sda 10 1 100 20 5 2 40 30 2 25 60\n 7 0 loop0 9 9 9 9 9 9 9 9 9 9\n");
  HostSeries host(root_);
  auto first = sample(host, kSecond);
  EXPECT_TRUE(std::isnan(first.at("cpu.user"))) << "a rate of one reading";
  EXPECT_EQ(first.at("load.1m"), 0.52);
  EXPECT_EQ(first.at("tasks.existing"), 123);
  EXPECT_EQ(first.at("tasks.running"), 3);
  EXPECT_EQ(first.at("memory.MemTotal"), 16000);
  EXPECT_EQ(first.at("memory.HugePages_Total"), 4);
  EXPECT_EQ(first.at("pressure.io.some.avg10"), 1.5);
  EXPECT_EQ(first.at("disk.sda.in_flight"), 2);
  EXPECT_FALSE(first.contains("disk.loop0.reads"));

  file("/proc/stat",
       "cpu  150 0 50 1100 5 0 1 0 0 0\ncpu0 150 0 50 1100 5 0 1 0 0 0\n"
       "intr 5600 1 2\nctxt 920\nbtime 1\nprocesses 77\nprocs_running 3\n"
       "procs_blocked 1\nsoftirq 50 1 2 3 4 5 6 7 8 9 10\n");
  file("/proc/net/dev", "head\nhead\n  eth0:5000 10 1 2 0 0 0 0 500 5 0 0 0 0 0 0\n");
  file("/proc/pressure/io", "some avg10=1.50 avg60=0.00 avg300=0.00 total=1400000\n");
  file("/proc/diskstats", " 8 0 sda 10 1 104 20 5 2 40 30 2 225 60\n");
  const auto second = sample(host, 3 * kSecond);  // Two seconds later.
  EXPECT_EQ(second.at("cpu0.user"), 25);
  EXPECT_EQ(second.at("cpu.idle"), 50);
  EXPECT_EQ(second.at("interrupts"), 300);
  EXPECT_EQ(second.at("context_switches"), 10);
  EXPECT_EQ(second.at("forks"), 0);
  EXPECT_EQ(second.at("net.eth0.rx_bytes"), 2000);
  EXPECT_EQ(second.at("net.eth0.rx_packets"), 0);
  EXPECT_DOUBLE_EQ(second.at("pressure.io.some.share"), 20);
  EXPECT_EQ(second.at("disk.sda.read_bytes"), 4 * 512 / 2);
  EXPECT_DOUBLE_EQ(second.at("disk.sda.busy"), 10);
}

TEST_F(HostSeriesTest, WhatIsMissingIsSaidOnceAndTheRestGoesOn) {
  file("/proc/loadavg", "0.52 1.25 2.00 3/123 4567\n");
  HostSeries host(root_);
  for (Nanos at = kSecond; at < 4 * kSecond; at += kSecond) {
    EXPECT_EQ(sample(host, at).at("load.5m"), 1.25);
  }
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_[0], HasSubstr("/proc/meminfo (No such file or directory)"));
  EXPECT_THAT(said_[0], Not(HasSubstr("loadavg")));
}

TEST_F(HostSeriesTest, AKernelWithoutSchedulerStatisticsIsNoTrouble) {
  HostSeries host(root_);
  sample(host, kSecond);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_[0], Not(HasSubstr("schedstat")));
}

TEST_F(HostSeriesTest, StatesOfTheMemoryAreNoRates) {
  file("/proc/vmstat",
       "nr_free_pages 100\nworkingset_nodes 40\nnr_dirtied 10\nnr_tlb_remote_flush 5\n");
  HostSeries host(root_);
  sample(host, kSecond);
  const auto second = sample(host, 2 * kSecond);
  EXPECT_EQ(second.at("vmstat.nr_free_pages"), 100);
  EXPECT_EQ(second.at("vmstat.workingset_nodes"), 40);
  EXPECT_EQ(second.at("vmstat.nr_dirtied"), 0);
  EXPECT_EQ(second.at("vmstat.nr_tlb_remote_flush"), 0);
}

TEST_F(HostSeriesTest, AnInterfaceThatComesIsAnotherLayoutAndNoFalseRates) {
  file("/proc/net/dev", "head\nhead\n eth1: 1000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  HostSeries host(root_);
  sample(host, kSecond);
  const std::uint64_t before = key_of(host.layout());
  file("/proc/net/dev",
       "head\nhead\n eth0: 900000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
       " eth1: 3000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  auto changed = sample(host, 2 * kSecond);
  EXPECT_NE(key_of(host.layout()), before);
  EXPECT_TRUE(std::isnan(changed.at("net.eth0.rx_bytes")));
  EXPECT_TRUE(std::isnan(changed.at("net.eth1.rx_bytes")));
  file("/proc/net/dev",
       "head\nhead\n eth0: 900001 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
       " eth1: 3004 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  changed = sample(host, 3 * kSecond);
  EXPECT_EQ(changed.at("net.eth0.rx_bytes"), 1);
  EXPECT_EQ(changed.at("net.eth1.rx_bytes"), 4);
}

std::map<std::string, double> own_reading(const char* path) {
  std::map<std::string, double> values;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    char key[128];
    double number = 0;
    if (std::sscanf(line.c_str(), "%127[^: ]%*[: ]%lf", key, &number) == 2) values[key] = number;
  }
  return values;
}

TEST_F(HostSeriesTest, ThisHostIsToldWithTwoHundredValuesThatOthersReadToo) {
  HostSeries host;
  sample(host, kSecond);
  const auto before = own_reading("/proc/vmstat");
  const auto values = sample(host, 2 * kSecond);
  const auto after = own_reading("/proc/vmstat");
  std::size_t known = 0;
  for (const auto& [name, value] : values) known += !std::isnan(value);
  EXPECT_GE(known, 200u);
  const auto memory = own_reading("/proc/meminfo");
  EXPECT_EQ(values.at("memory.MemTotal"), memory.at("MemTotal"));
  EXPECT_NEAR(values.at("memory.MemFree"), memory.at("MemFree"), 0.5 * memory.at("MemTotal"));
  EXPECT_LE(values.at("vmstat.pgfault"), after.at("pgfault"));
  EXPECT_GE(after.at("pgfault"), before.at("pgfault"));
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  EXPECT_NEAR(values.at("load.1m"), load, 0.2 + 0.2 * load);
  const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  EXPECT_TRUE(values.contains("cpu" + std::to_string(processors - 1) + ".idle"));
}

TEST_F(HostSeriesTest, AProcessIsToldAsTheSystemTellsOfIt) {
  ProcessSeries processes;
  processes.add(Lane{3}, static_cast<std::uint32_t>(::getpid()));
  sample(processes, kSecond);
  std::vector<char> touched(64u << 20);
  for (std::size_t i = 0; i < touched.size(); i += 4096) touched[i] = 1;
  const clock_t begin = std::clock();
  while (std::clock() - begin < CLOCKS_PER_SEC / 4) touched[0]++;
  const auto values = sample(processes, 2 * kSecond);
  const auto status = own_reading("/proc/self/status");
  EXPECT_NEAR(values.at("memory.resident"), status.at("VmRSS"), 4096);
  EXPECT_GE(values.at("memory.resident"), 65536);
  EXPECT_EQ(values.at("threads"), status.at("Threads"));
  EXPECT_GE(values.at("faults.minor"), 10);
  EXPECT_GE(values.at("cpu.user") + values.at("cpu.system"), 20);  // A quarter of "a second".
  EXPECT_EQ(values.at("running"), 1);
}

TEST_F(HostSeriesTest, AProcessThatIsGoneIsLeftOut) {
  ProcessSeries processes;
  processes.add(Lane{1}, 0x7ffffff0);
  processes.add(Lane{2}, static_cast<std::uint32_t>(::getpid()));
  processes.begin(network_, kSecond);
  const auto reading = processes.take(network_, kSecond);
  ASSERT_EQ(reading->entries.size(), 1u);
  EXPECT_EQ(reading->entries[0].lane, Lane{2});
  processes.remove(Lane{2});
  processes.begin(network_, 2 * kSecond);
  EXPECT_TRUE(processes.take(network_, 2 * kSecond)->entries.empty());
}

/// A line of /proc/PID/stat whose 42nd field, waiting for storage, is `ticks`.
std::string stat_line(int ticks) {
  std::string line = "7 (app) R";
  for (int field = 4; field < 42; ++field) line += " 1";
  return line + " " + std::to_string(ticks) + " 0 0\n";
}

TEST_F(HostSeriesTest, WaitingForStorageIsKnownWhereTheKernelCountsIt) {
  const auto wait = [this](const char* switched, int before, int after) {
    std::filesystem::remove_all(root_ + "/proc");
    if (*switched != 0) file("/proc/sys/kernel/task_delayacct", switched);
    ProcessSeries processes(root_);
    processes.add(Lane{1}, 7);
    file("/proc/7/stat", stat_line(before));
    sample(processes, kSecond);
    file("/proc/7/stat", stat_line(after));
    return sample(processes, 2 * kSecond).at("io.wait");
  };
  EXPECT_TRUE(std::isnan(wait("0\n", 0, 0)));
  EXPECT_EQ(wait("1\n", 0, 0), 0);
  EXPECT_GT(wait("1\n", 0, 9), 0);
  EXPECT_TRUE(std::isnan(wait("", 0, 0))) << "a kernel that does not say and may not count";
  EXPECT_GT(wait("", 3, 9), 0);
}

}  // namespace
}  // namespace xylem::backend
