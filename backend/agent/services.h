#pragma once

// The auxiliary services of a host. The run's configuration names them. Each service is measured by
// one back end of the host. This back end writes each sample into its journal, as it does with
// windows.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/agent/process_watch.h"
#include "backend/agent/program_groups.h"
#include "backend/agent/service_lock.h"
#include "backend/host/process_series.h"
#include "backend/host/series_source.h"
#include "backend/leaf/journal.h"
#include "base/clock.h"
#include "base/ids.h"
#include "overlay/node.h"
#include "wire/message.h"
#include "wire/registration.h"

namespace xylem::backend {

struct ServicesOptions {
  std::string host;    ///< The host's displayed name, sent with each registration.
  std::string folder;  ///< The run's folder on this host. A file in it decides which back end
                       ///< measures a service; empty: this back end measures all services.
  /// Prefix of /proc and /sys, for tests.
  std::string root;
  /// Interval at which this back end tries to take over a service that another back end on the host
  /// measures.
  Nanos election_interval = 1 * kSecond;
  /// Maximum number of layouts of a service during the life of a worker. The number is limited
  /// because each layout is sent and stored. When the limit is reached, the last layout stays in
  /// use. Metrics that are not in this layout are left out, and this is logged once.
  std::size_t max_layouts = 64;
  /// The clock that gives the begin of a sample. A sample may begin later than the time passed to
  /// run(), and rates need the exact time. Without a clock, the time passed to run() is used.
  std::function<Nanos()> clock;
  /// The guard's process groups, borrowed. If null, a program's children are not killed when the
  /// worker is killed.
  ProgramGroups* programs = nullptr;
};

/// Call start() first. Call add() and remove() when processes register and end. Call configure()
/// when leaf and control are known, and when control changes. Then call run() at next_due(), and
/// on_readable() when a watched descriptor is readable. At the end call finish() until it returns
/// true. Not thread-safe. Nothing blocks, except that finish() may wait 20 ms for each running
/// program. Journal and network are borrowed.
///
/// Samples are taken when the run's time is a multiple of the interval. So they are taken at the
/// same time on all hosts. Samples are also taken at the begin. Built-in services also take a
/// sample at the end. The journal numbers each sample before the sample is written. If a sample
/// could not be journalled, the next sample reports it as lost. Before the samples, this back end
/// journals registrations with its services and their layouts. A worker that replaces a dead worker
/// journals these registrations again. A service is announced when this back end is elected to
/// measure it, even if the service never gives a sample.
class Services final : public ProcessWatch {
 public:
  Services(ServicesOptions options, Journal& journal);
  ~Services() override;
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  void start(overlay::Network& network) { network_ = &network; }
  /// Starts the services that `control` names. Later changes of a service's interval or program are
  /// ignored.
  void configure(LeafId leaf, const wire::Control& control);
  /// Sets the offset between clocks: time of the front end = monotonic time of this host + offset.
  void set_offset(Nanos offset_ns) { offset_ns_ = offset_ns; }

  void run(Nanos now);
  /// When to call run(); 0: never.
  Nanos next_due() const;
  /// False when no service watches the descriptor.
  bool on_readable(int fd, Nanos now);

  /// Takes the last samples of built-in services and ends measuring. Stops running programs without
  /// a sample. Returns false while the journal is full: then call finish() again.
  bool finish(Nanos now);
  /// Continues the services. Call it when a process has registered after finish().
  void resume() { finished_ = false; }

  /// Packets journalled since the last call, in order.
  std::vector<PacketKey> take_appended();

  void add(Lane lane, std::uint32_t pid) override;
  void remove(Lane lane) override;

 private:
  struct Service;

  std::unique_ptr<SeriesSource> make_source(const wire::ServiceSpec& spec, Lane of);
  Nanos run_time(Nanos monotonic) const { return monotonic + offset_ns_ - control_.epoch_ns; }
  /// The begin of a sample: the time of options_.clock, but not before `now`.
  Nanos time_of_begin(Nanos now) const;
  void run(Service& service, Nanos now);
  void take(Service& service, Nanos now);
  bool put(Service& service, const Reading& reading);
  bool tell_lost(Service& service);
  bool announce(std::vector<wire::SeriesLayout> layouts);
  bool give_names(Service& service, const Reading& reading, wire::SeriesSample& sample);
  bool append(const Draft& draft);
  wire::PacketId identity(StreamId stream, Lane lane, std::uint64_t wave, std::uint64_t end) const;

  ServicesOptions options_;
  Journal& journal_;
  overlay::Network* network_ = nullptr;
  LeafId leaf_ = wire::kNoLeaf;
  wire::Control control_;
  Nanos offset_ns_ = 0;
  bool configured_ = false;
  bool finished_ = false;

  std::vector<std::unique_ptr<Service>> services_;
  std::map<Lane, std::uint32_t> pids_;
  ProcessSeries* processes_ = nullptr;  // Source of the service `process`, if this run has it.
  std::vector<PacketKey> appended_;
};

}  // namespace xylem::backend
