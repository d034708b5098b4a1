#include "overlay/clock_filter.h"

namespace xylem::overlay {

void ClockFilter::add(Nanos t1, Nanos t2, Nanos t3, Nanos t4) {
  const Nanos round_trip = (t4 - t1) - (t3 - t2);
  if (t4 < t1 || t3 < t2 || round_trip < 0) return;
  pairs_.push_back({t4, ((t2 - t1) + (t3 - t4)) / 2, round_trip});
  if (pairs_.size() > kPairs) pairs_.pop_front();
}

ClockEstimate ClockFilter::estimate(Nanos now) const {
  ClockEstimate best;
  for (const Pair& pair : pairs_) {
    const Nanos age = now > pair.at ? now - pair.at : 0;
    // Rounded up: a bound must not be smaller than what it bounds.
    const Nanos error = pair.round_trip / 2 + 1 + age / kSecond * kMaxDriftPerSecond +
                        age % kSecond * kMaxDriftPerSecond / kSecond;
    if (!best.known || error < best.error_ns) {
      best.offset_ns = pair.offset;
      best.error_ns = error;
    }
    if (!best.known || pair.round_trip < best.round_trip_ns) best.round_trip_ns = pair.round_trip;
    best.known = true;
  }
  return best;
}

}  // namespace xylem::overlay
