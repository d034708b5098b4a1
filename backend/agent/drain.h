#pragma once

// The values of one drain of all rings. Each class that takes part in the drain gets them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "backend/leaf/run_clock.h"
#include "base/clock.h"
#include "base/ids.h"
#include "wire/message.h"

namespace xylem::backend {

/// A `Drain` lives for one call of Collector::drain(), flush() or seal_last(). Borrows the control
/// message and the clock.
struct Drain {
  LeafId leaf{};
  const wire::Control& control;
  const RunClock& clock;

  Nanos now = 0;      ///< The caller's time of the drain, monotonic.
  Nanos run_now = 0;  ///< Begin of the drain, run time.
  /// Run time when the drain last read records. All records that it has read ended before this
  /// time.
  Nanos read_at = 0;
  bool has_looked = false;  ///< The drain has read the calls under way.
  /// Run time just before that, from the tick counter and from the monotonic clock. Empty if no
  /// process with this clock was looked at. See RecordReader::look_time().
  std::optional<Nanos> looked_at_ticks = std::nullopt;
  std::optional<Nanos> looked_at_monotonic = std::nullopt;
  std::uint64_t round = 0;  ///< Number of this drain, from 1.
  /// True in a flush: everything is read and sealed, whatever its age. Every process has ended, or
  /// its later records are ignored.
  bool everything = false;
  std::size_t budget = 0;  ///< Number of records that the drain may still read.

  Nanos run_time(Nanos monotonic) const { return clock.to_run(monotonic); }
  bool is_spent() const { return budget == 0; }
  /// A step without records counts as one, so that every drain ends.
  void spend(std::size_t records) { budget -= std::min(budget, std::max<std::size_t>(1, records)); }
};

}  // namespace xylem::backend
