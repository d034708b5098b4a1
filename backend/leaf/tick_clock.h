#pragma once

// Turns the ticks of records into CLOCK_MONOTONIC of this host.
//
// Idea: both clocks are read together from time to time. Time is linear between two such pairs, so
// a record, which is always in the past, is interpolated between the pairs around it:
//
//   ns |            p2      The slope of each piece follows what the kernel does to
//      |        .--'        CLOCK_MONOTONIC (it is steered by up to 500 ppm), and no
//      |    p1-'            piece changes once its later pair is there.
//      |  .'
//      +------------- ticks
//
// A pair is read as monotonic, ticks, monotonic; the closest of several tries counts. Half the
// distance bounds its error (about 20 to 50 ns).

#include <cstdint>
#include <deque>

#include "base/clock.h"
#include "capture/core/ring.h"

namespace xylem::backend {

/// Both clocks at one moment.
struct TickPair {
  std::uint64_t ticks = 0;
  Nanos monotonic_ns = 0;
  Nanos error_ns = 0;  ///< monotonic_ns is off by at most this.
};

/// Reads the time-stamp counter against CLOCK_MONOTONIC, the closest of 16 tries: about 1 µs.
TickPair read_tick_pair();

/// One host's clock; processes of a host share it. A value: takes pairs and reads no clock itself.
///
/// Times never step back by more than error_ns(): pieces meet in their pairs, only the open end
/// beyond the last pair is estimated from the piece before it.
class TickClock {
 public:
  /// The first piece must be this long for its slope to be good: 100 ns in 20 ms are 5 ppm.
  static constexpr Nanos kFirstPiece = 20 * kMillisecond;
  static constexpr Nanos kPiece = 250 * kMillisecond;
  /// Maximum number of pieces: no record waits longer in a ring.
  static constexpr std::size_t kPieces = 512;

  /// Takes a pair if the last one is old enough. May be called at any rate.
  void add(const TickPair& pair);
  /// When the next pair is worth reading.
  Nanos next_pair() const;
  /// True from the second pair on. Before, to_monotonic() must not be called.
  bool is_ready() const noexcept { return pairs_.size() >= 2; }

  /// CLOCK_MONOTONIC at `ticks`. Accepts any number without overflow.
  Nanos to_monotonic(std::uint64_t ticks) const;

  /// Bound of the error of times between the first and the last pair, and up to kPiece after.
  Nanos error_ns() const noexcept { return error_ns_; }

 private:
  friend class TickReader;
  struct Piece {
    TickPair begin;
    double ns_per_tick = 0;  // Up to the next piece's begin; the last one's is the estimate.
  };
  std::deque<Piece> pairs_;
  Nanos error_ns_ = 0;
};

/// Times of a record by the clock its process uses. kMonotonic passes through.
Nanos record_time(const TickClock& clock, capture::ClockKind kind, std::uint64_t ticks);

/// The same times for many consecutive records, in about a nanosecond each: it keeps the last
/// record's piece and searches only for ticks outside it. Borrows the clock; valid until the
/// clock's next add(). A kTsc reader needs a clock that is ready.
class TickReader {
 public:
  TickReader(const TickClock& clock, capture::ClockKind kind) noexcept
      : clock_(clock), is_tsc_(kind == capture::ClockKind::kTsc) {}

  /// Equal to record_time().
  Nanos operator()(std::uint64_t ticks) {
    if (!is_tsc_) return record_time(clock_, capture::ClockKind::kMonotonic, ticks);
    std::uint64_t after = ticks - begin_.ticks;
    if (after >= length_) {
      if (!look_up(ticks)) return clock_.to_monotonic(ticks);
      after = ticks - begin_.ticks;
    }
    // Signed, since only such a conversion is one instruction; a length fits.
    const auto signed_after = static_cast<std::int64_t>(after);
    return begin_.monotonic_ns +
           static_cast<Nanos>(static_cast<double>(signed_after) * ns_per_tick_);
  }

 private:
  // False when the ticks are in no piece, or so far beyond the last that time must be bounded.
  bool look_up(std::uint64_t ticks);

  const TickClock& clock_;
  bool is_tsc_;
  TickPair begin_;
  std::uint64_t length_ = 0;  // In ticks; none yet.
  double ns_per_tick_ = 0;
};

}  // namespace xylem::backend
