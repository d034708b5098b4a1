#include "predict/network/fabric.h"

#include <algorithm>

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

/// All times that are not in `ends` or not in those of the memory.
std::vector<Femtoseconds> times_of(const LogGps& ends, const Fabric& fabric,
                                   const MemoryPath& memory, std::span<const Femtoseconds> others) {
  std::vector<Femtoseconds> times(others.begin(), others.end());
  times.insert(times.end(), {fabric.switch_time, fabric.channel_per_byte, memory.latency,
                             memory.per_byte, ends.latency, ends.gap_per_byte});
  return times;
}

}  // namespace

FabricCosts::FabricCosts(const LogGps& ends, const Fabric& fabric, const MemoryPath& memory,
                         std::span<const Femtoseconds> others)
    : FabricCosts(fabric, ends, of_memory(ends, memory), times_of(ends, fabric, memory, others)) {}

FabricCosts::FabricCosts(const Fabric& fabric, const LogGps& ends, const LogGps& memory,
                         const std::vector<Femtoseconds>& others)
    : ends_(ends, others),
      memory_(memory, others),
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
