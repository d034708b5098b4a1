#pragma once

// Decides when to restart a dead process.

#include <cstddef>
#include <deque>

#include "base/clock.h"

namespace xylem::launch {

/// The first restart is immediate. Later restarts come after pauses that double each time, up to
/// kLongestPause. There are at most kMaxStarts restarts within kWindow. After kWindow without a
/// restart, the next one is immediate again. Pure.
class Restarts {
 public:
  static constexpr std::size_t kMaxStarts = 8;
  static constexpr Nanos kWindow = 60 * kSecond;
  static constexpr Nanos kFirstPause = 250 * kMillisecond;
  static constexpr Nanos kLongestPause = 16 * kSecond;

  /// Call it when the process has died or could not be started. Returns the time at which to start
  /// the process again. Counts this as a restart.
  Nanos next(Nanos now);

 private:
  std::deque<Nanos> starts_;  // Times of the restarts within kWindow, the newest last.
};

}  // namespace xylem::launch
