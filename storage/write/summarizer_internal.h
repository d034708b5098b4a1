#pragma once

// Writes summaries of windows (summary_internal.h) behind the windows themselves.

#include <array>
#include <cstdint>
#include <limits>

#include "storage/sqlite_internal.h"
#include "storage/summary_internal.h"

namespace xylem::storage {

/// Sums up rows that are committed, a bounded batch at a time, through one connection, inside a
/// transaction that the caller began; failures show in the connection. What it keeps between calls
/// says only when it is time: what is summed up already stands in the file, so that after a
/// rollback, a crash, or in a file of an older version it goes on where the file is.
///
/// A batch takes rows in their order, up to the slot that is still being written, and at most some
/// 130000 of them or 512 slots and blocks: 40 MB at the very most, and usually 5.
class Summarizer {
 public:
  explicit Summarizer(Connection& connection);

  /// So many rows of windows that begin then were written. They may be undone later: no harm.
  void note_rows(Nanos begin_ns, std::uint64_t rows);
  /// Whether a slot is complete, or many rows have come.
  bool is_due() const;
  /// One batch of each level that has one. `is_last`: no window will come any more.
  void advance(bool is_last = false);
  /// Throws all summaries away, to be made anew: a function's class came after its windows.
  void forget();

 private:
  struct Batch;
  bool sum_up_rows(bool is_last);
  void add_row(Nanos begin, Batch& batch);
  void sum_up_level(int level);
  Nanos window_ns();
  std::int64_t done(int level);
  void read_waiting();
  void write(int level, const Batch& batch, std::int64_t done);

  Connection& connection_;
  Statement window_, done_, set_done_, rows_, newest_row_, lower_, newest_lower_, waiting_, span_,
      summary_;

  Nanos window_ns_ = 0;
  std::uint64_t pending_rows_ = 0;
  bool is_behind_ = true;  ///< Until it has looked: the file may be another process's.
  static constexpr Nanos kNever = std::numeric_limits<Nanos>::min();
  Nanos newest_ns_ = kNever;
  std::array<Nanos, kSummaryLevels> complete_ns_;  ///< Slots that begin before it are summed up.
  std::vector<std::int64_t> waiting_functions_;    ///< Sorted.
};

}  // namespace xylem::storage
