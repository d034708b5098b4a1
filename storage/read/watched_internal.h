#pragma once

// The time in which processes were watched. All shares of time in MPI are of this time: those of
// the report, of the grids, and of /metrics.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "storage/read/inquiry.h"
#include "storage/read/run_view_internal.h"

namespace xylem::storage {

/// From when to when a process was watched, and the largest number of its threads that called MPI
/// at the same time, at least 1; it counts for the whole time. While the process runs, `end_ns` is
/// the time up to which it is known what the process did: the end of its newest window if the
/// process is in a call, else the end of the run's newest window. While no process calls MPI, it is
/// the newest time that is known of the run, less 2 s. If nothing is heard of the
/// process's host any more, `end_ns` is the end of the host's newest window.
struct Watched {
  Nanos begin_ns = 0, end_ns = 0;
  std::uint64_t threads = 1;
  /// The time of all threads; 0 if the process has not been watched.
  std::uint64_t time_ns() const;
};

/// Reads Watched from columns of SQL. In files of older agents, a process was watched from its
/// first to its last stored event, if all its events are stored. Otherwise it was watched from the
/// first to the last window with a call of the process, in one thread.
class WatchedColumns {
 public:
  explicit WatchedColumns(Inquiry& inquiry);
  static constexpr std::size_t kColumns = 3;
  /// Returns kColumns columns for a query of the table `process p`.
  const std::string& sql() const { return sql_; }
  /// Returns the value of these columns. They may be NULL.
  static Watched read(std::span<const Value> columns);

 private:
  std::string sql_;
};

/// Sums the time in which processes were watched in a grid: row by row, slot by slot. Not
/// thread-safe.
class WatchedGrid {
 public:
  WatchedGrid(const Slots& slots, std::size_t rows)
      : slots_(slots), cells_(rows * slots.count), full_(rows * slots.count) {}
  void add(std::size_t row, const Watched& watched);
  /// Returns the sums, `slots.count` of each row. Call it once, after the last add().
  std::vector<std::uint64_t> take();

 private:
  Slots slots_;
  std::vector<std::uint64_t> cells_;
  // For whole slots: what a slot has more than the slot before it, modulo 2^64.
  std::vector<std::uint64_t> full_;
};

}  // namespace xylem::storage
