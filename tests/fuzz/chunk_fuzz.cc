// Chunks, from a peer that has the key and lies, or from the file of a store.

#include <cstdint>

#include "base/check.h"
#include "wire/chunk.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto input = std::as_bytes(std::span(bytes, size));
  const auto summary = wire::read_chunk_summary(input);
  const auto events = wire::decode_chunk(input);
  if (!events) {
    CHECK(events.error().code == Code::kCorrupt && !events.error().message.empty());
    return 0;
  }
  CHECK(summary && summary->events == events->size());
  CHECK(!events->empty() && events->size() <= wire::kMaxChunkEvents);
  const auto again = wire::decode_chunk(wire::ChunkEncoder().encode(*events));
  CHECK(again && *again == *events);
  return 0;
}
