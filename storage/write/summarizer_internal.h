#pragma once

// Writes summaries of windows (summary_internal.h) after the windows are stored.

#include <array>
#include <cstdint>
#include <limits>

#include "storage/sqlite_internal.h"
#include "storage/summary_internal.h"

namespace xylem::storage {

/// Sums up committed rows in batches of limited size. Uses one connection, inside a transaction
/// that the caller began. The connection keeps a failure. The file has the number of the last row
/// that is summed up. The work always continues after this row, even after a rollback or a crash.
/// The state in memory is only used to decide when the next batch is due.
///
/// A batch sums up rows in the order of the file. It ends before the slot that is still being
/// written, except at the end of the run and if very many rows are waiting. A batch has at most
/// about 130000 rows, and writes at most 512 summaries. It needs at most 40 MB of memory, usually 5
/// MB. Called on the thread that calls the store.
class Summarizer {
 public:
  explicit Summarizer(Connection& connection);

  /// Call it after `rows` rows of windows that begin at `begin_ns` were written. It does no harm if
  /// these rows are rolled back later.
  void note_rows(Nanos begin_ns, std::uint64_t rows);
  /// Returns true if a slot is complete, many rows are waiting, or the file may have older rows
  /// without a summary.
  bool is_due() const;
  /// Writes one batch for each level that has enough rows. `is_last` says that no more windows will
  /// arrive.
  void advance(bool is_last = false);
  /// Deletes all summaries, so that they are made again. Call it if the class of a function arrives
  /// after windows that contain the function.
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
  /// True if the file may have more rows to sum up: at the start, because of a former process,
  /// after forget(), and after a batch that was cut.
  bool is_behind_ = true;
  static constexpr Nanos kNever = std::numeric_limits<Nanos>::min();
  Nanos newest_ns_ = kNever;
  /// For each level: slots that begin before this time are summed up.
  std::array<Nanos, kSummaryLevels> complete_ns_;
  std::vector<FunctionKey> waiting_functions_;  ///< In ascending order.
};

}  // namespace xylem::storage
