#include "backend/agent/collector.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/fnv.h"
#include "base/log.h"
#include "wire/registration.h"

namespace xylem::backend {
namespace {

using capture::kMaxThreads;
using capture::Record;

// The clock's estimate beyond its last pair may be this far ahead. What claims to have ended later
// than it was read is not true.
constexpr Nanos kAhead = 1 * kMillisecond;
// Records taken at a time: these and their times stay in the first level of a processor's cache.
constexpr std::size_t kBatch = 256;
constexpr Nanos kShortestWindow = 1 * kMillisecond;
// Sums of two of these do not overflow.
constexpr Nanos kFarthest = 2'000'000'000'000'000'000;

std::uint64_t hash_of(const std::vector<wire::FunctionRow>& table) {
  Fnv1a hash;
  for (const wire::FunctionRow& row : table) {
    for (const char c : row.name + '\n') hash.add(static_cast<std::uint8_t>(c));
  }
  return hash.value();
}

}  // namespace

Collector::Collector(CollectorOptions options, Journal& journal)
    : options_(std::move(options)),
      journal_(journal),
      batch_(WindowBuilder::kLargestGroup),
      timed_(WindowBuilder::kLargestGroup) {}

void Collector::add(Lane lane, Segment segment, bool ended, Nanos now) {
  const Progress known = journal_.progress_of(lane);
  for (const RingMark& mark : known.rings) segment.advance(mark.ring, mark.to);
  for (const CallsMark& mark : known.calls) segment.advance_windowed(mark.function, mark.calls);
  if (!known.finished.empty() || segment.is_finished()) {
    segment.set_finished();
    finished_.push_back(lane);
    return;
  }
  auto process = std::make_unique<Process>(lane, std::move(segment), now);
  for (std::uint32_t ring = 0; ring < kMaxThreads; ++ring) {
    process->cursors[ring].position = process->segment.progress(ring).window_position;
  }
  process->windowed = process->segment.windowed_calls();
  process->ended = ended;
  if (ended) process->segment.freeze();
  if (builder_) process->segment.set_enabled(control_.enabled);
  processes_[lane] = std::move(process);
}

void Collector::add_unwatched(const wire::ProcessRow& row) { unwatched_.push_back(row); }

void Collector::process_ended(Lane lane) {
  const auto it = processes_.find(lane);
  if (it == processes_.end()) return;
  it->second->ended = true;
  it->second->segment.freeze();
}

void Collector::configure(LeafId leaf, const wire::Control& control) {
  if (!builder_ || leaf != leaf_) builder_.emplace(leaf);
  leaf_ = leaf;
  if (control.version > control_.version) {  // Perhaps of a successor, which knows of no silence.
    for (auto& [lane, process] : processes_) process->silence.tell_again();
  }
  control_ = control;
  control_.window_ns = std::max(control_.window_ns, kShortestWindow);
  for (auto& [lane, process] : processes_) process->segment.set_enabled(control_.enabled);
}

DrainOutcome Collector::drain(Nanos now) { return work(now, false); }
DrainOutcome Collector::flush(Nanos now) { return work(now, true); }

DrainOutcome Collector::work(Nanos now, bool everything) {
  ++round_;
  for (auto& [lane, process] : processes_) process->segment.retry_mapping();
  now_ = now;
  run_now_ = read_at_ = run_time(std::max(now, options_.clock()));
  everything_ = everything;
  fill_ = fullest_ring();
  budget_ = options_.records_per_drain;
  read_clock(now);
  DrainOutcome outcome;
  if (!builder_) return outcome;
  bool fits = now >= retry_at_;
  watch_silence();
  if (fits) fits = announce() && drain_windows() && drain_chunks() && give_up_unreadable();
  if (fits) count_ended();
  if (fits && everything) fits = drain_windows();
  outcome.fill = fill_;
  outcome.unfinished = fits && budget_ == 0;
  outcome.next_due = next_due();
  return outcome;
}

void Collector::read_clock(Nanos now) {
  const bool needed = std::any_of(processes_.begin(), processes_.end(), [](const auto& entry) {
    return entry.second->segment.clock() == capture::ClockKind::kTsc;
  });
  if (needed && now >= clock_.next_pair()) clock_.add(options_.read_pair());
}

// From this host's monotonic clock to the run's.
Nanos Collector::run_shift() const {
  return std::clamp(offset_ns_, -kFarthest / 2, kFarthest / 2) -
         std::clamp(control_.epoch_ns, -kFarthest / 2, kFarthest / 2);
}

Nanos Collector::run_time(Nanos monotonic) const {
  return std::max<Nanos>(0, monotonic + run_shift());
}

// A drain may take long: ranks write meanwhile. Before a flush they were stopped, and what it is to
// seal must not grow under it.
std::size_t Collector::read(const Process& process, std::uint32_t ring, std::uint64_t position,
                            std::span<Record> out) {
  const std::size_t count = process.segment.read(ring, position, out);
  if (count > 0 && !everything_) read_at_ = std::max(read_at_, run_time(options_.clock()));
  return count;
}

Collector::RunTimes Collector::times_of(const Process& process) const {
  return {TickReader(clock_, process.segment.clock()), run_shift(),
          everything_ ? read_at_ : read_at_ + kAhead};
}

inline std::pair<Nanos, Nanos> Collector::RunTimes::of(const Record& record) {
  const Nanos end = std::min(std::max<Nanos>(0, ticks(record.end) + shift), latest);
  return {std::min(std::max<Nanos>(0, ticks(record.begin) + shift), end), end};
}

void Collector::spend(std::size_t records) {
  budget_ -= std::min(budget_, std::max<std::size_t>(1, records));
}

// ---- registration ----

// Records before MPI_Init has returned are few; they wait until it is known whose they are.
bool Collector::is_readable(const Process& process) const {
  if (!process.announced) return false;
  if (process.segment.clock() == capture::ClockKind::kTsc && !clock_.is_ready()) return false;
  if (process.announced_world || process.ended || everything_) return true;
  return is_filling(process);
}

bool Collector::is_filling(const Process& process) {
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    if (process.segment.is_filling(ring)) return true;
  }
  return false;
}

bool Collector::announce() {
  while (!unwatched_.empty()) {
    wire::Registration registration;
    registration.host = options_.host;
    registration.processes.push_back(unwatched_.back());
    if (!append_registration(registration)) return false;
    finished_.push_back(unwatched_.back().lane);
    unwatched_.pop_back();
  }
  for (auto& [lane, process] : processes_) {
    if (process->announced && process->announced_world) continue;
    if (!announce(*process)) return false;
  }
  return true;
}

bool Collector::announce(Process& process) {
  wire::Registration registration;
  registration.host = options_.host;
  registration.processes.push_back(process.segment.describe());
  wire::ProcessRow& row = registration.processes.front();
  row.lane = process.lane;
  std::uint64_t table = 0;
  if (!process.announced_functions) {
    registration.functions = process.segment.functions();
    table = hash_of(registration.functions);
    process.announced_functions = !registration.functions.empty();
    if (tables_.contains(table)) registration.functions.clear();
  }
  if (process.announced && !row.initialised && registration.functions.empty()) return true;

  if (!append_registration(registration)) return false;
  if (!registration.functions.empty()) tables_.insert(table);
  process.announced = true;
  process.announced_world = row.initialised;
  return true;
}

bool Collector::append_registration(const wire::Registration& registration) {
  Draft draft;
  draft.packet.id.stream = wire::kRegistrationStream;
  draft.packet.id.wave = journal_.next_wave(wire::kRegistrationStream);
  draft.packet.id.wave_end = draft.packet.id.wave + 1;
  draft.packet.id.sources = IntervalSet::of(raw(leaf_));
  draft.packet.payload = wire::encode(registration);
  return append(draft);
}

// ---- who makes no calls ----

void Collector::watch_silence() {
  if (!control_.enabled || everything_) return;
  bool is_any_due = false;
  for (auto& [lane, process] : processes_) {
    if (process->ended || !process->announced_world) continue;
    if (!process->silence.is_time_to_look(now_)) continue;
    process->silence.look(process->segment.counters().calls, now_);
    process->tells_silence = process->silence.is_due(now_);
    is_any_due |= process->tells_silence;
  }
  if (!is_any_due) return;
  // All that are silent in one window.
  for (auto& [lane, process] : processes_) {
    if (process->ended || !process->announced_world) continue;
    process->tells_silence = process->silence.is_silent(now_);
  }
}

void Collector::describe_silence(const Process& process, wire::AccountRow& row) const {
  // Between two who are told of one silence nothing of it changes.
  row.silent_since_ns = process.told.silent_since_ns;
  row.inside = process.told.inside;
  row.stopped = process.told.stopped;
  row.outside = process.told.outside;
  const bool is_silent = !process.ended && row.captured == process.silence.calls();
  if (is_silent && !process.tells_silence && row.captured == process.told.captured) return;
  row.silent_since_ns = 0;
  row.inside.reset();
  row.stopped = row.outside = false;
  if (!is_silent || !process.tells_silence) return;
  row.silent_since_ns = std::max<Nanos>(1, run_time(process.silence.since()));
  const Whereabouts where = whereabouts(process.segment, *builder_, process.lane);
  row.inside = where.inside;
  row.outside = where.outside;
  row.stopped = options_.is_stopped(process.segment.pid(), process.segment.start_time());
}

// ---- windows ----

// Each turn reads one slice as far as it goes. False: the journal is full.
bool Collector::drain_windows() {
  while (builder_->is_open() || open_next_slice()) {
    const bool all_read = read_rings();
    const bool over = all_read && (everything_ || builder_->end_ns() <= run_now_);
    const bool early = is_any_filling() || builder_->approximate_bytes() >= options_.window_bytes;
    if (!is_worth_sealing()) {
      if (over) builder_->close();
      return true;
    }
    if (!over && !early) return true;
    if (!seal(false)) return false;
    if (over) builder_->close();
    if (budget_ == 0) return true;
  }
  return true;
}

bool Collector::is_worth_sealing() const {
  return !builder_->empty() ||
         std::any_of(processes_.begin(), processes_.end(), [](const auto& entry) {
           return entry.second->final_counted || entry.second->tells_silence;
         });
}

// The slice of the oldest record that waits, or the present one when there is none and a process is
// to be told of; none of the future.
bool Collector::open_next_slice() {
  std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [lane, process] : processes_) {
    if (!is_readable(*process)) continue;
    for (std::uint32_t ring = 0; ring < process->segment.rings(); ++ring) {
      Record first;
      if (read(*process, ring, process->cursors[ring].position, {&first, 1}) == 0) continue;
      const Nanos end = times_of(*process).of(first).second;
      oldest = std::min(oldest, slice_of(end, control_.window_ns));
    }
  }
  const std::uint64_t present = slice_of(run_now_, control_.window_ns);
  if (oldest > present && !is_worth_sealing()) return false;
  open_slice(std::min(oldest, present));
  return true;
}

// Never a slice before one that was sealed: waves only grow.
void Collector::open_slice(std::uint64_t slice) {
  const std::uint64_t next = wire::window_slice(journal_.next_wave(wire::kWindowStream));
  builder_->open(std::max(slice, next), control_.window_ns);
}

bool Collector::read_rings() {
  for (auto& [lane, process] : processes_) {
    if (!is_readable(*process)) continue;
    for (std::uint32_t ring = 0; ring < process->segment.rings(); ++ring) {
      if (!read_ring(*process, ring)) return false;
    }
  }
  return true;
}

double Collector::fullest_ring() const {
  double fullest = 0;
  for (const auto& [lane, process] : processes_) {
    if (!is_readable(*process)) continue;
    for (std::uint32_t ring = 0; ring < process->segment.rings(); ++ring) {
      process->segment.look_ahead(ring);
      const auto waiting =
          static_cast<double>(process->segment.available(ring, process->cursors[ring].position));
      fullest = std::max(fullest, waiting / process->segment.capacity(ring));
    }
  }
  return fullest;
}

// A batch at a time. Completions of one call may reach beyond its end, and how many they are must
// be known: then as many records are read as such a group can have.
bool Collector::read_ring(Process& process, std::uint32_t ring) {
  RingCursor& cursor = process.cursors[ring];
  std::size_t room = kBatch;
  for (;;) {
    if (budget_ == 0 || builder_->approximate_bytes() >= options_.window_bytes) return false;
    const std::size_t count = read(process, ring, cursor.position, std::span(batch_).first(room));
    if (count == 0) return true;
    RunTimes times = times_of(process);
    for (std::size_t i = 0; i < count; ++i) {
      timed_[i].record = batch_[i];
      std::tie(timed_[i].begin_ns, timed_[i].end_ns) = times.of(batch_[i]);
    }
    // A call's completions are written within microseconds: one that did not grow in between two
    // drains is whole.
    const bool is_all = count < room;
    const bool held = cursor.held_round != 0 && cursor.held_round < round_ &&
                      cursor.held_position == cursor.position && cursor.held_count == count;
    const std::size_t taken =
        builder_->add(process.lane, std::span<const TimedRecord>(timed_).first(count),
                      is_all && (held || process.ended || everything_));
    cursor.position += taken;
    spend(taken);
    if (taken == count) {
      if (is_all) return true;
      room = kBatch;
    } else if (!is_all && (taken > 0 || room < batch_.size())) {
      room = batch_.size();
    } else {
      const bool waited =
          cursor.held_position == cursor.position && cursor.held_count == count - taken;
      if (!waited) cursor.held_round = round_;
      cursor.held_position = cursor.position;
      cursor.held_count = count - taken;
      return true;
    }
  }
}

bool Collector::is_any_filling() const {
  for (const auto& [lane, process] : processes_) {
    for (std::uint32_t ring = 0; ring < process->segment.rings(); ++ring) {
      const std::uint64_t journalled = process->segment.progress(ring).window_position;
      if (process->segment.available(ring, journalled) > process->segment.capacity(ring) / 2) {
        return true;
      }
    }
  }
  return false;
}

bool Collector::is_read(const Process& process) const {
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    if (process.segment.available(ring, process.cursors[ring].position) != 0) return false;
  }
  return !has_unreadable(process) && (!control_.chunks || chunk_pending(process) == 0);
}

// Calls without a record: the rest of a sampled function, or one that the process died in.
void Collector::count_ended() {
  for (auto& [lane, process] : processes_) {
    if (!process->ended || process->final_counted || !is_readable(*process)) continue;
    if (!is_read(*process)) continue;
    if (!builder_->is_open()) open_slice(slice_of(run_now_, control_.window_ns));
    tell_sudden_end(process->segment, whereabouts(process->segment, *builder_, lane));
    for (std::uint32_t f = 0; f < process->segment.function_count(); ++f) {
      const FunctionId function{static_cast<std::uint16_t>(f)};
      const std::uint64_t pending = pending_calls(*process, function);
      if (pending != 0) builder_->add_calls(lane, function, pending);
    }
    process->final_counted = true;
  }
}

std::uint64_t Collector::pending_calls(const Process& process, FunctionId function) const {
  const std::uint64_t counted = process.segment.windowed_calls(function) +
                                builder_->calls(process.lane, function) +
                                process.segment.lost(function);
  const std::uint64_t calls = process.segment.calls(function);
  return calls - std::min(calls, counted);
}

wire::PacketId Collector::window_id(std::uint64_t slice) const {
  wire::PacketId id;
  id.stream = wire::kWindowStream;
  id.wave = std::max(wire::window_wave(slice, 0), journal_.next_wave(wire::kWindowStream));
  id.wave_end = id.wave + 1;
  id.sources = IntervalSet::of(raw(leaf_));
  return id;
}

bool Collector::seal(bool last) {
  wire::ProfileWindow window = builder_->build();
  Draft draft;
  draft.packet.id = window_id(builder_->slice());
  window.begin_ns =
      static_cast<Nanos>(wire::window_slice(draft.packet.id.wave)) * builder_->window_ns();
  window.end_ns = window.begin_ns + builder_->window_ns();

  for (wire::ProfileRow& row : window.rows) {
    const auto process = processes_.find(row.lane);
    CHECK(process != processes_.end());
    row.calls_so_far = process->second->segment.windowed_calls(row.function) + row.calls;
    draft.calls += row.calls;
    if (row.calls != 0) draft.progress.calls.push_back({row.lane, row.function, row.calls_so_far});
  }
  fill_accounts(window, draft.progress);
  draft.packet.last = last;
  draft.packet.payload = wire::encode(window);
  if (!append(draft)) return false;

  for (const wire::AccountRow& row : window.accounts) {
    processes_.at(row.lane)->told = row;
    processes_.at(row.lane)->windowed = row.windowed;
    if (!std::exchange(processes_.at(row.lane)->tells_silence, false)) continue;
    processes_.at(row.lane)->silence.told(now_);
  }
  builder_->clear();
  apply(draft.progress);
  return true;
}

void Collector::fill_accounts(wire::ProfileWindow& window, Progress& progress) {
  for (const auto& [lane, process] : processes_) {
    if (!process->announced) continue;
    for (std::uint32_t ring = 0; ring < process->segment.rings(); ++ring) {
      RingMark mark{lane, ring, process->segment.progress(ring)};
      const std::uint64_t position = process->cursors[ring].position;
      if (position <= mark.to.window_position) continue;
      mark.to.window_position = position;
      if (!control_.chunks) mark.to.chunk_position = std::max(mark.to.chunk_position, position);
      progress.rings.push_back(mark);
    }
    wire::AccountRow row = account_of(*process);
    if (process->final_counted) progress.finished.push_back(lane);
    if (row != process->told || process->tells_silence) window.accounts.push_back(std::move(row));
  }
}

wire::AccountRow Collector::account_of(const Process& process) const {
  const SegmentCounters counters = process.segment.counters();
  wire::AccountRow row;
  row.leaf = leaf_;
  row.lane = process.lane;
  row.captured = counters.calls;
  row.lost = counters.lost;
  row.lost_messages = counters.lost_messages;
  row.lost_message_bytes = counters.lost_message_bytes;
  row.lost_receives = counters.lost_receives;
  row.untracked_receives = counters.untracked_receives;
  row.windowed = process.windowed + builder_->calls(process.lane);
  row.ended = process.final_counted;
  describe_silence(process, row);
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    row.events += process.segment.progress(ring).chunk_events;
    row.event_calls += process.segment.progress(ring).chunk_calls;
  }
  if (counters.lost == 0) return row;
  for (std::uint32_t f = 0; f < process.segment.function_count(); ++f) {
    const FunctionId function{static_cast<std::uint16_t>(f)};
    const std::uint64_t lost = process.segment.lost(function);
    if (lost != 0) row.loss_by_function.push_back({function, lost});
  }
  return row;
}

void Collector::apply(const Progress& progress) {
  for (const RingMark& mark : progress.rings) {
    processes_.at(mark.lane)->segment.advance(mark.ring, mark.to);
  }
  for (const CallsMark& mark : progress.calls) {
    processes_.at(mark.lane)->segment.advance_windowed(mark.function, mark.calls);
  }
  for (const Lane lane : progress.finished) {
    processes_.at(lane)->segment.set_finished();
    builder_->forget(lane);
    processes_.erase(lane);
    finished_.push_back(lane);
  }
}

bool Collector::seal_last(Nanos now) {
  run_now_ = read_at_ = run_time(now);
  now_ = now;
  if (!builder_->is_open()) open_slice(slice_of(run_now_, control_.window_ns));
  if (!seal(true)) return false;
  builder_->close();
  return true;
}

// ---- chunks ----

std::uint64_t Collector::chunk_pending(const Process& process) const {
  std::uint64_t sum = 0;
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    sum += process.segment.available(ring, process.segment.progress(ring).chunk_position);
  }
  return sum;
}

bool Collector::drain_chunks() {
  if (!control_.chunks) return true;
  for (auto& [lane, process] : processes_) {
    if (!is_readable(*process)) continue;
    for (;;) {
      const std::uint64_t pending = chunk_pending(*process);
      if (pending == 0) process->chunk_since = 0;
      if (pending == 0 || budget_ == 0) break;
      if (process->chunk_since == 0) process->chunk_since = now_;
      const bool due = now_ - process->chunk_since >= options_.chunk_age ||
                       pending >= wire::kMaxChunkEvents || process->ended || everything_;
      if (!due && !is_filling(*process)) break;
      if (!make_chunk(*process)) return false;
    }
  }
  return true;
}

// The wave is the number of the chunk's first event among all of the process that went before.
wire::PacketId Collector::chunk_id(const Process& process) const {
  wire::PacketId id;
  id.stream = wire::kChunkStream;
  id.lane = process.lane;
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring)
    id.wave += process.segment.progress(ring).chunk_position;
  id.sources = IntervalSet::of(raw(leaf_));
  return id;
}

// Up to kMaxChunkEvents records of one process, ring by ring.
bool Collector::make_chunk(Process& process) {
  Draft draft;
  draft.packet.id = chunk_id(process);
  events_.clear();
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    RingMark mark{process.lane, ring, process.segment.progress(ring)};
    const std::uint64_t before = mark.to.chunk_position;
    while (events_.size() < wire::kMaxChunkEvents) {
      const std::size_t room = wire::kMaxChunkEvents - events_.size();
      const std::span<Record> batch(batch_.data(), std::min(room, kBatch));
      const std::size_t count = read(process, ring, mark.to.chunk_position, batch);
      if (count == 0) break;
      RunTimes times = times_of(process);
      std::uint64_t calls = 0;
      for (const Record& record : batch.first(count)) {
        const auto [begin, end] = times.of(record);
        events_.push_back(event_of(record, begin, end, ring));
        calls += events_.back().calls;
      }
      mark.to.chunk_calls += calls;
      draft.calls += calls;
      mark.to.chunk_position += count;
      mark.to.chunk_events += count;
    }
    if (mark.to.chunk_position != before) draft.progress.rings.push_back(mark);
  }
  if (events_.empty()) return true;
  draft.packet.id.wave_end = draft.packet.id.wave + events_.size();
  spend(events_.size());
  draft.packet.payload = encoder_.encode(events_);
  if (!append(draft)) return false;
  apply(draft.progress);
  process.chunk_since = 0;
  return true;
}

// ---- journal ----

bool Collector::append(const Draft& draft) {
  const std::uint64_t given_up = journal_.given_up_packets();
  auto appended = journal_.append(draft);
  if (journal_.given_up_packets() != given_up && !told_full_) {
    told_full_ = true;
    log(Level::kWarn, "journal full, oldest packets are given up; the front end is too slow",
        {{"calls", journal_.given_up_calls()}});
  }
  if (!appended && appended.error().code == Code::kAlreadyExists) return true;
  if (!appended) {
    retry_at_ = now_ + options_.full_pause;
    return false;
  }
  appended_.push_back(key_of(draft.packet.id));
  return true;
}

std::vector<PacketKey> Collector::take_appended() { return std::exchange(appended_, {}); }
std::vector<Lane> Collector::take_finished() { return std::exchange(finished_, {}); }

// ---- state ----

std::size_t Collector::living() const {
  return static_cast<std::size_t>(
      std::count_if(processes_.begin(), processes_.end(),
                    [](const auto& entry) { return !entry.second->ended; }));
}

bool Collector::is_anybody_starting(Nanos now) const {
  return std::any_of(processes_.begin(), processes_.end(), [now](const auto& entry) {
    const Process& process = *entry.second;
    return !process.announced_world && !process.ended && now < process.added_at + kLongestStart;
  });
}

bool Collector::is_idle() const {
  if (!unwatched_.empty() || (builder_ && is_worth_sealing())) return false;
  return std::all_of(processes_.begin(), processes_.end(),
                     [this](const auto& entry) { return is_read(*entry.second); });
}

Nanos Collector::next_due() const {
  Nanos due = 0;
  const auto consider = [&due](Nanos when) { due = due == 0 ? when : std::min(due, when); };
  if (now_ < retry_at_) return retry_at_;
  if (builder_->is_open() && is_worth_sealing()) {
    consider(now_ + std::max<Nanos>(0, builder_->end_ns() - run_now_));
  }
  for (const auto& [lane, process] : processes_) {
    if (process->chunk_since != 0) consider(process->chunk_since + options_.chunk_age);
    if (process->unreadable_since != 0)
      consider(process->unreadable_since + options_.mapping_patience);
    if (process->segment.clock() == capture::ClockKind::kTsc && !clock_.is_ready()) {
      consider(clock_.next_pair());
    }
  }
  return due;
}

void Collector::stop_capture() {
  for (auto& [lane, process] : processes_) {
    process->segment.set_enabled(false);
    process->segment.freeze();
  }
}

}  // namespace xylem::backend
