#pragma once

// Measures the facts by which placement judges a host (placement/facts.h), for the part of it that
// its processes may use. Reads /proc and this process's control groups (v1 or v2), so that in a
// container, or with a part of a machine, the host is that part:
//
//   idle       with a CPU quota: 1 - time used / time granted, by the tightest group's counters,
//   and
//              at most 1 - throttled periods / periods; else the idle share of the processors that
//              this process may use
//   run_queue  per core: with a quota the group's runnable processes, else the machine's; the mean
//              of several looks
//   memory     MemAvailable, or what the tightest group's limit leaves, page cache not counted
//   cores      given (count_cores, core_count.h), or processors that this process may use; no more
//              than the quota grants, which may be less than one

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/host/control_group.h"
#include "base/clock.h"
#include "placement/facts.h"

namespace xylem::backend {

/// Not thread-safe. Reads small files; keeps none open. A look reads at most 128 of the group's
/// processes, in 64 groups. If there are more, each look takes a different sample.
class HostMeter {
 public:
  /// `root` is a prefix of every path, "" except in tests: ROOT/proc/self/cgroup and so on. Missing
  /// files give unknown facts.
  explicit HostMeter(std::string root = {});

  /// Sets the number of cores, as count_cores found it.
  void set_cores(double cores) { counted_cores_ = cores; }

  /// Begins an interval.
  void begin(Nanos now);
  /// Samples the run queue once more in this interval.
  void look();
  /// The facts of the interval so far; does not end it. `idle` is unknown if no time has passed or
  /// its source has gone meanwhile. Samples the run queue if look() was not called.
  placement::FactValues read(Nanos now);

 private:
  /// Counters as they stood.
  struct Times {
    Nanos at = 0;
    std::optional<double> group_used;  // Seconds of CPU time.
    std::optional<std::uint64_t> throttled;
    std::uint64_t idle = 0;  // Of the machine, in its ticks.
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
  std::vector<unsigned> processors_;  // That this process may use.
  OwnGroups groups_;                  // As they stood at the begin of the interval.
  std::vector<std::string> waiting_folders_;
  std::string quota_folder_;  // The group with the tightest quota; "": none.
  std::string usage_folder_;  // The same group's, with its counter of CPU time.
  double quota_ = 0;          // Cores.
  double period_ = 0;         // Seconds; of the quota.
  Times begun_;
  double waiting_sum_ = 0;
  unsigned looks_ = 0;
};

}  // namespace xylem::backend
