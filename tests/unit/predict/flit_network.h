#pragma once

// A slow and obvious network, to compare with: in each tick each channel passes at most one flit (a
// byte). Knows where each flit is, and keeps no future times. It shares no code with
// predict/network/; paths are lists of channel numbers.

#include <cstdint>
#include <vector>

namespace xylem::predict::testing {

struct FlitMessage {
  std::vector<std::uint32_t> path;
  std::uint32_t flits = 0;   ///< At least 1.
  std::uint32_t header = 0;  ///< Of them. At least 1.
  std::uint64_t sent = 0;
};

/// Messages are numbered in the order of sending. A flit that has passed a channel may pass the
/// next one `switch_time` ticks later. Returns for each message the tick at whose end its last flit
/// has passed its last channel, as the begin of the next tick.
std::vector<std::uint64_t> pass_flits(const std::vector<FlitMessage>& messages,
                                      std::uint32_t channels, std::uint64_t switch_time);

}  // namespace xylem::predict::testing
