#pragma once

// Measures the facts by which placement judges a host (placement/facts.h). Reads /proc and this
// process's control groups (v1 or v2). So in a container, or if processes may use only a part of
// the machine, the facts describe only that part:
//
//   idle       With a CPU quota: 1 - time used / time granted, from the counters of the group with
//              the tightest quota, but at most 1 - throttled periods / periods. Without a quota:
//              the idle share of the processors that this process may use.
//   run_queue  Runnable processes per core, mean of several looks. With a quota these are the
//              group's processes, else the machine's.
//   memory     MemAvailable, or what the tightest group's limit leaves free, if that is less. Page
//              cache does not count as used.
//   cores      The number given to set_cores(), else the processors that this process may use. At
//              most what the quota grants, which may be less than one.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/host/control_group.h"
#include "base/clock.h"
#include "placement/facts.h"

namespace xylem::backend {

/// Not thread-safe. Reads small files; keeps none open. A look at the run queue reads at most 128
/// processes of the group, in 64 groups. If there are more, each look takes a different sample.
class HostMeter {
 public:
  /// `root` is a prefix of every path, for tests: ROOT/proc/self/cgroup and so on. If a file is
  /// missing, its facts are unknown.
  explicit HostMeter(std::string root = {});

  /// Sets the number of cores that count_cores() has found.
  void set_cores(double cores) { counted_cores_ = cores; }

  /// Begins an interval.
  void begin(Nanos now);
  /// Takes a sample of the run queue in this interval.
  void look();
  /// The facts of the interval so far. The interval continues. `idle` is unknown if no time has
  /// passed or if its file has disappeared. If look() was not called, takes a sample of the run
  /// queue.
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
