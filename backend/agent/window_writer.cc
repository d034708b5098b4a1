#include "backend/agent/window_writer.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace xylem::backend {

using capture::Record;

WindowWriter::WindowWriter(PacketWriter& packets, const RecordReader& records,
                           SilenceWatch& silence, WatchedProcesses& processes,
                           std::size_t window_bytes)
    : packets_(packets),
      records_(records),
      silence_(silence),
      processes_(processes),
      window_bytes_(window_bytes),
      builder_(LeafId{}, WindowBuilder::Overlap::kCountsOnce, window_bytes),
      batch_(WindowBuilder::kLargestGroup),
      timed_(WindowBuilder::kLargestGroup) {}

// ---- slices ----

// Each turn reads one slice as far as it goes.
bool WindowWriter::drain(Drain& drain) {
  while (builder_.is_open() || open_next_slice(drain)) {
    const bool is_past = drain.everything || builder_.end_ns() <= drain.run_now;
    if (is_past) look(drain);  // Before the records are read.
    holds_back_ = false;
    const bool all_read = read_rings(drain);
    bool over = all_read && is_past && !holds_back_ && charge_open_calls(drain);
    if (holds_back_) {
      // The slice ends with the next drain. Until then no call is listed as under way.
      builder_.clear_under_way();
      over = false;
    }
    const bool early = is_any_filling() || builder_.is_full();
    if (!is_worth_sealing()) {
      if (over) builder_.close();
      return true;
    }
    if (!over && !early) return true;
    if (!seal(false, drain)) return false;
    if (over) builder_.close();
    if (drain.is_spent()) return true;
  }
  return true;
}

bool WindowWriter::is_worth_sealing() const {
  return !builder_.empty() ||
         std::any_of(processes_.begin(), processes_.end(), [](const auto& entry) {
           return entry.second.final_counted || entry.second.tells_silence;
         });
}

Nanos WindowWriter::next_due(const Drain& drain) const {
  if (!builder_.is_open() || (!is_worth_sealing() && !has_open_calls_)) return 0;
  // A little later: then a call that is still under way did not end before the slice.
  return drain.now + std::max<Nanos>(0, builder_.end_ns() - drain.run_now) +
         2 * RecordReader::kSettled;
}

// Opens the slice of the oldest record that waits. If no record waits, but a process has news or is
// in a call, opens the present slice. Never opens a slice of the future.
bool WindowWriter::open_next_slice(Drain& drain) {
  std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [lane, process] : processes_) {
    if (!records_.is_readable(process, drain)) continue;
    for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
      Record first;
      if (records_.read(process, ring, process.cursors[ring].position, {&first, 1}, drain) == 0) {
        continue;
      }
      const Nanos end = records_.times_of(process, drain).of(first).second;
      oldest = std::min(oldest, slice_of(end, drain.control.window_ns));
    }
  }
  const std::uint64_t present = slice_of(drain.run_now, drain.control.window_ns);
  if (oldest > present) {
    look(drain);
    if (!has_open_calls_ && !is_worth_sealing()) return false;
    // A step of the clock has led back to before a sealed slice. Wait until that slice is over.
    const bool is_ahead = wire::window_slice(packets_.next_wave(wire::kWindowStream)) > present;
    if (is_ahead && !is_worth_sealing()) return false;
    // A few slices that have passed get windows of their own. Older ones get earlier rows.
    constexpr std::uint64_t kFew = 4;
    if (has_open_calls_) {
      oldest = std::max(slice_of(std::max<Nanos>(0, open_since_), drain.control.window_ns),
                        present - std::min(present, kFew));
    }
  }
  open_slice(std::min(oldest, present), drain);
  return true;
}

// Never opens a slice before a sealed one, because the numbers of waves only grow.
void WindowWriter::open_slice(std::uint64_t slice, const Drain& drain) {
  const std::uint64_t next = wire::window_slice(packets_.next_wave(wire::kWindowStream));
  builder_.open(std::max(slice, next), drain.control.window_ns);
}

// ---- calls under way ----

void WindowWriter::start(LeafId leaf) {
  builder_ = WindowBuilder(leaf, WindowBuilder::Overlap::kCountsOnce, window_bytes_);
  for (auto& [lane, process] : processes_) {
    for (RingCursor& cursor : process.cursors) cursor.is_introduced = false;
  }
}

// Reads what the threads have published, once in a drain.
void WindowWriter::look(Drain& drain) {
  if (std::exchange(drain.has_looked, true)) return;
  has_open_calls_ = false;
  open_since_ = drain.run_now;
  for (auto& [lane, process] : processes_) {
    if (!records_.is_readable(process, drain)) continue;
    std::ignore = records_.look_time(process, drain);  // Before the calls are read.
    for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
      process.cursors[ring].open = process.segment.under_way(ring);
      const auto open = published(process, ring, drain);
      if (open && !process.ended) note_open(process, ring, *open);
    }
  }
}

// Notes whether a further window is needed for the call.
void WindowWriter::note_open(const WatchedProcess& process, std::uint32_t ring,
                             const OpenUntil& open) {
  const Nanos since =
      std::max(open.call.begin_ns, builder_.charged_until(process.lane, ThreadIndex{ring}));
  if (since >= open.until) return;
  has_open_calls_ = true;
  open_since_ = std::min(open_since_, since);
}

// Returns false if the window is full or the drain's budget is spent. The next part continues where
// this one has stopped, because time that was counted does not count again. Only the last part
// lists the calls.
bool WindowWriter::charge_open_calls(Drain& drain) {
  builder_.clear_under_way();
  has_open_calls_ = false;
  open_since_ = drain.run_now;
  for (auto& [lane, process] : processes_) {
    if (!records_.is_readable(process, drain)) continue;
    for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
      if (builder_.is_full()) {
        builder_.clear_under_way();
        return false;
      }
      introduce(process, ring, drain);
      auto recorded = next_recorded(process, ring, drain);
      // Records of the slice that were written since the rings were read.
      while (recorded && recorded->until < builder_.end_ns()) {
        const std::uint64_t position = process.cursors[ring].position;
        if (!read_ring(process, ring, drain)) {
          builder_.clear_under_way();
          return false;
        }
        if (process.cursors[ring].position == position) break;
        recorded = next_recorded(process, ring, drain);
      }
      const auto open = recorded ? recorded : published(process, ring, drain);
      if (!open) continue;
      note_begin(process, open->call.begin_ns, drain);
      const bool chunks_lag =
          process.segment.progress(ring).chunk_position < process.cursors[ring].position;
      process.cursors[ring].begins.add(open->begin_ticks, open->call.begin_ns,
                                       drain.control.chunks && chunks_lag);
      builder_.charge_open(lane, open->call, open->until);
      if (!recorded && !process.ended) note_open(process, ring, *open);
    }
  }
  return true;
}

// Returns the call of the next record. It ended after the slice, unless the record was written
// after the rings were read. Calls of a thread do not overlap: if this call also began after the
// slice, the thread was in no call at the end of the slice.
std::optional<WindowWriter::OpenUntil> WindowWriter::next_recorded(WatchedProcess& process,
                                                                   std::uint32_t ring,
                                                                   Drain& drain) {
  const std::span<const TimedRecord> batch = read_batch(process, ring, RecordReader::kBatch, drain);
  for (const TimedRecord& timed : batch) {
    if (capture::is_part(timed.record) || timed.record.kind != capture::kRecordOfMpi) continue;
    const FunctionId function{
        std::min<std::uint16_t>(timed.record.function, std::uint16_t{capture::kMaxFunctions - 1})};
    return OpenUntil{{ThreadIndex{ring}, function, timed.begin_ns, timed.record.peer, timed.comm()},
                     timed.end_ns,
                     timed.record.begin};
  }
  return std::nullopt;
}

std::optional<WindowWriter::OpenUntil> WindowWriter::published(const WatchedProcess& process,
                                                               std::uint32_t ring,
                                                               Drain& drain) const {
  const RingCursor& cursor = process.cursors[ring];
  if (!cursor.open || cursor.order.has_ended(cursor.open->begin)) return std::nullopt;
  Nanos until = records_.look_time(process, drain) - RecordReader::kSettled;
  if (process.stopped_at != 0) until = std::min(until, drain.run_time(process.stopped_at));
  RunTimes times = records_.times_of(process, drain);
  const std::uint64_t ticks = cursor.open->begin;
  const Nanos begin = cursor.order.after_last(cursor.begins.of(ticks, times.of(ticks)));
  if (begin >= until) return std::nullopt;
  return OpenUntil{
      {ThreadIndex{ring}, cursor.open->function, begin, cursor.open->peer, cursor.open->comm},
      until,
      ticks};
}

// Tells the builder where a former worker has stopped. A time in the future is from before a step
// of the clock, or from a hostile process. Then the thread counts from the time at which this agent
// first saw it.
void WindowWriter::introduce(WatchedProcess& process, std::uint32_t ring, const Drain& drain) {
  RingCursor& cursor = process.cursors[ring];
  if (std::exchange(cursor.is_introduced, true)) return;
  const RingProgress& progress = process.segment.progress(ring);
  if (progress.window_position == 0 && progress.charged_ns == 0) return;
  const bool is_possible = progress.charged_ns <= drain.run_now + SlewedLine::kJump;
  builder_.resume(process.lane, ThreadIndex{ring},
                  is_possible ? progress.charged_ns : drain.run_time(process.added_at));
}

void WindowWriter::note_begin(WatchedProcess& process, Nanos begin_ns, const Drain& drain) const {
  if (process.is_continued) return;
  if (process.since_ns == 0)
    process.since_ns = std::max<Nanos>(1, drain.run_time(process.added_at));
  process.since_ns = std::clamp<Nanos>(begin_ns, 1, process.since_ns);
}

// ---- reading ----

bool WindowWriter::read_rings(Drain& drain) {
  for (auto& [lane, process] : processes_) {
    if (!records_.is_readable(process, drain)) continue;
    for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
      if (!read_ring(process, ring, drain)) return false;
    }
  }
  return true;
}

std::span<const TimedRecord> WindowWriter::read_batch(const WatchedProcess& process,
                                                      std::uint32_t ring, std::size_t room,
                                                      Drain& drain) {
  const std::size_t count = records_.read(process, ring, process.cursors[ring].position,
                                          std::span(batch_).first(room), drain);
  RunTimes times = records_.times_of(process, drain);
  const KnownBegin& known = process.cursors[ring].begins.last();
  ThreadOrder order = process.cursors[ring].order;
  for (std::size_t i = 0; i < count; ++i) {
    timed_[i].record = batch_[i];
    timed_[i].thread = ThreadIndex{ring};
    auto [begin, end] = times.of(batch_[i]);
    if (batch_[i].begin == known.ticks && known.ticks != 0) begin = std::min(known.begin_ns, end);
    std::tie(timed_[i].begin_ns, timed_[i].end_ns) = order.next(batch_[i], begin, end);
  }
  return std::span<const TimedRecord>(timed_).first(count);
}

// Reads one batch at a time. The completions of a call may reach beyond the batch, but their number
// must be known. Then as many records are read as such a group can have.
bool WindowWriter::read_ring(WatchedProcess& process, std::uint32_t ring, Drain& drain) {
  RingCursor& cursor = process.cursors[ring];
  introduce(process, ring, drain);
  std::size_t room = RecordReader::kBatch;
  for (;;) {
    if (drain.is_spent() || builder_.is_full()) return false;
    const std::span<const TimedRecord> batch = read_batch(process, ring, room, drain);
    if (batch.empty()) return true;
    // A call's completions are written within microseconds. So a group that did not grow between
    // two drains is complete.
    const bool is_all = batch.size() < room;
    const bool held = cursor.held_round != 0 && cursor.held_round < drain.round &&
                      cursor.held_position == cursor.position && cursor.held_count == batch.size();
    const std::size_t taken =
        builder_.add(process.lane, batch, is_all && (held || process.ended || drain.everything));
    if (taken > 0) {
      if (cursor.position == 0) note_begin(process, batch.front().begin_ns, drain);
      for (const TimedRecord& timed : batch.first(taken)) {
        cursor.order.next(timed.record, timed.begin_ns, timed.end_ns);
      }
    }
    cursor.position += taken;
    drain.spend(taken);
    const std::size_t left = batch.size() - taken;
    if (left != 0 && builder_.is_full()) return false;
    if (left == 0) {
      if (is_all) return true;
      room = RecordReader::kBatch;
    } else if (!is_all && (taken > 0 || room < batch_.size())) {
      room = batch_.size();
    } else {
      const bool waited = cursor.held_position == cursor.position && cursor.held_count == left;
      if (!waited) cursor.held_round = drain.round;
      cursor.held_position = cursor.position;
      cursor.held_count = left;
      holds_back_ |= batch[taken].end_ns < builder_.end_ns();
      return true;
    }
  }
}

bool WindowWriter::is_any_filling() const {
  for (const auto& [lane, process] : processes_) {
    for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
      const std::uint64_t journalled = process.segment.progress(ring).window_position;
      if (process.segment.available(ring, journalled) > process.segment.capacity(ring) / 2) {
        return true;
      }
    }
  }
  return false;
}

bool WindowWriter::count_ended(Drain& drain) {
  for (auto& [lane, process] : processes_) {
    if (!process.ended || process.final_counted || !records_.is_readable(process, drain)) continue;
    if (!process.is_read(drain.control.chunks)) continue;
    const Nanos until =
        process.stopped_at != 0 ? drain.run_time(process.stopped_at) : drain.run_now;
    // A slice that ends before the process did would cut its last calls. Wait: it is over soon.
    if (builder_.is_open() && builder_.end_ns() < until) continue;
    if (!builder_.is_open()) open_slice(slice_of(drain.run_now, drain.control.window_ns), drain);
    if (builder_.is_full()) return false;
    if (!std::exchange(process.is_end_told, true)) {
      tell_sudden_end(process.segment, whereabouts(process.segment, builder_, lane));
    }
    look(drain);
    if (!count_last_calls(process, drain)) return false;
    for (const FunctionId function : process.segment.function_ids()) {
      const std::uint64_t pending = pending_calls(process, function);
      if (pending != 0) builder_.add_calls(lane, function, pending, until);
    }
    process.final_counted = true;
  }
  return true;
}

// Counts the calls in which the threads ended. Returns false if the window is full.
bool WindowWriter::count_last_calls(WatchedProcess& process, Drain& drain) {
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    RingCursor& cursor = process.cursors[ring];
    if (cursor.is_end_counted) continue;
    if (builder_.is_full()) return false;
    cursor.is_end_counted = true;
    const auto open = published(process, ring, drain);
    if (!open || pending_calls(process, open->call.function) == 0) continue;
    introduce(process, ring, drain);
    note_begin(process, open->call.begin_ns, drain);
    builder_.end_open(process.lane, open->call, open->until);
  }
  return true;
}

std::uint64_t WindowWriter::pending_calls(const WatchedProcess& process,
                                          FunctionId function) const {
  const std::uint64_t counted = process.segment.windowed_calls(function) +
                                builder_.calls(process.lane, function) +
                                process.segment.lost(function);
  const std::uint64_t calls = process.segment.calls(function);
  return calls - std::min(calls, counted);
}

// ---- sealing ----

wire::PacketId WindowWriter::next_id(const Drain& drain) const {
  const std::uint64_t present = slice_of(drain.run_now, drain.control.window_ns);
  return id_in(builder_.is_open() ? builder_.slice() : present, drain.leaf);
}

wire::PacketId WindowWriter::id_in(std::uint64_t slice, LeafId leaf) const {
  wire::PacketId id;
  id.stream = wire::kWindowStream;
  id.wave = std::max(wire::window_wave(slice, 0), packets_.next_wave(wire::kWindowStream));
  id.wave_end = id.wave + 1;
  id.sources = IntervalSet::of(raw(leaf));
  return id;
}

bool WindowWriter::seal(bool last, const Drain& drain) {
  wire::ProfileWindow window = builder_.build();
  Draft draft;
  draft.packet.id = id_in(builder_.slice(), drain.leaf);
  window.begin_ns =
      static_cast<Nanos>(wire::window_slice(draft.packet.id.wave)) * builder_.window_ns();
  window.end_ns = window.begin_ns + builder_.window_ns();

  for (wire::ProfileRow& row : window.rows) {
    const WatchedProcess* process = processes_.find(row.lane);
    CHECK(process != nullptr);
    row.calls_so_far = process->segment.windowed_calls(row.function) + row.calls;
    draft.calls += row.calls;
    if (row.calls != 0) draft.progress.calls.push_back({row.lane, row.function, row.calls_so_far});
  }
  fill_accounts(window, draft.progress, drain);
  draft.packet.last = last;
  draft.packet.payload = wire::encode(window);
  if (!packets_.write(draft, drain.now)) return false;

  for (const wire::AccountRow& row : window.accounts) {
    WatchedProcess& process = processes_.at(row.lane);
    process.told = row;
    process.windowed = row.windowed;
    SilenceWatch::told(process, drain.now);
  }
  builder_.clear();
  processes_.apply(draft.progress);
  for (const Lane lane : draft.progress.finished) builder_.forget(lane);
  return true;
}

bool WindowWriter::seal_last(const Drain& drain) {
  if (!builder_.is_open()) open_slice(slice_of(drain.run_now, drain.control.window_ns), drain);
  if (!seal(true, drain)) return false;
  builder_.close();
  return true;
}

void WindowWriter::fill_accounts(wire::ProfileWindow& window, Progress& progress,
                                 const Drain& drain) const {
  for (const auto& [lane, process] : std::as_const(processes_)) {
    if (!process.announced) continue;
    for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
      RingMark mark{lane, ring, process.segment.progress(ring)};
      const std::uint64_t position = process.cursors[ring].position;
      const Nanos charged = builder_.charged_until(lane, ThreadIndex{ring});
      if (position <= mark.to.window_position && charged <= mark.to.charged_ns) continue;
      mark.to.window_position = std::max(mark.to.window_position, position);
      mark.to.charged_ns = std::max(mark.to.charged_ns, charged);
      mark.to.window_end_ns = process.cursors[ring].order.last_end();
      const KnownBegin& begin = process.cursors[ring].begins.oldest();
      mark.to.open_begin = begin.ticks;
      mark.to.open_begin_ns = begin.begin_ns;
      if (!drain.control.chunks)
        mark.to.chunk_position = std::max(mark.to.chunk_position, position);
      progress.rings.push_back(mark);
    }
    wire::AccountRow row = account_of(process, drain);
    if (process.final_counted) progress.finished.push_back(lane);
    if (row != process.told || process.tells_silence) window.accounts.push_back(std::move(row));
  }
}

wire::AccountRow WindowWriter::account_of(const WatchedProcess& process, const Drain& drain) const {
  const SegmentCounters counters = process.segment.counters();
  wire::AccountRow row;
  row.leaf = drain.leaf;
  row.lane = process.lane;
  row.captured = counters.calls;
  row.lost = counters.lost;
  row.lost_messages = counters.lost_messages;
  row.lost_message_bytes = counters.lost_message_bytes;
  row.lost_receives = counters.lost_receives;
  row.lost_parts = counters.lost_parts;
  row.untracked_receives = counters.untracked_receives;
  row.windowed = process.windowed + builder_.calls(process.lane);
  row.ended = process.final_counted;
  row.since_ns = process.since_ns;
  if (row.since_ns == 0 && !process.is_continued) {
    row.since_ns = std::max<Nanos>(1, drain.run_time(process.added_at));
  }
  if (row.ended) row.until_ns = std::max<Nanos>(1, drain.run_time(process.stopped_at));
  row.threads = process.segment.rings();
  silence_.describe(process, builder_, drain, row);
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    row.events += process.segment.progress(ring).chunk_events;
    row.event_calls += process.segment.progress(ring).chunk_calls;
  }
  if (counters.lost == 0) return row;
  for (const FunctionId function : process.segment.function_ids()) {
    const std::uint64_t lost = process.segment.lost(function);
    if (lost != 0) row.loss_by_function.push_back({function, lost});
  }
  return row;
}

}  // namespace xylem::backend
