#pragma once

// Schedules an agent's measurements of its host and makes the reports.

#include <functional>
#include <optional>
#include <string>

#include "backend/host/core_count.h"
#include "backend/host/host_meter.h"
#include "base/clock.h"
#include "base/ids.h"
#include "overlay/node.h"
#include "wire/message.h"

namespace xylem::backend {

struct HostWatchOptions {
  /// Prefix of all paths; see HostMeter.
  std::string root;
  /// Returns the network's rate towards the front end in Gbit/s; nullopt: unknown.
  std::function<std::optional<double>()> network_rate = [] { return std::nullopt; };
  /// Interval over which `idle` is measured for the first report. It must be longer than several
  /// periods of a CPU quota, and than several ticks of the kernel's clock. For later reports,
  /// `idle` is measured since the previous report.
  Nanos first_interval = 300 * kMillisecond;
  /// Minimum time between samples of the run queue. Samples are taken during the last
  /// `first_interval` before a report. If the front end does not wait for the report, the agent
  /// does not wake up for every sample. Then it takes samples at the begin of `first_interval`,
  /// when it wakes up for other work, and with the report.
  Nanos look_interval = 50 * kMillisecond;
  /// Delay of the first report if the front end does not wait for it. The delay is never longer
  /// than the interval of reports.
  Nanos unhurried = 1 * kSecond;
  /// A due report waits this long for hwloc to count the cores. After that, the report has the
  /// number of processors in the kernel's mask.
  Nanos count_patience = 1 * kSecond;
};

/// Measures at the interval that control sets. If the front end waits for the first report
/// (Control.factsAtOnce), the agent measures for it immediately. Otherwise it makes the first
/// report with a delay (HostWatchOptions::unhurried) after control, so that the start stays fast.
/// hwloc runs once, in a child (core_count.h).
///
/// Call start() first. Afterwards, call the other functions in any order. Not thread-safe; the
/// network is borrowed.
class HostWatch {
 public:
  explicit HostWatch(HostWatchOptions options = {});

  void start(overlay::Network& network) { network_ = &network; }
  /// Call it when a link to the front end has come up. This front end may be new, and then it does
  /// not have this host's facts yet.
  void meet_front_end(Nanos now);
  void configure(const wire::Control& control, Nanos now);
  /// Sets the round-trip time of a direct link to the front end; 0: unknown. Reports contain the
  /// last known value.
  void note_round_trip(Nanos round_trip);
  /// Call it when a watched descriptor is readable. False when the descriptor belongs to another
  /// object.
  bool on_readable(int fd);

  /// The facts to report now; empty if no report is due. Before the leaf has its id, no report is
  /// due.
  std::optional<wire::HostFacts> on_timer(LeafId leaf, Nanos now);
  /// When to call on_timer(); 0: not scheduled.
  Nanos next_due() const;

 private:
  void report_at(Nanos when, bool is_awaited);
  void begin(Nanos now);
  wire::HostFacts facts(LeafId leaf, Nanos now);

  HostWatchOptions options_;
  HostMeter meter_;
  CoreCount core_count_;
  overlay::Network* network_ = nullptr;  // Valid from start() on.
  Nanos interval_ = 0;                   // Interval of reports; 0: nothing is measured.
  bool at_once_ = false;
  bool front_end_is_new_ = false;
  bool has_counted_ = false;  // True when counting the cores has been started.
  bool is_measuring_ = false;
  bool is_awaited_ = false;  // The front end waits for the next report.
  bool has_looked_ = false;  // The run queue was sampled since the last report.
  Nanos next_report_ = 0;
  Nanos next_look_ = 0;
  Nanos round_trip_ = 0;
};

}  // namespace xylem::backend
