#pragma once

// How soon a process that died is started again.

#include <cstddef>
#include <deque>

#include "base/clock.h"

namespace xylem::launch {

/// At once the first time, then after pauses that double, and never more than kMost times within
/// kWindow, however soon it dies. After a quiet kWindow all is as at first. Pure.
class Restarts {
 public:
  static constexpr std::size_t kMost = 8;
  static constexpr Nanos kWindow = 60 * kSecond;
  static constexpr Nanos kFirstPause = 250 * kMillisecond;
  static constexpr Nanos kLongestPause = 16 * kSecond;

  /// It died, or did not start, at `now`: when to start it again. It counts as started then.
  Nanos next(Nanos now);

 private:
  std::deque<Nanos> starts_;  // The newest last.
};

}  // namespace xylem::launch
