#include "backend/agent/watched_process.h"

#include <algorithm>
#include <utility>

namespace xylem::backend {

WatchedProcess::WatchedProcess(Lane number, Segment mapped, Nanos now)
    : lane(number),
      segment(std::move(mapped)),
      added_at(now),
      call_sites(segment.pid(), segment.start_time()),
      cursors(capture::kMaxThreads),
      windowed(segment.windowed_calls()),
      silence(now),
      chunk_order(capture::kMaxThreads) {
  for (std::uint32_t ring = 0; ring < capture::kMaxThreads; ++ring) {
    cursors[ring].position = segment.progress(ring).window_position;
    cursors[ring].order = ThreadOrder(segment.progress(ring).window_end_ns);
    chunk_order[ring] = ThreadOrder(segment.progress(ring).chunk_end_ns);
    cursors[ring].begins.add(segment.progress(ring).open_begin,
                             segment.progress(ring).open_begin_ns, false);
    is_continued |= cursors[ring].position != 0 || segment.progress(ring).charged_ns != 0;
  }
}

bool WatchedProcess::is_filling() const {
  for (std::uint32_t ring = 0; ring < segment.rings(); ++ring) {
    if (segment.is_filling(ring)) return true;
  }
  return false;
}

std::uint64_t WatchedProcess::waiting_for_chunks() const {
  std::uint64_t sum = 0;
  for (std::uint32_t ring = 0; ring < segment.rings(); ++ring) {
    sum += segment.available(ring, segment.progress(ring).chunk_position);
  }
  return sum;
}

bool WatchedProcess::has_unreadable(bool chunks) const {
  for (std::uint32_t ring = 0; ring < segment.rings(); ++ring) {
    std::uint64_t position = cursors[ring].position;
    if (chunks) position = std::min(position, segment.progress(ring).chunk_position);
    if (segment.unreadable(ring, position) != 0) return true;
  }
  return false;
}

bool WatchedProcess::is_read(bool chunks) const {
  for (std::uint32_t ring = 0; ring < segment.rings(); ++ring) {
    if (segment.available(ring, cursors[ring].position) != 0) return false;
  }
  return !has_unreadable(chunks) && (!chunks || waiting_for_chunks() == 0);
}

void WatchedProcesses::add(WatchedProcess process) {
  const Lane lane = process.lane;
  processes_.insert_or_assign(lane, std::move(process));
}

WatchedProcess* WatchedProcesses::find(Lane lane) {
  const auto it = processes_.find(lane);
  return it == processes_.end() ? nullptr : &it->second;
}

void WatchedProcesses::apply(const Progress& progress) {
  for (const RingMark& mark : progress.rings) at(mark.lane).segment.advance(mark.ring, mark.to);
  for (const CallsMark& mark : progress.calls) {
    at(mark.lane).segment.advance_windowed(mark.function, mark.calls);
  }
  for (const Lane lane : progress.finished) {
    at(lane).segment.set_finished();
    processes_.erase(lane);
    note_finished(lane);
  }
}

std::vector<Lane> WatchedProcesses::take_finished() { return std::exchange(finished_, {}); }

}  // namespace xylem::backend
