#include "backend/agent/services.h"

#include <algorithm>
#include <set>
#include <utility>

#include "backend/agent/exec_series.h"
#include "backend/host/host_series.h"
#include "base/log.h"
#include "wire/tombstone.h"

namespace xylem::backend {

struct Services::Service {
  Service(wire::ServiceSpec named, Lane number, ServiceLock taken_by)
      : spec(std::move(named)), lane(number), lock(std::move(taken_by)) {}
  wire::ServiceSpec spec;
  Lane lane;
  ServiceLock lock;
  std::unique_ptr<SeriesSource> source;  // Only while the lock is held.
  Nanos due = 0;                         // Next sample, or next attempt at the lock.
  bool had = false;                      // The lock was held at some time.
  bool announced = false;                // A registration says that the lock is held.
  std::set<std::uint64_t> told;          // Keys of layouts that are in a registration.
  wire::SeriesLayout last_told;
  bool told_limit = false;  // The log says that there are too many layouts.
  bool unknown = false;     // This version does not know the service.
  bool was_full = false;    // Samples are missing because the journal was full.
};

Services::Services(ServicesOptions options, Journal& journal)
    : options_(std::move(options)), journal_(journal) {}
Services::~Services() = default;

void Services::configure(LeafId leaf, const wire::Control& control) {
  leaf_ = leaf;
  control_ = control;
  control_.window_ns = std::max<Nanos>(control_.window_ns, kMillisecond);
  configured_ = true;
  for (std::size_t i = services_.size(); i < control.services.size(); ++i) {
    const wire::ServiceSpec& spec = control.services[i];
    services_.push_back(std::make_unique<Service>(spec, Lane{static_cast<std::uint32_t>(i + 1)},
                                                  ServiceLock(options_.folder, spec.name)));
  }
}

std::unique_ptr<SeriesSource> Services::make_source(const wire::ServiceSpec& spec, Lane of) {
  if (!spec.program.empty()) {
    return std::make_unique<ExecSeries>(spec, options_.programs, raw(of) - 1);
  }
  if (spec.name == wire::kHostService) return std::make_unique<HostSeries>(options_.root);
  if (spec.name != wire::kProcessService) {
    // The front end has a later version.
    log(Level::kWarn, "this agent does not know a service", {{"service", spec.name}});
    return nullptr;
  }
  auto processes = std::make_unique<ProcessSeries>(options_.root);
  for (const auto& [lane, pid] : pids_) processes->add(lane, pid);
  processes_ = processes.get();
  return processes;
}

// ---- processes ----

void Services::add(Lane lane, std::uint32_t pid) {
  pids_[lane] = pid;
  if (processes_ != nullptr) processes_->add(lane, pid);
}

void Services::remove(Lane lane) {
  pids_.erase(lane);
  if (processes_ != nullptr) processes_->remove(lane);
}

// ---- in time ----

void Services::run(Nanos now) {
  if (!configured_ || finished_) return;
  for (const auto& service : services_) run(*service, now);
}

Nanos Services::time_of_begin(Nanos now) const {
  return options_.clock ? std::max(now, options_.clock()) : now;
}

void Services::run(Service& service, Nanos now) {
  if (service.unknown) return;
  if (now >= service.due) {
    if (!service.lock.try_hold()) {
      service.due = now + options_.election_interval;
      return;
    }
    service.had = true;
    if (!service.announced) announce({});  // If the journal is full: with the next sample.
    if (!service.source) service.source = make_source(service.spec, service.lane);
    now = time_of_begin(now);
    const Nanos interval = service.spec.interval_ns;
    const Nanos past = run_time(now) % interval;
    service.due = now + interval - (past < 0 ? past + interval : past);
    service.unknown = service.source == nullptr;
    if (service.unknown) return;
    service.source->begin(*network_, now);
  }
  take(service, now);
}

void Services::take(Service& service, Nanos now) {
  if (!service.source) return;
  if (const auto reading = service.source->take(*network_, now)) put(service, *reading);
}

Nanos Services::next_due() const {
  if (!configured_ || finished_) return 0;
  Nanos next = 0;
  const auto consider = [&next](Nanos due) {
    if (due != 0) next = next == 0 ? due : std::min(next, due);
  };
  for (const auto& service : services_) {
    if (service->unknown) continue;
    consider(std::max<Nanos>(service->due, 1));
    if (service->source) consider(service->source->next_due());
  }
  return next;
}

bool Services::on_readable(int fd, Nanos now) {
  for (const auto& service : services_) {
    if (!service->source || !service->source->on_readable(*network_, fd, now)) continue;
    take(*service, now);
    return true;
  }
  return false;
}

// Does not wait for programs. The host's last sample shows the end of the job.
bool Services::finish(Nanos now) {
  if (!configured_) return true;
  for (const auto& service : services_) {
    if (!service->source || finished_) continue;
    service->source->stop(*network_);
    const bool is_quick = service->spec.program.empty();
    if (is_quick) service->source->begin(*network_, time_of_begin(now));
    if (is_quick) take(*service, now);
    if (processes_ == service->source.get()) processes_ = nullptr;
    service->source.reset();
    service->lock.release();
    service->due = 0;
  }
  finished_ = true;
  return std::ranges::all_of(services_,
                             [this](const auto& service) { return tell_lost(*service); });
}

// ---- journal ----

bool Services::put(Service& service, const Reading& reading) {
  const Nanos at = run_time(reading.at_ns);
  wire::SeriesSample sample;
  sample.at_ns = at;
  sample.span_ns = reading.span_ns;
  sample.slice = static_cast<std::uint64_t>(std::max<Nanos>(0, at) / control_.window_ns);

  const bool whole = give_names(service, reading, sample) && tell_lost(service);
  const std::uint64_t number = journal_.take_sample_number(service.lane);
  sample.captured = number + 1;
  Draft draft;
  draft.packet = wire::Packet(identity(wire::kSeriesStream, service.lane, number, number + 1),
                              wire::encode(sample));
  draft.calls = 1;
  if (whole && append(draft)) return true;
  service.was_full = true;
  return false;
}

// Returns false if the journal has no room for new names.
bool Services::give_names(Service& service, const Reading& reading, wire::SeriesSample& sample) {
  const wire::SeriesLayout& layout = service.source->layout();
  sample.entries = reading.entries;
  sample.layout = key_of(layout);
  if (service.told.contains(sample.layout)) return true;
  if (service.told.size() < options_.max_layouts) {
    if (!announce({layout})) return false;
    service.told.insert(sample.layout);
    service.last_told = layout;
    return true;
  }
  sample.entries = under_names_of(service.last_told, layout, reading.entries);
  sample.layout = key_of(service.last_told);
  if (!std::exchange(service.told_limit, true)) {
    log(Level::kWarn, "the metrics of a service change too often; new ones are left out",
        {{"service", service.spec.name}, {"changes", options_.max_layouts}});
  }
  return true;
}

// Samples with numbers but without an entry.
bool Services::tell_lost(Service& service) {
  const std::uint64_t first = journal_.next_sample(service.lane);
  const std::uint64_t end = journal_.samples_taken(service.lane);
  if (first == end) return true;
  Draft draft;
  draft.packet.id = identity(wire::kSeriesStream, service.lane, first, end);
  draft.packet.tombstone = true;
  draft.packet.payload = wire::encode(wire::Tombstone{
      service.was_full ? "the agent's journal was full" : "the agent's worker died over it",
      end - first});
  draft.calls = end - first;
  if (!append(draft)) return false;
  service.was_full = false;
  return true;
}

bool Services::announce(std::vector<wire::SeriesLayout> layouts) {
  wire::Registration registration;
  registration.host = options_.host;
  for (const auto& service : services_) {
    if (service->had) registration.services.push_back({service->lane, service->spec.name});
  }
  registration.layouts = std::move(layouts);
  Draft draft;
  const std::uint64_t wave = journal_.next_wave(wire::kRegistrationStream);
  draft.packet = wire::Packet(identity(wire::kRegistrationStream, kLeafLane, wave, wave + 1),
                              wire::encode(registration));
  if (!append(draft)) return false;
  for (const auto& service : services_) service->announced = service->had;
  return true;
}

bool Services::append(const Draft& draft) {
  if (!journal_.append(draft)) return false;
  appended_.push_back(key_of(draft.packet.id));
  return true;
}

wire::PacketId Services::identity(StreamId stream, Lane lane, std::uint64_t wave,
                                  std::uint64_t end) const {
  return {stream, lane, wave, end, IntervalSet::of(raw(leaf_))};
}

std::vector<PacketKey> Services::take_appended() { return std::exchange(appended_, {}); }

}  // namespace xylem::backend
