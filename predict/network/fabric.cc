#include "predict/network/fabric.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/saturating.h"

namespace xylem::predict {
namespace {

LogGps of_memory(LogGps ends, const MemoryPath& memory) {
  ends.latency = memory.latency;
  ends.gap_per_byte = memory.per_byte;
  return ends;
}

Ticks limited(Ticks ticks) { return std::min(ticks, kMaxTicks); }

}  // namespace

FabricCosts::FabricCosts(const LogGps& ends, const Fabric& fabric, const MemoryPath& memory)
    : FabricCosts(fabric, ends, of_memory(ends, memory)) {}

FabricCosts::FabricCosts(const Fabric& fabric, const LogGps& ends, const LogGps& memory)
    : ends_(ends, std::array{fabric.switch_time, fabric.channel_per_byte, memory.latency,
                             memory.gap_per_byte}),
      memory_(memory, std::array{fabric.switch_time, fabric.channel_per_byte, ends.latency,
                                 ends.gap_per_byte}),
      switch_time_(ends_.ticks(fabric.switch_time)),
      channel_per_byte_(ends_.ticks(fabric.channel_per_byte)),
      header_share_(fabric.header_share) {
  CHECK(fabric.header_share <= kWhole);
  CHECK(ends_.ticks_per_ns() == memory_.ticks_per_ns());
}

Ticks FabricCosts::transfer(std::uint64_t bytes) const {
  return limited(saturating_multiply(bytes, channel_per_byte_));
}

Ticks FabricCosts::slower_than_receiver(std::uint64_t bytes) const {
  return saturating_subtract(transfer(bytes), ends_.receive_cpu(bytes) - ends_.overhead());
}

}  // namespace xylem::predict
