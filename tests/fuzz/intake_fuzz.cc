// Packets from a peer that has the key and lies, through merging and into a store. The first byte
// says what the packets pretend to be, the rest is their payload.

#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "filters/profile_merge.h"
#include "filters/wave_merger.h"
#include "storage/write/recorder.h"
#include "storage/write/store.h"
#include "wire/chunk.h"
#include "wire/packet.h"

using namespace xylem;

namespace {

wire::Packet packet_of(std::uint8_t kind, std::uint64_t leaf, std::span<const std::byte> payload) {
  wire::Packet packet;
  packet.id.stream = StreamId{1u + kind % 3u};
  packet.id.wave = wire::window_wave(5, 0);
  packet.id.wave_end = packet.id.wave + 1;
  packet.id.sources = IntervalSet::of(leaf);
  packet.tombstone = (kind & 4) != 0;
  packet.last = (kind & 8) != 0;
  packet.payload.assign(payload.begin(), payload.end());
  if ((kind & 16) != 0) {
    packet.id.stream = (kind & 32) != 0 ? wire::kStreamAccountStream : wire::kFirstStoredStream;
    packet.id.wave_end = packet.id.wave + 1 + (kind >> 6);
    return packet;
  }
  if (packet.id.stream != wire::kChunkStream) return packet;
  packet.id.lane = Lane{1};
  packet.id.wave = 0;
  const auto summary = wire::read_chunk_summary(payload);
  packet.id.wave_end = summary ? summary->events : 1;
  return packet;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 1) return 0;
  const auto payload = std::as_bytes(std::span(bytes, size).subspan(1));
  filters::WaveMerger merger(filters::merge_window_packets);
  storage::Batch batch;
  for (std::uint64_t leaf = 0; leaf < 2; ++leaf) {
    wire::Packet packet = packet_of(bytes[0], leaf, payload);
    batch.rows.emplace_back(packet);
    if (packet.id.stream == wire::kWindowStream) merger.add(std::move(packet), 0);
  }
  for (wire::Packet& packet : merger.flush()) batch.rows.emplace_back(std::move(packet));
  const auto store = storage::make_memory_store();
  CHECK(store->begin_run({}));
  // Twice: the second time everything is known, or refused as it was.
  const storage::Recorded first = storage::record_now(*store, batch);
  CHECK(!first.failure);
  const storage::Recorded second = storage::record_now(*store, batch);
  CHECK(!second.failure && second.refused == first.refused);
  return 0;
}
