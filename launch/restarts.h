#pragma once

// Decides when to restart a dead process.

#include <cstddef>
#include <deque>

#include "base/clock.h"

namespace xylem::launch {

/// The first restart is immediate, later ones follow pauses that double, with at most kMaxStarts
/// restarts within kWindow. After kWindow without a restart it begins again. Pure.
class Restarts {
 public:
  static constexpr std::size_t kMaxStarts = 8;
  static constexpr Nanos kWindow = 60 * kSecond;
  static constexpr Nanos kFirstPause = 250 * kMillisecond;
  static constexpr Nanos kLongestPause = 16 * kSecond;

  /// The process died, or did not start, at `now`. Returns when to start it again; it counts as
  /// started then.
  Nanos next(Nanos now);

 private:
  std::deque<Nanos> starts_;  // The newest last.
};

}  // namespace xylem::launch
