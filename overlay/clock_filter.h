#pragma once

// Measures the offset between two clocks with pings, and the maximum error of the offset.
//
// A ping leaves at t1 (child's clock), arrives at t2 and is answered at t3 (parent's clock). The
// answer arrives at t4 (child's clock). A ping and its answer are a *pair*. The parent's clock
// minus the child's is between t3 - t4 and t2 - t1. The estimate is the middle of this interval,
// and its error is at most half the round trip. Clock drift adds to the error of old pairs. The
// filter uses the recent pair with the smallest error, usually the one with the smallest round trip
// (Mills, RFC 5905, section 10). Along the path to the front end, the offsets of all links are
// added, and also their errors.

#include <cstddef>
#include <deque>

#include "base/clock.h"

namespace xylem::overlay {

/// Upper bound for the drift between two computers' clocks: ns per second, that is, parts per
/// billion.
constexpr Nanos kMaxDriftPerSecond = 50'000;

struct ClockEstimate {
  bool known = false;
  Nanos offset_ns = 0;      ///< Child's clock + offset = parent's clock.
  Nanos error_ns = 0;       ///< Maximum error of the offset.
  Nanos round_trip_ns = 0;  ///< Smallest round trip of the recent pairs.
};

/// Keeps the recent pairs of one link. Not thread-safe.
class ClockFilter {
 public:
  static constexpr std::size_t kPairs = 16;

  /// Adds a pair; the beginning of this file defines the four times. A pair is ignored if its times
  /// go backwards.
  void add(Nanos t1, Nanos t2, Nanos t3, Nanos t4);

  /// Returns the best estimate at `now` (child's clock).
  ClockEstimate estimate(Nanos now) const;

 private:
  struct Pair {
    Nanos at;
    Nanos offset;
    Nanos round_trip;
  };
  std::deque<Pair> pairs_;
};

}  // namespace xylem::overlay
