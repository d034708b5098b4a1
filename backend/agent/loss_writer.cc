#include "backend/agent/loss_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/agent/chunk_writer.h"
#include "wire/tombstone.h"

namespace xylem::backend {
namespace {

std::string why_given_up(const WatchedProcess& process) {
  return "the agent could not read a thread's records: " + process.segment.why_unreadable();
}

}  // namespace

bool LossWriter::drain(const Drain& drain) {
  const bool chunks = drain.control.chunks;
  for (auto& [lane, process] : processes_) {
    const bool is_over = process.ended || drain.everything;
    if (!is_over || process.final_counted || !records_.is_readable(process, drain) ||
        !process.has_unreadable(chunks)) {
      process.unreadable_since = 0;
      continue;
    }
    if (process.unreadable_since == 0) process.unreadable_since = drain.now;
    if (drain.now < process.unreadable_since + patience_) continue;
    if (chunks && !give_up_events(process, drain)) return false;
    if (!give_up_calls(process, drain)) return false;
  }
  return true;
}

Nanos LossWriter::next_due(const WatchedProcess& process) const {
  return process.unreadable_since == 0 ? 0 : process.unreadable_since + patience_;
}

// The calls become a lost window of their own. They count like the calls of a window, but they are
// not stored.
bool LossWriter::give_up_calls(WatchedProcess& process, const Drain& drain) {
  Draft draft;
  std::vector<std::uint32_t> rings;
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    if (process.segment.unreadable(ring, process.cursors[ring].position) == 0) continue;
    RingMark mark{process.lane, ring, process.segment.progress(ring)};
    mark.to.window_position = process.segment.end(ring);
    if (!drain.control.chunks) mark.to.chunk_position = mark.to.window_position;
    draft.progress.rings.push_back(mark);
    rings.push_back(ring);
  }
  if (rings.empty()) return true;
  for (const FunctionId function : process.segment.function_ids()) {
    std::uint64_t unread = 0;
    for (const std::uint32_t ring : rings) unread += process.segment.recorded_calls(ring, function);
    // A former worker may have read some of these records. Then pending calls of other rings, such
    // as sampled calls, may be counted as lost in their place. The sum is right.
    unread = std::min(unread, windows_.pending_calls(process, function));
    if (unread == 0) continue;
    const std::uint64_t so_far = process.segment.windowed_calls(function) + unread;
    draft.progress.calls.push_back({process.lane, function, so_far});
    draft.calls += unread;
  }
  draft.packet.id = windows_.next_id(drain);
  draft.packet.tombstone = true;
  wire::Tombstone tombstone{why_given_up(process), draft.calls};
  tombstone.lanes.push_back({drain.leaf, process.lane, draft.calls});
  draft.packet.payload = wire::encode(tombstone);
  if (!packets_.write(draft, drain.now)) return false;
  process.windowed += draft.calls;
  for (const RingMark& mark : draft.progress.rings) {
    process.cursors[mark.ring].position = mark.to.window_position;
  }
  processes_.apply(draft.progress);
  return true;
}

bool LossWriter::give_up_events(WatchedProcess& process, const Drain& drain) {
  Draft draft;
  std::uint64_t all_events = 0;
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    RingMark mark{process.lane, ring, process.segment.progress(ring)};
    const std::uint64_t events = process.segment.unreadable(ring, mark.to.chunk_position);
    if (events == 0) continue;
    std::uint64_t calls = 0;
    for (const FunctionId function : process.segment.function_ids()) {
      calls += process.segment.recorded_calls(ring, function);
    }
    calls -= std::min(calls, mark.to.chunk_calls);
    all_events += events;
    draft.calls += calls;
    mark.to.chunk_position += events;
    mark.to.chunk_events += events;
    mark.to.chunk_calls += calls;
    draft.progress.rings.push_back(mark);
  }
  if (all_events == 0) return true;
  draft.packet.id = ChunkWriter::next_id(process, drain.leaf);
  draft.packet.id.wave_end = draft.packet.id.wave + all_events;
  draft.packet.tombstone = true;
  draft.packet.payload = wire::encode(wire::Tombstone{why_given_up(process), draft.calls});
  if (!packets_.write(draft, drain.now)) return false;
  processes_.apply(draft.progress);
  return true;
}

}  // namespace xylem::backend
