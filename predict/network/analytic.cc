#include "predict/network/analytic.h"

#include <algorithm>

#include "base/saturating.h"

namespace xylem::predict {
namespace {

__extension__ using Wide = unsigned __int128;

/// a b / c, rounded down; kMaxTicks if that is larger. `c` is not 0.
Ticks scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const Wide result = Wide{a} * b / c;
  return result > kMaxTicks ? kMaxTicks : static_cast<Ticks>(result);
}

Ticks limited_sum(Ticks a, Ticks b) { return std::min(saturating_add(a, b), kMaxTicks); }

}  // namespace

ChannelLoad measured_load(Ticks busy, std::uint64_t messages, Ticks duration) {
  if (messages == 0 || busy == 0) return {};
  return {duration == 0 ? kMaxTicks : scaled(busy, kFullLoad, duration), busy / messages};
}

Ticks PathDelay::total() const {
  return limited_sum(limited_sum(limited_sum(switches, headers), limited_sum(transfer, storing)),
                     waiting);
}

std::optional<Ticks> mean_wait(const ChannelLoad& channel) {
  if (channel.load >= kFullLoad) return std::nullopt;
  return scaled(channel.service, channel.load, kFullLoad - channel.load);
}

std::optional<PathDelay> mean_delay(const FabricCosts& costs, std::span<const ChannelLoad> channels,
                                    std::uint64_t bytes) {
  const Ticks transfer = costs.transfer(bytes), header = costs.header(transfer);
  const std::uint64_t switches = channels.size();
  PathDelay delay{.switches = scaled(switches, costs.switch_time(), 1),
                  .headers = scaled(switches, header, 1),
                  .transfer = transfer};
  for (const ChannelLoad& it : channels) {
    const auto wait = mean_wait(it);
    if (!wait) return std::nullopt;
    delay.waiting = limited_sum(delay.waiting, *wait);
    delay.storing = limited_sum(delay.storing, scaled(transfer - header, it.load, kFullLoad));
  }
  return delay;
}

}  // namespace xylem::predict
