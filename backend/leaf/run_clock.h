#pragma once

// Converts CLOCK_MONOTONIC of this host to the run's time: the front end's monotonic clock since
// the run's epoch. The links measure the offset between the two clocks. The measurement improves
// with time.

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/leaf/slewed_line.h"
#include "backend/leaf/tick_clock.h"
#include "base/clock.h"

namespace xylem::backend {

/// The newest pieces of an agent's clocks, for a successor. The journal keeps it. The successor
/// converts each time exactly as its predecessor did. So a call that both of them see counts
/// exactly once.
struct ClockMemo {
  /// Older pieces are of interest only for records older than a second.
  static constexpr std::size_t kPieces = 8;

  std::uint32_t tick_pieces = 0;  ///< Number of pieces in `ticks`; 0: no tick clock yet.
  std::uint32_t run_pieces = 0;
  TickPair last_pair;
  double older_ns_per_tick = 0;  ///< For times before ticks[0]; 0: older pieces are left out.
  std::array<TickPiece, kPieces> ticks{};
  std::array<LinePiece, kPieces> run{};
  bool operator==(const ClockMemo& other) const = default;
};

/// Times never go back. A time that was converted once is always converted in the same way, even if
/// the offset changes later (slewed_line.h). On a host that shares the front end's clock, the
/// offset is 0. Not thread-safe.
class RunClock {
 public:
  /// A new offset applies this long after `now`, so that it changes no time of a record that was
  /// read before.
  static constexpr Nanos kLead = 2 * kMillisecond;
  /// Sums of two of these do not overflow.
  static constexpr Nanos kFarthest = 1'000'000'000'000'000'000;

  RunClock() = default;
  /// Continues the clock of a predecessor. If the memo has none, or is damaged, the clock is new.
  explicit RunClock(const ClockMemo& memo);

  /// Sets the newest knowledge: run's time = monotonic time + offset_ns - epoch_ns. `now` is
  /// monotonic. A step applies from `now + kLead` on.
  LineChange follow(Nanos now, Nanos offset_ns, Nanos epoch_ns);
  bool is_set() const noexcept { return line_.is_set(); }

  /// The run's time at a monotonic time; 0 for times before the epoch. The clock must be set.
  Nanos to_run(Nanos monotonic) const;
  const SlewedLine& line() const noexcept { return line_; }

 private:
  SlewedLine line_;
};

/// Describes both clocks.
ClockMemo memo_of(const TickClock& ticks, const RunClock& run);
/// The tick clock of a predecessor; a new one if the memo has none, or is damaged.
TickClock tick_clock_of(const ClockMemo& memo);

}  // namespace xylem::backend
