// Records of rings that the agent could not map, for want of address space or memory: they are
// lost, and the account says so. What is lost stands in the journal as a window and a chunk that
// were given up (wire/tombstone.h), so that a worker's death over it loses nothing twice.
//
//   ring 0, mapped       3 calls, read       -> rows of windows: 3 calls
//   ring 1, not mapped   5 calls, records    -> tombstone of a window: 5 calls
//                        1 call in a handler -> counted without a record, as ever: 1 call

#include <algorithm>

#include "backend/agent/collector.h"
#include "wire/tombstone.h"

namespace xylem::backend {

bool Collector::has_unreadable(const Process& process) const {
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    std::uint64_t position = process.cursors[ring].position;
    if (control_.chunks)
      position = std::min(position, process.segment.progress(ring).chunk_position);
    if (process.segment.unreadable(ring, position) != 0) return true;
  }
  return false;
}

// While a process lives, its records wait in the ring; once the ring is full, new ones are lost.
// False: the journal is full.
bool Collector::give_up_unreadable() {
  for (auto& [lane, process] : processes_) {
    const bool is_over = process->ended || everything_;
    if (!is_over || process->final_counted || !is_readable(*process) || !has_unreadable(*process)) {
      process->unreadable_since = 0;
      continue;
    }
    if (process->unreadable_since == 0) process->unreadable_since = now_;
    if (now_ < process->unreadable_since + options_.mapping_patience) continue;
    if (control_.chunks && !give_up_events(*process)) return false;
    if (!give_up_calls(*process)) return false;
  }
  return true;
}

std::string Collector::why_given_up(const Process& process) {
  return "the agent could not read a thread's records: " + process.segment.why_unreadable();
}

// As a window of its own that is lost: its calls count as in a window, and are not stored.
bool Collector::give_up_calls(Process& process) {
  Draft draft;
  std::vector<std::uint32_t> rings;
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    if (process.segment.unreadable(ring, process.cursors[ring].position) == 0) continue;
    RingMark mark{process.lane, ring, process.segment.progress(ring)};
    mark.to.window_position = process.segment.end(ring);
    if (!control_.chunks) mark.to.chunk_position = mark.to.window_position;
    draft.progress.rings.push_back(mark);
    rings.push_back(ring);
  }
  if (rings.empty()) return true;
  for (std::uint32_t f = 0; f < process.segment.function_count(); ++f) {
    const FunctionId function{static_cast<std::uint16_t>(f)};
    std::uint64_t unread = 0;
    for (const std::uint32_t ring : rings) unread += process.segment.recorded_calls(ring, function);
    // A predecessor may have read some of them. What is pending of other rings, sampled calls for
    // one, may then be counted as lost in their place: the sum is right.
    unread = std::min(unread, pending_calls(process, function));
    if (unread == 0) continue;
    const std::uint64_t so_far = process.segment.windowed_calls(function) + unread;
    draft.progress.calls.push_back({process.lane, function, so_far});
    draft.calls += unread;
  }
  const std::uint64_t slice =
      builder_->is_open() ? builder_->slice() : slice_of(run_now_, control_.window_ns);
  draft.packet.id = window_id(slice);
  draft.packet.tombstone = true;
  wire::Tombstone tombstone{why_given_up(process), draft.calls};
  tombstone.lanes.push_back({leaf_, process.lane, draft.calls});
  draft.packet.payload = wire::encode(tombstone);
  if (!append(draft)) return false;
  process.windowed += draft.calls;
  for (const RingMark& mark : draft.progress.rings)
    process.cursors[mark.ring].position = mark.to.window_position;
  apply(draft.progress);
  return true;
}

bool Collector::give_up_events(Process& process) {
  Draft draft;
  std::uint64_t all_events = 0;
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    RingMark mark{process.lane, ring, process.segment.progress(ring)};
    const std::uint64_t events = process.segment.unreadable(ring, mark.to.chunk_position);
    if (events == 0) continue;
    std::uint64_t calls = 0;
    for (std::uint32_t f = 0; f < process.segment.function_count(); ++f)
      calls += process.segment.recorded_calls(ring, FunctionId{static_cast<std::uint16_t>(f)});
    calls -= std::min(calls, mark.to.chunk_calls);
    all_events += events;
    draft.calls += calls;
    mark.to.chunk_position += events;
    mark.to.chunk_events += events;
    mark.to.chunk_calls += calls;
    draft.progress.rings.push_back(mark);
  }
  if (all_events == 0) return true;
  draft.packet.id = chunk_id(process);
  draft.packet.id.wave_end = draft.packet.id.wave + all_events;
  draft.packet.tombstone = true;
  draft.packet.payload = wire::encode(wire::Tombstone{why_given_up(process), draft.calls});
  if (!append(draft)) return false;
  apply(draft.progress);
  return true;
}

}  // namespace xylem::backend
