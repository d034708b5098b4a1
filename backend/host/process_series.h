#pragma once

// The service `process`: measurements of the job's processes on this host.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "backend/find/proc_file.h"
#include "backend/host/series_source.h"
#include "base/ids.h"

namespace xylem::backend {

/// Reads /proc/PID of each added process: four files per process and sample. One file of each
/// process stays open between samples. So the end of a process is noticed even if its pid is
/// reused. The other files stay open only if there are few processes. A process that has ended is
/// not read again. A process may be unreadable for another reason, for example because no
/// descriptor is free. Then the sample has no entry for this process. This is logged once, and the
/// next sample tries again. Values that this user has no permission to read are unknown; this is
/// also logged once. A sample has at most one entry per process. Not thread-safe.
class ProcessSeries final : public SeriesSource {
 public:
  /// `root` is a prefix of /proc, for tests.
  explicit ProcessSeries(std::string root = "")
      : root_(std::move(root)), delay_accounting_(root_ + "/proc/sys/kernel/task_delayacct") {}

  /// Measures a process from now on. If the lane already has a process, the new process replaces
  /// it.
  void add(Lane lane, std::uint32_t pid);
  /// Does nothing for an unknown lane.
  void remove(Lane lane) { processes_.erase(lane); }

  void begin(overlay::Network& network, Nanos now) override;
  std::optional<Reading> take(overlay::Network& network, Nanos now) override;
  const wire::SeriesLayout& layout() const override { return layout_; }

 private:
  struct Process {
    explicit Process(const std::string& folder);
    ProcFile stat, status, io, schedstat;
    Readout readout;
    // Start of the process in ticks since boot; empty: not read yet.
    std::optional<double> started;
  };
  enum class Outcome { kRead, kGone, kNotNow };

  Outcome read(Process& process);
  void read_numbers(Process& process);
  void read_stat(Process& process, std::string_view fields);
  void read_others(Process& process);

  std::string root_;
  std::map<Lane, Process> processes_;
  ProcFile delay_accounting_;
  // True if the kernel counts waits for storage; empty: unknown.
  std::optional<bool> counts_waits_;
  wire::SeriesLayout layout_{std::string(wire::kProcessService), {}};
  std::string text_;
  bool told_refused_ = false;
  bool told_not_now_ = false;
  Nanos last_ns_ = 0;
  std::optional<Reading> reading_;
};

}  // namespace xylem::backend
