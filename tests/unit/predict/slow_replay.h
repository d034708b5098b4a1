#pragma once

// A slow and obvious replay, to compare with. It keeps no queue: for each event it looks at all
// operations and messages, and takes the one that can happen first. It shares no code with
// predict/replay/ and predict/network/loggps.cc.

#include <cstdint>
#include <optional>
#include <vector>

#include "predict/network/loggps.h"
#include "predict/trace/program.h"

namespace xylem::predict::testing {

struct SlowPrediction {
  std::vector<std::uint64_t> end_ns;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t unreceived = 0;
};

/// The nodes of ranks, and the latency and time per byte between ranks of one node.
struct SlowNodes {
  std::vector<std::uint32_t> node_of_rank;
  Femtoseconds latency{};
  Femtoseconds per_byte{};
};

/// Nothing if ranks wait forever. Without nodes, each rank has one of its own.
std::optional<SlowPrediction> slow_replay(const Program& program, const LogGps& parameters,
                                          const SlowNodes& nodes = {});

}  // namespace xylem::predict::testing
