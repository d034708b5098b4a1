// Payloads of tool streams from a peer that has the key and lies, through a node that reduces them.

#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "filters/aggregation.h"
#include "filters/stream_reducer.h"

using namespace xylem;

namespace {

constexpr const char* kBuiltIns[] = {"sum",     "min",       "max",           "count",
                                     "moments", "histogram", "concatenation", "quantiles",
                                     "top",     "classes",   "matrix"};

wire::Packet packet_of(std::uint64_t leaf, std::uint64_t waves, std::span<const std::byte> bytes) {
  wire::Packet packet;
  packet.id.stream = wire::kFirstToolStream;
  packet.id.wave = 5;
  packet.id.wave_end = 5 + waves;
  packet.id.sources = IntervalSet::of(leaf);
  packet.payload.assign(bytes.begin(), bytes.end());
  return packet;
}

}  // namespace

// The first byte says how many waves the packets claim to hold.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 1) return 0;
  const std::uint64_t waves = 1 + bytes[0] % 4;
  const auto input = std::as_bytes(std::span(bytes, size).subspan(1));
  for (const char* name : kBuiltIns) {
    filters::StreamReducer reducer(*filters::make_aggregation(name, {}), {});
    reducer.set_expected(IntervalSet::range(0, 4));
    std::size_t taken = 0;
    for (std::uint64_t leaf = 0; leaf < 3; ++leaf) {
      if (reducer.add(packet_of(leaf, waves, input), 0)) ++taken;
    }
    CHECK(taken == 0 || taken == 3);  // Equal packets of different leaves fare equally.
    std::uint64_t contributions = 0;
    for (const wire::Packet& packet : filters::pack(wire::kFirstToolStream, reducer.flush())) {
      contributions += packet.id.sources.count() * (packet.id.wave_end - packet.id.wave);
    }
    CHECK(contributions == taken * waves);  // Nobody is counted twice, and nobody left out.
    CHECK(reducer.waiting_bytes() == 0);
  }
  return 0;
}
