#pragma once

// Converts the ticks of records to CLOCK_MONOTONIC of this host. Ticks are readings of the
// processor's time-stamp counter (TSC).
//
// Idea: from time to time the TSC and CLOCK_MONOTONIC are read together. The two readings are a
// pair. Between two neighbouring pairs there is one piece: a straight line, because time is assumed
// to be linear in ticks. A time between two pairs is interpolated. A time after the last pair is
// estimated with the slope of the last finished piece:
//
//   ns |            p2      The kernel steers CLOCK_MONOTONIC by up to 500 ppm. Each
//      |        .--'        piece has its own slope, so it follows the steering. A
//      |    p1-'            piece does not change after its end pair was read.
//      |  .'
//      +------------- ticks
//
// To read a pair, read CLOCK_MONOTONIC, then the TSC, then CLOCK_MONOTONIC again. After several
// tries, keep the pair with the smallest difference between the two CLOCK_MONOTONIC readings. The
// error of the pair is at most half this difference. This error is about 20 to 50 ns.

#include <cstdint>
#include <deque>

#include "base/clock.h"
#include "capture/core/ring.h"

namespace xylem::backend {

/// A pair: the TSC and CLOCK_MONOTONIC at one moment.
struct TickPair {
  std::uint64_t ticks = 0;
  Nanos monotonic_ns = 0;
  Nanos error_ns = 0;  ///< Maximum error of monotonic_ns.
};

/// Reads both clocks 16 times and returns the most exact pair. Takes about 1 µs.
TickPair read_tick_pair();

/// The clock of one host, for all its processes. A TickClock reads no clock itself: the caller adds
/// the pairs.
///
/// Each piece ends at the pair at which the next piece begins, so times do not jump between
/// finished pieces. Times after the last pair are estimates. If the slope does not change, a later
/// pair moves them by at most error_ns(). Not thread-safe.
class TickClock {
 public:
  /// Minimum length of the first piece. Each of its two pairs has an error of up to 50 ns. Over 20
  /// ms this is a slope error of 5 ppm.
  static constexpr Nanos kFirstPiece = 20 * kMillisecond;
  static constexpr Nanos kPiece = 250 * kMillisecond;
  /// Maximum number of pieces that are kept, for the last two minutes. Older times are estimated
  /// with the oldest piece.
  static constexpr std::size_t kPieces = 512;

  /// Adds `pair` if the last pair is old enough, else ignores `pair`. May be called at any time.
  void add(const TickPair& pair);
  /// When to read the next pair.
  Nanos next_pair() const;
  /// True if at least two pairs were added. Call to_monotonic() only if this is true.
  bool is_ready() const noexcept { return pairs_.size() >= 2; }

  /// CLOCK_MONOTONIC at `ticks`. Accepts any number without overflow.
  Nanos to_monotonic(std::uint64_t ticks) const;

  /// Maximum error of times from the pair before the last one until `kPiece` after the last pair,
  /// if the slope does not change.
  Nanos error_ns() const noexcept { return error_ns_; }

 private:
  friend class TickReader;
  struct Piece {
    TickPair begin;
    double ns_per_tick = 0;  // Slope from this piece's begin to the next piece's begin. The last
                             // piece has no end yet: it uses the slope of the piece before.
  };
  std::deque<Piece> pairs_;
  Nanos error_ns_ = 0;
};

/// Converts a time of a record to CLOCK_MONOTONIC. A kMonotonic time is returned unchanged, or
/// limited to a maximum.
Nanos record_time(const TickClock& clock, capture::ClockKind kind, std::uint64_t ticks);

/// Fast record_time() for many consecutive records, about 1 ns each. The reader keeps the piece of
/// the last record and searches only when the ticks are outside this piece. Borrows the clock;
/// valid until the clock's next add(). A kTsc reader needs a clock that is ready. Not thread-safe.
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
    // Converting a signed integer to double is one instruction; converting an unsigned one is not.
    // `length_` is at most 2^62, so the cast is safe.
    const auto signed_after = static_cast<std::int64_t>(after);
    return begin_.monotonic_ns +
           static_cast<Nanos>(static_cast<double>(signed_after) * ns_per_tick_);
  }

 private:
  // Returns false if the ticks are in no piece, or so far after the last pair that the result must
  // be limited.
  bool look_up(std::uint64_t ticks);

  const TickClock& clock_;
  bool is_tsc_;
  TickPair begin_;
  std::uint64_t length_ = 0;  // In ticks; 0 until look_up() has found a piece.
  double ns_per_tick_ = 0;
};

}  // namespace xylem::backend
