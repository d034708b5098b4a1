#pragma once

// Reads records from rings and converts their times to the run's clock.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "backend/agent/drain.h"
#include "backend/agent/watched_process.h"
#include "backend/leaf/slewed_line.h"
#include "backend/leaf/tick_clock.h"
#include "base/clock.h"
#include "capture/core/ring.h"

namespace xylem::backend {

/// Converts times of one process's records. Valid until the clock is read again.
struct RunTimes {
  TickReader ticks;
  LineReader line;
  Nanos latest;

  /// A time on the run's clock, from 0 to `latest`.
  Nanos of(std::uint64_t time) { return std::clamp<Nanos>(line(ticks(time)), 0, latest); }
  /// Begin and end of the record on the run's clock; 0 <= begin <= end <= latest.
  std::pair<Nanos, Nanos> of(const capture::Record& record) {
    const Nanos end = of(record.end);
    return {std::min(of(record.begin), end), end};
  }
};

/// In each drain call read_clock() first. Not thread-safe.
class RecordReader {
 public:
  /// Number of records read at a time. This number of records, with their times, fits into a
  /// processor's first-level cache.
  static constexpr std::size_t kBatch = 256;

  /// `clock` is the clock of Drain::now; `read_pair` reads the tick counter and this clock
  /// together.
  /// `ticks` is the tick clock of a predecessor, or a new one.
  RecordReader(std::function<Nanos()> clock, std::function<TickPair()> read_pair, TickClock ticks)
      : clock_(std::move(clock)), read_pair_(std::move(read_pair)), ticks_(std::move(ticks)) {}

  /// Reads a tick pair if a pair is due and at least one process uses the tick counter as its
  /// clock.
  void read_clock(const WatchedProcesses& processes, Nanos now);
  const TickClock& ticks() const noexcept { return ticks_; }
  /// When to call read_clock() again to make this process readable; 0: not necessary.
  Nanos next_pair(const WatchedProcess& process) const;

  /// True when the process's records may be read. The process must be announced
  /// (registration_writer.h), and its clock must be known. Records of a process whose MPI_Init has
  /// not returned usually wait until its rank is known. They do not wait when the process has
  /// ended, when one of its rings fills, or in a flush.
  bool is_readable(const WatchedProcess& process, const Drain& drain) const;

  /// Copies up to out.size() records from `position` on; returns how many.
  std::size_t read(const WatchedProcess& process, std::uint32_t ring, std::uint64_t position,
                   std::span<capture::Record> out, Drain& drain) const;
  /// Returns the time at which the drain looks at the calls under way, on the clock of the process.
  /// The first call for a clock reads the clock. If a call is read under way after this, the call
  /// ends after the returned time minus kSettled.
  Nanos look_time(const WatchedProcess& process, Drain& drain) const;
  /// A processor may delay a thread's stores for a moment, but not for longer than this.
  static constexpr Nanos kSettled = 10 * kMicrosecond;

  /// A time of the process's clock on the monotonic clock.
  Nanos monotonic_of(const WatchedProcess& process, std::uint64_t time) const;
  /// A sum of durations of the process's clock, in nanoseconds.
  std::uint64_t duration_of(const WatchedProcess& process, std::uint64_t ticks) const;

  /// The times of records that were read in this drain.
  RunTimes times_of(const WatchedProcess& process, const Drain& drain) const;

 private:
  std::function<Nanos()> clock_;
  std::function<TickPair()> read_pair_;
  TickClock ticks_;
};

}  // namespace xylem::backend
