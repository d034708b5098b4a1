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
  /// See HostMeter.
  std::string root;
  /// Gbit/s towards the front end; nullopt: not known.
  std::function<std::optional<double>()> network_rate = [] { return std::nullopt; };
  /// Interval for `idle` in the first report: some periods of a CPU quota, some ticks of the
  /// kernel's clock. In later reports it is the time since the previous report.
  Nanos first_interval = 300 * kMillisecond;
  /// Minimum time between samples of the run queue. They are taken during the last `first_interval`
  /// before a report; if the report is not awaited, only at its begin, when the agent wakes for
  /// other work, and with the report.
  Nanos look_interval = 50 * kMillisecond;
  /// Delay of the first report if the front end does not wait for it.
  Nanos unhurried = 1 * kSecond;
  /// If hwloc has not counted the cores after this long, the count of the kernel's mask is
  /// reported.
  Nanos count_patience = 1 * kSecond;
};

/// Measures at the interval in control. The first time is at once after reaching a front end that
/// waits for it (Control.factsAtOnce), else some time after control has come. It does nothing
/// before, so that the start stays fast. hwloc runs once, in a child (core_count.h).
///
/// Order of calls: start(); then the others in any order. One thread; the network is borrowed.
class HostWatch {
 public:
  explicit HostWatch(HostWatchOptions options = {});

  void start(overlay::Network& network) { network_ = &network; }
  /// A link to the front end has come up; the front end may not have this host's facts.
  void meet_front_end(Nanos now);
  void configure(const wire::Control& control, Nanos now);
  /// For a link directly to the front end; 0: unknown. The last known value is reported.
  void note_round_trip(Nanos round_trip);
  /// A watched descriptor is readable; false when it is not ours.
  bool on_readable(int fd);

  /// The facts to report now, if any; not before the leaf has its id.
  std::optional<wire::HostFacts> on_timer(LeafId leaf, Nanos now);
  /// When on_timer() has something to do; 0: not before something happens.
  Nanos next_due() const;

 private:
  void report_at(Nanos when, bool is_awaited);
  void begin(Nanos now);
  wire::HostFacts facts(LeafId leaf, Nanos now);

  HostWatchOptions options_;
  HostMeter meter_;
  CoreCount core_count_;
  overlay::Network* network_ = nullptr;  // Valid from start() on.
  Nanos interval_ = 0;                   // 0: nothing is measured.
  bool at_once_ = false;
  bool front_end_is_new_ = false;
  bool has_counted_ = false;  // Cores: begun, at least.
  bool is_measuring_ = false;
  bool is_awaited_ = false;  // The next report.
  bool has_looked_ = false;  // Since the last one.
  Nanos next_report_ = 0;
  Nanos next_look_ = 0;
  Nanos round_trip_ = 0;
};

}  // namespace xylem::backend
