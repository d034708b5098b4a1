#pragma once

// When an agent measures its host, and what it tells of it.

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
  /// `idle` of the first report is that of so long: some periods of a CPU quota, some ticks of the
  /// kernel's clock. Each later one is that of the time since the one before.
  Nanos first_interval = 300 * kMillisecond;
  /// The run queue is looked at so often at most while the last `first_interval` before a report
  /// lasts: where nobody waits for the report when that time begins, when there is something else
  /// to do, and with the report.
  Nanos look_interval = 50 * kMillisecond;
  /// The first report where nobody waits for it.
  Nanos unhurried = 1 * kSecond;
  /// Cores that hwloc has not counted for so long are told as the kernel's mask has them.
  Nanos count_patience = 1 * kSecond;
};

/// Measures as often as control says: at once after reaching a front end that waits for it
/// (Control.factsAtOnce), else a while after control has come; then regularly. Costs nothing
/// before, so that a start stays fast. hwloc is asked once, in a child (core_count.h).
///
/// Order of calls: start(); then what happens, in any order. One thread; the network is borrowed.
class HostWatch {
 public:
  explicit HostWatch(HostWatchOptions options = {});

  void start(overlay::Network& network) { network_ = &network; }
  /// A link to the front end has come up: it may know nothing of this host.
  void meet_front_end(Nanos now);
  void configure(const wire::Control& control, Nanos now);
  /// Of a link to the front end itself; 0: not known. The last one that is known is told.
  void note_round_trip(Nanos round_trip);
  /// A watched descriptor is readable; false when it is not ours.
  bool on_readable(int fd);

  /// What is to be told now, if anything; not before the leaf has its number.
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
