// The services `host` and `process`, with recorded files, and on this host compared with other
// measurements.

#include "backend/host/host_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "backend/host/process_series.h"
#include "base/log.h"
#include "tests/support/fake_network.h"
#include "tests/support/root_folder.h"

namespace xylem::backend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class HostSeriesTest : public ::testing::Test {
 protected:
  HostSeriesTest() {
    set_log_sink([this](Level, std::string_view line) { said_.emplace_back(line); });
  }
  ~HostSeriesTest() override { set_log_sink({}); }
  void file(const std::string& path, const std::string& text) { folder_.write(path, text); }
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

  testing::RootFolder folder_;
  const std::string& root_ = folder_.path();
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

TEST_F(HostSeriesTest, AnInterfaceThatComesIsAnotherLayoutAndOnlyItsOwnRatesAreUnknown) {
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
  EXPECT_EQ(changed.at("net.eth1.rx_bytes"), 2000);
  file("/proc/net/dev",
       "head\nhead\n eth0: 900001 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
       " eth1: 3004 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  changed = sample(host, 3 * kSecond);
  EXPECT_EQ(changed.at("net.eth0.rx_bytes"), 1);
  EXPECT_EQ(changed.at("net.eth1.rx_bytes"), 4);
}

TEST_F(HostSeriesTest, AFileThatFailsNowAndThenMakesOnlyItsOwnNumbersUnknown) {
  const auto in_and_out = [this](int interrupts, int received) {
    file("/proc/stat", "intr " + std::to_string(interrupts) + "\n");
    file("/proc/net/dev",
         "head\nhead\n eth0: " + std::to_string(received) + " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  };
  file("/proc/vmstat", "pgfault 10\nnr_free_pages 5\n");
  in_and_out(100, 1000);
  HostSeries host(root_);
  sample(host, kSecond);
  const std::uint64_t layout = key_of(host.layout());
  file("/proc/vmstat", std::string(2u << 20, 'x'));  // More than is read of a file.
  for (int second = 2; second < 5; ++second) {
    in_and_out(100 * second, 1000 * second);
    const auto values = sample(host, second * kSecond);
    EXPECT_EQ(key_of(host.layout()), layout);
    EXPECT_TRUE(std::isnan(values.at("vmstat.pgfault")));
    EXPECT_TRUE(std::isnan(values.at("vmstat.nr_free_pages")));
    EXPECT_EQ(values.at("interrupts"), 100);
    EXPECT_EQ(values.at("net.eth0.rx_bytes"), 1000);
  }
  file("/proc/vmstat", "pgfault 30\nnr_free_pages 6\n");
  auto values = sample(host, 5 * kSecond);
  EXPECT_TRUE(std::isnan(values.at("vmstat.pgfault"))) << "of five seconds, not of one";
  EXPECT_EQ(values.at("vmstat.nr_free_pages"), 6);
  file("/proc/vmstat", "pgfault 37\nnr_free_pages 6\n");
  values = sample(host, 6 * kSecond);
  EXPECT_EQ(values.at("vmstat.pgfault"), 7);
  EXPECT_EQ(key_of(host.layout()), layout);
}

// A slow model: the value of each name in the readout before.
TEST(Readout, CountersGrowByNameWhateverComesGoesOrFails) {
  constexpr unsigned kSeed = 20261122;
  std::mt19937 random(kSeed);
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", trial " << trial);
    wire::SeriesLayout layout;
    Readout readout;
    std::map<std::string, double> before;
    struct Part {
      std::size_t first = 0;
      std::vector<std::string> names;
    };
    std::vector<Part> parts(1 + random() % 4);
    for (int round = 0; round < 12; ++round) {
      readout.begin(layout);
      std::map<std::string, double> now;
      std::vector<std::string> names;
      std::vector<double> expected;
      for (std::size_t p = 0; p < parts.size(); ++p) {
        Part& part = parts[p];
        const std::size_t first = readout.size();
        if (random() % 4 == 0) {
          readout.unknown(part.first, part.names.size());
          expected.resize(expected.size() + part.names.size(), std::nan(""));
        } else {
          part.names.clear();
          for (int i = 0; i < 5; ++i) {
            if (random() % 5 == 0) continue;
            const std::string name = std::to_string(p) + "." + std::to_string(i);
            const double count = static_cast<double>(random() % 100);
            part.names.push_back(name);
            if (i == 0) {
              readout.gauge(name, "", "", "", 1, count);
              expected.push_back(count);
              continue;
            }
            readout.counter(name, "", "", "", 1, count);
            const bool known = before.contains(name) && count >= before[name];
            expected.push_back(known ? count - before[name] : std::nan(""));
            now[name] = count;
          }
        }
        part.first = first;
        names.insert(names.end(), part.names.begin(), part.names.end());
      }
      readout.end();
      ASSERT_EQ(layout.rows.size(), names.size());
      for (std::size_t i = 0; i < names.size(); ++i) {
        ASSERT_EQ(layout.rows[i].name, names[i]);
        const double got = readout.numbers().at(i);
        ASSERT_TRUE(got == expected[i] || (std::isnan(got) && std::isnan(expected[i])))
            << names[i] << " in round " << round << ": " << got << ", not " << expected[i];
      }
      before = now;
    }
  }
}

TEST_F(HostSeriesTest, TheControlGroupIsFoundWhereItIsMounted) {
  file("/proc/self/cgroup", "0::/outer/job\n");
  file("/proc/self/mountinfo", "30 20 0:26 /outer /strange/place rw - cgroup2 none rw\n");
  file("/strange/place/job/cpu.stat", "usage_usec 1000000\nnr_periods 4\n");
  file("/strange/place/job/memory.current", "4096\n");
  HostSeries host(root_);
  sample(host, kSecond);
  file("/strange/place/job/cpu.stat", "usage_usec 1500000\nnr_periods 5\n");
  const auto values = sample(host, 2 * kSecond);
  EXPECT_DOUBLE_EQ(values.at("cgroup.usage"), 50);
  EXPECT_EQ(values.at("cgroup.nr_periods"), 1);
  EXPECT_EQ(values.at("cgroup.memory"), 4096);
}

TEST_F(HostSeriesTest, ControlGroupsOfTheFirstVersionTellTheSame) {
  file("/proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/job\n4:memory:/job\n0::/other\n");
  file("/proc/self/mountinfo",
       "2 0 0:1 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
       "4 0 0:3 / /cg/memory rw - cgroup cgroup rw,memory\n");
  file("/cg/cpu/job/cpuacct.usage", "1000000000\n");
  file("/cg/cpu/job/cpu.stat", "nr_periods 4\nnr_throttled 1\nthrottled_time 0\n");
  file("/cg/memory/job/memory.usage_in_bytes", "8192\n");
  HostSeries host(root_);
  sample(host, kSecond);
  file("/cg/cpu/job/cpuacct.usage", "1250000000\n");
  file("/cg/cpu/job/cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 100000000\n");
  const auto values = sample(host, 2 * kSecond);
  EXPECT_DOUBLE_EQ(values.at("cgroup.usage"), 25);
  EXPECT_DOUBLE_EQ(values.at("cgroup.throttled"), 10);
  EXPECT_EQ(values.at("cgroup.nr_throttled"), 2);
  EXPECT_EQ(values.at("cgroup.memory"), 8192);
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

/// A line of /proc/PID/stat whose 42nd field, waiting for storage, is `ticks`, and the 22nd, when
/// the process was started, `started`.
std::string stat_line(int ticks, int started = 1) {
  std::string line = "7 (app) R";
  for (int field = 4; field < 42; ++field) {
    line += " " + std::to_string(field == 22 ? started : 1);
  }
  return line + " " + std::to_string(ticks) + " 0 0\n";
}

TEST_F(HostSeriesTest, AProcessThatCannotBeReadNowIsToldOfOnceAndTriedAgain) {
  ProcessSeries processes(root_);
  processes.add(Lane{1}, 7);
  file("/proc/7/stat", stat_line(0));
  EXPECT_EQ(sample(processes, kSecond).at("threads"), 1);
  for (int second = 2; second < 4; ++second) {
    file("/proc/7/stat", std::string(2u << 20, 'x'));
    EXPECT_TRUE(sample(processes, second * kSecond).empty());
  }
  file("/proc/7/stat", stat_line(0));
  auto values = sample(processes, 4 * kSecond);
  EXPECT_EQ(values.at("threads"), 1);
  EXPECT_TRUE(std::isnan(values.at("cpu.user"))) << "of three seconds, not of one";
  EXPECT_EQ(sample(processes, 5 * kSecond).at("cpu.user"), 0);
  const auto is_of_it = [](const std::string& line) {
    return line.find("/proc/7/stat") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(said_, is_of_it), 1);
}

TEST_F(HostSeriesTest, AProcessThatTookTheNumberOfAnotherIsNotTakenForIt) {
  ProcessSeries processes(root_);
  processes.add(Lane{1}, 7);
  file("/proc/7/stat", stat_line(0));
  sample(processes, kSecond);
  file("/proc/7/stat", std::string(2u << 20, 'x'));  // The file is opened again after this.
  sample(processes, 2 * kSecond);
  constexpr int kLater = 99;
  file("/proc/7/stat", stat_line(0, kLater));
  EXPECT_TRUE(sample(processes, 3 * kSecond).empty());
  processes.add(Lane{1}, 7);
  EXPECT_TRUE(std::isnan(sample(processes, 4 * kSecond).at("cpu.user")));
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
