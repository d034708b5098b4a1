#pragma once

// Measures the facts about a host that placement uses (placement/facts.h). Reads /proc and this
// process's control groups (v1 or v2). In a container, or where control groups limit processes, the
// facts describe the part of the machine that this process may use, with the exception of
// `run_queue`:
//
//   idle       Without a CPU quota: the idle share of the processors that this process may use.
//              With a quota: the smaller one of `1 - time used / time granted` and
//              `1 - throttled periods / periods`, for the group with the tightest quota.
//   run_queue  Runnable processes per core, without this process: the mean of several samples.
//              With a quota, only processes of the group count; else all of the machine.
//   memory     The smaller one of MemAvailable and the least free memory within the limit of a
//              control group. Inactive page cache does not count as used.
//   cores      The number given to set_cores(); before that, the number of processors that this
//              process may use. A quota limits the number, possibly to less than one.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/host/control_group.h"
#include "base/clock.h"
#include "placement/facts.h"

namespace xylem::backend {

/// Not thread-safe. Reads small files and does not keep them open. With a quota, look() reads the
/// states of at most 128 processes. These processes are in the group with the tightest quota, and
/// in at most 63 groups below this group. If there are more processes, successive calls of look()
/// read different ones.
class HostMeter {
 public:
  /// `root` is a prefix of every path, for tests: ROOT/proc/self/cgroup and so on. If a file is
  /// missing, the facts from it are unknown.
  explicit HostMeter(std::string root = {});

  /// Sets the number of cores that count_cores() has found.
  void set_cores(double cores) { counted_cores_ = cores; }

  /// Begins an interval.
  void begin(Nanos now);
  /// Takes a sample of the run queue in this interval.
  void look();
  /// The facts of the interval so far. The interval continues. `idle` is unknown if no time has
  /// passed, or if the file with its counters has disappeared. If look() was not called in this
  /// interval, read() takes a sample of the run queue.
  placement::FactValues read(Nanos now);

 private:
  /// Counters at one moment.
  struct Times {
    Nanos at = 0;
    std::optional<double> group_used;  // Seconds of CPU time.
    std::optional<std::uint64_t> throttled;
    std::uint64_t idle = 0;  // Idle time of the machine, in ticks.
    std::uint64_t all = 0;
  };

  std::string read_file(const std::string& path) const;
  void find_quota();
  void find_waiting_folders();
  Times times(Nanos now) const;
  void add_machine_times(Times& times) const;
  std::optional<double> idle(const Times& now) const;
  std::optional<double> waiting() const;
  std::optional<double> memory() const;
  double cores() const;

  std::string root_;
  std::optional<double> counted_cores_;
  std::vector<unsigned> processors_;  // Processors that this process may use.
  OwnGroups groups_;                  // The groups at the begin of the interval.
  std::vector<std::string> waiting_folders_;
  std::string quota_folder_;  // The group with the tightest quota; "": none.
  std::string usage_folder_;  // Folder with the CPU time counter of the same group.
  double quota_ = 0;          // Cores.
  double period_ = 0;         // Period of the quota, in seconds.
  Times begun_;
  double waiting_sum_ = 0;
  unsigned looks_ = 0;
};

}  // namespace xylem::backend
