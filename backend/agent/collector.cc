#include "backend/agent/collector.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace xylem::backend {
namespace {

constexpr Nanos kShortestWindow = 1 * kMillisecond;

}  // namespace

Collector::Collector(CollectorOptions options, Journal& journal)
    : options_(std::move(options)),
      journal_(journal),
      clock_(journal.clock_memo()),
      packets_(journal, options_.full_pause),
      records_(options_.clock, options_.read_pair, tick_clock_of(journal.clock_memo())),
      registrations_(options_.registrations, packets_, processes_),
      regions_(registrations_, records_, processes_),
      silence_(processes_, options_.is_stopped),
      windows_(packets_, records_, silence_, processes_, options_.window_bytes),
      chunks_(packets_, records_, registrations_, processes_, options_.chunk_age),
      losses_(packets_, records_, windows_, processes_, options_.mapping_patience) {}

void Collector::add(Lane lane, Segment segment, bool ended, Nanos now) {
  const Progress known = journal_.progress_of(lane);
  for (const RingMark& mark : known.rings) segment.advance(mark.ring, mark.to);
  for (const CallsMark& mark : known.calls) segment.advance_windowed(mark.function, mark.calls);
  if (!known.finished.empty() || segment.is_finished()) {
    segment.set_finished();
    processes_.note_finished(lane);
    return;
  }
  if (ended) segment.freeze();
  if (is_configured_) apply_control(segment);
  WatchedProcess process(lane, std::move(segment), now);
  process.ended = ended;
  if (ended) process.stopped_at = now;
  processes_.add(std::move(process));
}

void Collector::process_ended(Lane lane) {
  WatchedProcess* process = processes_.find(lane);
  if (process == nullptr) return;
  process->ended = true;
  stop(*process);
}

void Collector::stop(WatchedProcess& process) const {
  if (process.stopped_at == 0) process.stopped_at = options_.clock();
  process.segment.freeze();
}

void Collector::configure(LeafId leaf, const wire::Control& control) {
  if (!is_configured_ || leaf != leaf_) windows_.start(leaf);
  is_configured_ = true;
  leaf_ = leaf;
  // A new version may come from a new front end, which knows of no silence.
  if (control.version > control_.version) silence_.tell_again();
  control_ = control;
  control_.window_ns = std::max(control_.window_ns, kShortestWindow);
  for (auto& [lane, process] : processes_) apply_control(process.segment);
}

void Collector::apply_control(Segment& segment) const {
  segment.set_enabled(control_.enabled);
  segment.set_traced(control_.chunks);
}

DrainOutcome Collector::drain(Nanos now) { return work(now, false); }
DrainOutcome Collector::flush(Nanos now) { return work(now, true); }

void Collector::follow_clock(Nanos now) {
  const Nanos at = now + RunClock::kLead;
  const Nanos before = clock_.is_set() ? clock_.to_run(at) : 0;
  if (clock_.follow(now, offset_ns_, control_.epoch_ns) != LineChange::kStep) return;
  const Nanos after = clock_.to_run(at);
  log(Level::kWarn, "the run's clock was wrong on this host and steps",
      {{"by_ms", (after - before) / kMillisecond}});
  if (after < before) windows_.step_back(after);
}

Drain Collector::begin(Nanos now, bool everything) {
  follow_clock(now);
  journal_.remember(memo_of(records_.ticks(), clock_));
  Drain drain{.leaf = leaf_, .control = control_, .clock = clock_};
  drain.now = now;
  drain.run_now = drain.read_at = drain.run_time(now);
  drain.round = round_;
  drain.everything = everything;
  drain.budget = options_.records_per_drain;
  return drain;
}

DrainOutcome Collector::work(Nanos now, bool everything) {
  ++round_;
  for (auto& [lane, process] : processes_) process.segment.retry_mapping();
  records_.read_clock(processes_, now);
  if (!is_configured_) return {};
  Drain drain = begin(now, everything);
  drain.run_now = drain.read_at = drain.run_time(std::max(now, options_.clock()));
  DrainOutcome outcome;
  outcome.fill = fullest_ring(drain);
  silence_.look(drain);
  const bool fits = packets_.may_write(now) && write_all(drain);
  outcome.unfinished = fits && drain.is_spent();
  outcome.next_due = next_due(drain);
  outcome.is_quiet = fits && outcome.fill == 0 && !windows_.has_open_calls() && is_silent(now);
  return outcome;
}

// False: the journal is full.
bool Collector::write_all(Drain& drain) {
  if (!registrations_.announce(drain) || !windows_.drain(drain) || !chunks_.drain(drain) ||
      !losses_.drain(drain) || !regions_.drain(drain)) {
    return false;
  }
  for (;;) {
    const bool is_all = windows_.count_ended(drain);
    if (is_all && !drain.everything) return true;
    if (!windows_.drain(drain)) return false;
    if (is_all) return true;
  }
}

double Collector::fullest_ring(const Drain& drain) {
  double fullest = 0;
  for (auto& [lane, process] : processes_) {
    if (!records_.is_readable(process, drain)) continue;
    if (process.announced_world) {
      fullest = std::max(fullest, static_cast<double>(process.segment.waiting_definitions()) /
                                      capture::kDefinitionBytes);
    }
    for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
      process.segment.look_ahead(ring);
      const auto waiting =
          static_cast<double>(process.segment.available(ring, process.cursors[ring].position));
      fullest = std::max(fullest, waiting / process.segment.capacity(ring));
    }
  }
  return fullest;
}

bool Collector::seal_last(Nanos now) { return windows_.seal_last(begin(now, true)); }

std::size_t Collector::living() const {
  return static_cast<std::size_t>(std::count_if(
      processes_.begin(), processes_.end(), [](const auto& entry) { return !entry.second.ended; }));
}

bool Collector::are_all_ending() const {
  return std::all_of(processes_.begin(), processes_.end(), [](const auto& entry) {
    return entry.second.ended || entry.second.segment.has_finalized();
  });
}

bool Collector::is_anybody_starting(Nanos now) const {
  return std::any_of(processes_.begin(), processes_.end(), [now](const auto& entry) {
    const WatchedProcess& process = entry.second;
    return !process.announced_world && !process.ended && now < process.added_at + kLongestStart;
  });
}

bool Collector::is_idle() const {
  if (!registrations_.is_idle() || windows_.is_worth_sealing()) return false;
  return std::all_of(processes_.begin(), processes_.end(), [this](const auto& entry) {
    return entry.second.is_read(control_.chunks) && !entry.second.has_new_definitions();
  });
}

Nanos Collector::next_due(const Drain& drain) const {
  if (!packets_.may_write(drain.now)) return packets_.retry_at();
  Nanos due = windows_.next_due(drain);
  const auto consider = [&due](Nanos when) {
    if (when != 0) due = due == 0 ? when : std::min(due, when);
  };
  for (const auto& [lane, process] : processes_) {
    consider(chunks_.next_due(process));
    consider(losses_.next_due(process));
    consider(records_.next_pair(process));
  }
  return due;
}

bool Collector::is_silent(Nanos now) const {
  if (!control_.enabled) return false;
  return std::all_of(processes_.begin(), processes_.end(), [now](const auto& entry) {
    const WatchedProcess& process = entry.second;
    return process.announced_world && !process.ended && process.silence.is_silent(now);
  });
}

std::vector<const CaptureSwitch*> Collector::let_calls_wake() {
  std::vector<const CaptureSwitch*> switches;
  for (auto& [lane, process] : processes_) {
    process.segment.let_calls_wake();
    switches.push_back(&process.segment.capture_switch());
  }
  return switches;
}

void Collector::let_calls_be() {
  for (auto& [lane, process] : processes_) process.segment.let_calls_be();
}

void Collector::stop_capture() {
  for (auto& [lane, process] : processes_) {
    process.segment.set_over();
    stop(process);
  }
}

}  // namespace xylem::backend
