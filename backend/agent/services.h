#pragma once

// The auxiliary services of a host: what the configuration names is measured by one back end of the
// host, each sample journalled like a window.

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
  std::string host;    ///< Name to show; told with each registration.
  std::string folder;  ///< The run's on this host, where services are elected; empty: no election.
  /// Stands before /proc and /sys, for tests.
  std::string root;
  /// While another back end of the host has a service, this one asks for it so often.
  Nanos election_interval = 1 * kSecond;
  /// Names of what a service measures may change, but not for ever: each set of them is told and
  /// stored. After so many, in the life of a worker, the last one stays, and names that are not in
  /// it are left out, which is said once.
  std::size_t most_layouts = 64;
  /// When a sample is begun, which may be later than what run() is told: rates are of the time
  /// between two samples. Empty: what run() is told.
  std::function<Nanos()> clock;
  /// Of the guard, borrowed; null: what a program has started outlives a killed worker.
  ProgramGroups* programs = nullptr;
};

/// Order of calls: start(); add() and remove() as processes come and go; configure() when leaf and
/// control are known and with each change; then run() whenever next_due() has come, and the
/// descriptors that it has watched; finish() at the end, until it is true. One thread, nothing
/// blocks. Journal and network are borrowed.
///
/// Samples are taken when the run's time is a multiple of the interval, on all hosts at once, and
/// at the begin and the end. Each has a number, counted in the journal before it is journalled: one
/// that does not come to an entry, since there was no room or since the worker died over it, is
/// told as lost with the next that does. Which services this back end has, names and layouts go
/// ahead in registrations, again after a death of the worker; a service is told of when this back
/// end has come to have it, whether or not it ever gives a sample.
class Services final : public ProcessWatch {
 public:
  Services(ServicesOptions options, Journal& journal);
  ~Services() override;
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  void start(overlay::Network& network) { network_ = &network; }
  /// The services of `control`. What it names stays as it is for the run: later changes of a
  /// service's interval or program are not looked at.
  void configure(LeafId leaf, const wire::Control& control);
  /// This host's monotonic clock + offset = the front end's.
  void set_offset(Nanos offset_ns) { offset_ns_ = offset_ns; }

  void run(Nanos now);
  /// When run() has something to do; 0: nothing to do at any time.
  Nanos next_due() const;
  /// False when the descriptor is not watched by a service.
  bool on_readable(int fd, Nanos now);

  /// The last samples; from then on nobody measures here. False while the journal is full: call it
  /// again.
  bool finish(Nanos now);
  /// Somebody came after all: services go on.
  void resume() { finished_ = false; }

  /// Packets journalled since the last call, in order.
  std::vector<PacketKey> take_appended();

  void add(const wire::ProcessRow& row, Announced announced) override;
  void remove(Lane lane) override;

 private:
  struct Service;

  std::unique_ptr<SeriesSource> make_source(const wire::ServiceSpec& spec, Lane of);
  Nanos run_time(Nanos monotonic) const { return monotonic + offset_ns_ - control_.epoch_ns; }
  /// `now`, or later by what has been done since.
  Nanos time_of_begin(Nanos now) const;
  void run(Service& service, Nanos now);
  void take(Service& service, Nanos now);
  bool put(Service& service, const Reading& reading);
  bool tell_lost(Service& service);
  bool announce_processes();
  bool announce(std::vector<wire::SeriesLayout> layouts);
  bool give_names(Service& service, const Reading& reading, wire::SeriesSample& sample);
  bool append(Draft draft);
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
  ProcessSeries* processes_ = nullptr;  // Of the service `process`, if this run has it.
  std::vector<wire::ProcessRow> to_announce_;
  std::vector<PacketKey> appended_;
};

}  // namespace xylem::backend
