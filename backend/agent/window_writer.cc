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
      batch_(WindowBuilder::kLargestGroup),
      timed_(WindowBuilder::kLargestGroup) {}

// ---- slices ----

// Each turn reads one slice as far as it goes.
bool WindowWriter::drain(Drain& drain) {
  while (builder_.is_open() || open_next_slice(drain)) {
    const bool all_read = read_rings(drain);
    const bool over = all_read && (drain.everything || builder_.end_ns() <= drain.run_now);
    const bool early = is_any_filling() || builder_.approximate_bytes() >= window_bytes_;
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
  if (!builder_.is_open() || !is_worth_sealing()) return 0;
  return drain.now + std::max<Nanos>(0, builder_.end_ns() - drain.run_now);
}

// The slice of the oldest record that waits, or the present one when there is none and a process is
// to be told of; none of the future.
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
  if (oldest > present && !is_worth_sealing()) return false;
  open_slice(std::min(oldest, present), drain);
  return true;
}

// Never a slice before one that was sealed: waves only grow.
void WindowWriter::open_slice(std::uint64_t slice, const Drain& drain) {
  const std::uint64_t next = wire::window_slice(packets_.next_wave(wire::kWindowStream));
  builder_.open(std::max(slice, next), drain.control.window_ns);
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
  for (std::size_t i = 0; i < count; ++i) {
    timed_[i].record = batch_[i];
    std::tie(timed_[i].begin_ns, timed_[i].end_ns) = times.of(batch_[i]);
  }
  return std::span<const TimedRecord>(timed_).first(count);
}

// A batch at a time. Completions of one call may reach beyond its end, and their number must be
// known: then as many records are read as such a group can have.
bool WindowWriter::read_ring(WatchedProcess& process, std::uint32_t ring, Drain& drain) {
  RingCursor& cursor = process.cursors[ring];
  std::size_t room = RecordReader::kBatch;
  for (;;) {
    if (drain.is_spent() || builder_.approximate_bytes() >= window_bytes_) return false;
    const std::span<const TimedRecord> batch = read_batch(process, ring, room, drain);
    if (batch.empty()) return true;
    // A call's completions are written within microseconds: a group that did not grow between two
    // drains is whole.
    const bool is_all = batch.size() < room;
    const bool held = cursor.held_round != 0 && cursor.held_round < drain.round &&
                      cursor.held_position == cursor.position && cursor.held_count == batch.size();
    const std::size_t taken =
        builder_.add(process.lane, batch, is_all && (held || process.ended || drain.everything));
    cursor.position += taken;
    drain.spend(taken);
    const std::size_t left = batch.size() - taken;
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

void WindowWriter::count_ended(const Drain& drain) {
  for (auto& [lane, process] : processes_) {
    if (!process.ended || process.final_counted || !records_.is_readable(process, drain)) continue;
    if (!process.is_read(drain.control.chunks)) continue;
    if (!builder_.is_open()) open_slice(slice_of(drain.run_now, drain.control.window_ns), drain);
    tell_sudden_end(process.segment, whereabouts(process.segment, builder_, lane));
    for (const FunctionId function : process.segment.function_ids()) {
      const std::uint64_t pending = pending_calls(process, function);
      if (pending != 0) builder_.add_calls(lane, function, pending);
    }
    process.final_counted = true;
  }
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
      if (position <= mark.to.window_position) continue;
      mark.to.window_position = position;
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
  row.untracked_receives = counters.untracked_receives;
  row.windowed = process.windowed + builder_.calls(process.lane);
  row.ended = process.final_counted;
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
