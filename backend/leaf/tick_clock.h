#pragma once

// Converts the ticks of records to CLOCK_MONOTONIC of this host. Ticks are readings of the
// processor's time-stamp counter (TSC).
//
// Idea: from time to time the TSC and CLOCK_MONOTONIC are read together. The two readings are a
// pair. The clock is a line of pieces. At each pair a new piece begins, where the piece before
// ends. Its slope leads to the place where the next pair is expected:
//
//   ns |            .p2     The rate between the last two pairs says where the next pair will be.
//      |       . - '        The kernel steers CLOCK_MONOTONIC by up to 500 ppm, and each pair has a
//      |     p1'            small error. So a pair is not on the line; the next piece makes up for
//      |  .'                it.
//      +------------- ticks
//
// A pair changes no time before it. So ticks that were converted once always have the same time,
// and the times of later ticks are not earlier.
//
// To read a pair, read CLOCK_MONOTONIC, then the TSC, then CLOCK_MONOTONIC again. After several
// tries, keep the pair with the smallest difference between the two CLOCK_MONOTONIC readings. The
// error of the pair is at most half this difference. This error is about 20 to 50 ns.

#include <cstdint>
#include <deque>
#include <span>

#include "base/clock.h"
#include "capture/core/ring.h"

namespace xylem::backend {

/// A pair: the TSC and CLOCK_MONOTONIC at one moment.
struct TickPair {
  std::uint64_t ticks = 0;
  Nanos monotonic_ns = 0;
  Nanos error_ns = 0;  ///< Maximum error of monotonic_ns.
  bool operator==(const TickPair&) const = default;
};

/// Reads both clocks 16 times and returns the most exact pair. Takes about 1 µs.
TickPair read_tick_pair();

/// A part of the clock, up to the beginning of the next part.
struct TickPiece {
  std::uint64_t ticks = 0;
  Nanos ns = 0;  ///< The time at `ticks`.
  double ns_per_tick = 0;
  bool operator==(const TickPiece&) const = default;
};

/// The clock of one host, for all its processes. A TickClock reads no clock itself: the caller adds
/// the pairs.
///
/// Add a pair only if all ticks converted so far are smaller. Then no time changes later, and later
/// ticks never have an earlier time. Not thread-safe.
class TickClock {
 public:
  /// Minimum length of the first piece. Each of its two pairs has an error of up to 50 ns. Over 20
  /// ms this is a slope error of 5 ppm.
  static constexpr Nanos kFirstPiece = 20 * kMillisecond;
  /// Minimum length of the other pieces. They are longer while the agent sleeps.
  static constexpr Nanos kPiece = 250 * kMillisecond;
  /// Maximum number of pieces that are kept, for the last two minutes. Times before the first piece
  /// are converted with the rate of the first piece, and so always in the same way. When pieces are
  /// dropped, older times are estimated with the median rate of the pieces that stay. A single
  /// piece would not do: it may be steep, because it corrects an error. So a caller that needs an
  /// older time again must keep it.
  static constexpr std::size_t kPieces = 512;
  /// If a pair is later than the line by more than this, the line steps to the pair. The host may
  /// have slept.
  static constexpr Nanos kJump = 1 * kSecond;

  TickClock() = default;
  /// Continues a clock that pieces(), last_pair() and older_ns_per_tick() have described.
  /// `older_ns_per_tick` is 0 if the oldest pieces are missing.
  TickClock(std::span<const TickPiece> pieces, const TickPair& last_pair, double older_ns_per_tick)
      : pieces_(pieces.begin(), pieces.end()),
        older_ns_per_tick_(older_ns_per_tick),
        last_(last_pair),
        has_pair_(last_pair.ticks != 0) {
    if (older_ns_per_tick_ == 0 && is_ready()) older_ns_per_tick_ = usual_rate();
  }

  /// Adds `pair` if the last pair is old enough, else ignores `pair`. May be called at any time.
  void add(const TickPair& pair);
  /// When to read the next pair.
  Nanos next_pair() const;
  /// True if at least two pairs were added. Call to_monotonic() only if this is true.
  bool is_ready() const noexcept { return !pieces_.empty(); }

  /// CLOCK_MONOTONIC at `ticks`. Accepts any number without overflow.
  Nanos to_monotonic(std::uint64_t ticks) const;

  /// Estimated error of times from the last pair until the next one, if the next pair comes as late
  /// after it as it came after the one before, or after `kPiece`.
  Nanos error_ns() const noexcept { return error_ns_; }

  const std::deque<TickPiece>& pieces() const noexcept { return pieces_; }
  const TickPair& last_pair() const noexcept { return last_; }
  /// The rate for times before the oldest piece.
  double older_ns_per_tick() const noexcept { return older_ns_per_tick_; }

 private:
  friend class TickReader;
  static Nanos time_at(const TickPiece& piece, std::uint64_t ticks);
  double usual_rate() const;

  std::deque<TickPiece> pieces_;
  double older_ns_per_tick_ = 0;
  TickPair last_;
  bool has_pair_ = false;
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
    std::uint64_t after = ticks - piece_.ticks;
    if (after >= length_) {
      if (!look_up(ticks)) return clock_.to_monotonic(ticks);
      after = ticks - piece_.ticks;
    }
    // Converting a signed integer to double is one instruction; converting an unsigned one is not.
    // `length_` is at most 2^62, so the cast is safe.
    const auto signed_after = static_cast<std::int64_t>(after);
    return piece_.ns + static_cast<Nanos>(static_cast<double>(signed_after) * piece_.ns_per_tick);
  }

 private:
  // Returns false if the ticks are in no piece, or so far after the last pair that the result must
  // be limited.
  bool look_up(std::uint64_t ticks);

  const TickClock& clock_;
  bool is_tsc_;
  TickPiece piece_;
  std::uint64_t length_ = 0;  // In ticks; 0 until look_up() has found a piece.
};

}  // namespace xylem::backend
