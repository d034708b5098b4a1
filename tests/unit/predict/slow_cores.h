#pragma once

// A slow and obvious scheduler, to compare with: it looks at each rank at each tick. It shares no
// code with predict/node/.

#include <cstdint>
#include <string>
#include <vector>

namespace xylem::predict::testing {

/// A rank is blocked for `pause` ticks after its earlier work, then it has work of `length`.
struct Work {
  std::uint64_t pause = 0;
  std::uint64_t length = 1;
  bool is_whole = false;  ///< It may not be interrupted.
};

/// For each rank a letter for each tick until its end: r (runs), w (waits for a core), - (blocked).
using Letters = std::vector<std::string>;

/// One node. Rank r does work[r], one after the other.
Letters slow_cores(const std::vector<std::vector<Work>>& work, std::uint32_t cores,
                   std::uint64_t slice);

}  // namespace xylem::predict::testing
