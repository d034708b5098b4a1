#pragma once

// Measures the offset between two clocks with pings, and the maximum error of the offset.
//
// A ping leaves at t1 (child's clock), arrives at t2 and is answered at t3 (parent's clock). The
// answer arrives at t4 (child's clock). A ping and its answer are a *pair*. The parent's clock
// minus the child's is between t3 - t4 and t2 - t1, so the error of ((t2 - t1) + (t3 - t4)) / 2 is
// at most half the round trip. Of the recent pairs, the pair with the smallest round trip gives the
// best bound (minimum-delay pairs; Mills, RFC 5905 section 10). Clock drift makes the bound of old
// pairs worse. Offsets and bounds add up along the path to the front end.

#include <cstddef>
#include <deque>

#include "base/clock.h"

namespace xylem::overlay {

/// Clocks of computers drift apart by less than this many ns per second (parts per billion).
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

  /// Adds a pair; the times are those described above. A pair whose times go backwards is ignored.
  void add(Nanos t1, Nanos t2, Nanos t3, Nanos t4);

  /// The best estimate at `now` (child's clock).
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
