#pragma once

// Writes summaries of windows (summary_internal.h) after the windows themselves.

#include <array>
#include <cstdint>
#include <limits>

#include "storage/sqlite_internal.h"
#include "storage/summary_internal.h"

namespace xylem::storage {

/// Sums up committed rows in batches of limited size. Uses one connection, inside a transaction
/// that the caller began. The connection keeps a failure. The state in memory only says when the
/// next batch is due. The file says which rows are already summed up. So the work always continues
/// after the last row that is summed up in the file, even after a rollback or a crash.
///
/// A batch takes rows in their order, up to the slot that is still being written. It takes at most
/// about 130000 rows or 512 slots and blocks. It needs at most 40 MB, usually 5 MB.
class Summarizer {
 public:
  explicit Summarizer(Connection& connection);

  /// Call it when `rows` rows of windows that begin at `begin_ns` were written. It does no harm if
  /// these rows are rolled back later.
  void note_rows(Nanos begin_ns, std::uint64_t rows);
  /// True if a slot is complete or many rows are waiting.
  bool is_due() const;
  /// Writes one batch for each level that has enough rows. `is_last` says that no more windows will
  /// arrive.
  void advance(bool is_last = false);
  /// Deletes all summaries, so that they are made again. Call it if the class of a function arrived
  /// after windows with that function.
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
  /// True until the file was checked, because another process may have written it.
  bool is_behind_ = true;
  static constexpr Nanos kNever = std::numeric_limits<Nanos>::min();
  Nanos newest_ns_ = kNever;
  /// Slots that begin before this time are summed up.
  std::array<Nanos, kSummaryLevels> complete_ns_;
  std::vector<std::int64_t> waiting_functions_;  ///< In ascending order.
};

}  // namespace xylem::storage
