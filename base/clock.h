#pragma once

// Time is passed as a value: most logic takes `now` as an argument and reads no clock itself.

#include <cstdint>
#include <limits>

namespace xylem {

/// Nanoseconds: a duration or a point in time. If it is a point in time, the variable's name or
/// comment says which clock it refers to.
using Nanos = std::int64_t;

constexpr Nanos kMicrosecond = 1'000;
constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kSecond = 1'000'000'000;
/// Means no timeout, or a deadline that is never reached.
constexpr Nanos kForever = std::numeric_limits<Nanos>::max();

/// CLOCK_MONOTONIC of this host. All deadlines and all offsets between hosts use this clock.
Nanos monotonic_now() noexcept;

/// Returns the time `timeout` after now. Returns kForever if the sum exceeds the clock's range, and
/// now if `timeout` is negative.
inline Nanos deadline_in(Nanos timeout) noexcept {
  const Nanos now = monotonic_now();
  if (timeout > kForever - now) return kForever;
  return timeout < 0 ? now : now + timeout;
}

/// CLOCK_REALTIME. Use it only to say when a run took place, never to measure.
Nanos realtime_now() noexcept;

}  // namespace xylem
