#include "backend/agent/chunk_writer.h"

#include <algorithm>
#include <span>

#include "backend/leaf/timed_record.h"

namespace xylem::backend {

using capture::Record;

ChunkWriter::ChunkWriter(PacketWriter& packets, const RecordReader& records,
                         RegistrationWriter& registrations, WatchedProcesses& processes,
                         Nanos chunk_age)
    : packets_(packets),
      records_(records),
      registrations_(registrations),
      processes_(processes),
      chunk_age_(chunk_age),
      batch_(RecordReader::kBatch) {}

bool ChunkWriter::drain(Drain& drain) {
  if (!drain.control.chunks) return true;
  for (auto& [lane, process] : processes_) {
    if (!records_.is_readable(process, drain)) continue;
    for (;;) {
      const std::uint64_t waiting = process.waiting_for_chunks();
      if (waiting == 0) process.chunk_since = 0;
      if (waiting == 0 || drain.is_spent()) break;
      if (process.chunk_since == 0) process.chunk_since = drain.now;
      const bool due = drain.now - process.chunk_since >= chunk_age_ ||
                       waiting >= wire::kMaxChunkEvents || process.ended || drain.everything;
      if (!due && !process.is_filling()) break;
      if (!write_chunk(process, drain)) return false;
    }
  }
  return true;
}

Nanos ChunkWriter::next_due(const WatchedProcess& process) const {
  return process.chunk_since == 0 ? 0 : process.chunk_since + chunk_age_;
}

wire::PacketId ChunkWriter::next_id(const WatchedProcess& process, LeafId leaf) {
  wire::PacketId id;
  id.stream = wire::kChunkStream;
  id.lane = process.lane;
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    id.wave += process.segment.progress(ring).chunk_position;
  }
  id.sources = IntervalSet::of(raw(leaf));
  return id;
}

// Writes up to kMaxChunkEvents records of one process, ring by ring.
bool ChunkWriter::write_chunk(WatchedProcess& process, Drain& drain) {
  Draft draft;
  draft.packet.id = next_id(process, drain.leaf);
  events_.clear();
  orders_.clear();
  process.call_sites.begin_chunk(registrations_.has_room_for_definitions());
  for (std::uint32_t ring = 0; ring < process.segment.rings(); ++ring) {
    add_ring(process, ring, draft, drain);
  }
  if (events_.empty()) return true;
  draft.packet.id.wave_end = draft.packet.id.wave + events_.size();
  drain.spend(events_.size());
  if (!registrations_.announce_call_sites(process, drain)) return false;
  draft.packet.payload = encoder_.encode(events_);
  if (!packets_.write(draft, drain.now)) return false;
  processes_.apply(draft.progress);
  for (const RingOrder& ring : orders_) {
    process.chunk_order[ring.ring] = ring.order;
    process.cursors[ring.ring].begins.forget_until(ring.order.last_begin());
  }
  process.chunk_since = 0;
  return true;
}

void ChunkWriter::add_ring(WatchedProcess& process, std::uint32_t ring, Draft& draft,
                           Drain& drain) {
  RingMark mark{process.lane, ring, process.segment.progress(ring)};
  const std::uint64_t before = mark.to.chunk_position;
  ThreadOrder order = process.chunk_order[ring];
  const KnownBegins& begins = process.cursors[ring].begins;
  while (events_.size() < wire::kMaxChunkEvents) {
    const std::size_t room = std::min(wire::kMaxChunkEvents - events_.size(), batch_.size());
    const std::span<Record> batch(batch_.data(), room);
    const std::size_t count = records_.read(process, ring, mark.to.chunk_position, batch, drain);
    if (count == 0) break;
    RunTimes times = records_.times_of(process, drain);
    std::uint64_t calls = 0;
    for (const Record& record : batch.first(count)) {
      const auto [mapped_begin, mapped_end] = times.of(record);
      const Nanos known_begin = std::min(begins.of(record.begin, mapped_begin), mapped_end);
      const auto [begin, end] = order.next(record, known_begin, mapped_end);
      events_.push_back(event_of(record, begin, end, ThreadIndex{ring}));
      events_.back().site = process.call_sites.site_of(record.caller);
      calls += events_.back().calls;
    }
    mark.to.chunk_calls += calls;
    draft.calls += calls;
    mark.to.chunk_position += count;
    mark.to.chunk_events += count;
  }
  if (mark.to.chunk_position == before) return;
  mark.to.chunk_end_ns = order.last_end();
  draft.progress.rings.push_back(mark);
  orders_.push_back({ring, order});
}

}  // namespace xylem::backend
