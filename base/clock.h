#pragma once

// Time comes in as a value. Logic takes `now`; only the loops at the edge ask a clock.

#include <cstdint>
#include <limits>

namespace xylem {

/// Nanoseconds. A point in time says in its name on which clock.
using Nanos = std::int64_t;

constexpr Nanos kMicrosecond = 1'000;
constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kSecond = 1'000'000'000;
/// A time-out, or a deadline, that does not come.
constexpr Nanos kForever = std::numeric_limits<Nanos>::max();

/// CLOCK_MONOTONIC of this host: the only clock for deadlines and for offsets between hosts.
Nanos monotonic_now() noexcept;

/// `timeout` from now. However long it is: what exceeds the clock is never. A negative one has
/// passed.
inline Nanos deadline_in(Nanos timeout) noexcept {
  const Nanos now = monotonic_now();
  if (timeout > kForever - now) return kForever;
  return timeout < 0 ? now : now + timeout;
}

/// CLOCK_REALTIME: only to say when a run took place, never to measure.
Nanos realtime_now() noexcept;

}  // namespace xylem
