#pragma once

// Reads each window of a range of time exactly once, from summaries if there are any, else from
// rows.
//
// A range is read level by level, starting at the top. First come the slots of a level that are
// completely in the range. Then come windows of these slots that this level does not contain yet;
// they are read from lower levels. Last come the ends of the range, from the level below. In a file
// without summaries all windows are read from rows.

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "storage/read/run_view_internal.h"
#include "storage/summary_internal.h"

namespace xylem::storage {

/// The access of one answer to windows. The reader keeps the first failure. Times are multiples of
/// the run's windows; ranges are [begin, end).
class WindowSource {
 public:
  /// A row of window_summary: its level, its begin, its block, and a blob.
  struct Part {
    int level = 0;
    Nanos begin_ns = 0;
    std::int64_t block = 0;
    std::span<const std::byte> bytes;
  };
  using TakePart = std::function<void(const Part&)>;
  using TakeRow = std::function<void(std::span<const Value>)>;

  explicit WindowSource(ViewReader& reader);

  Nanos cell_ns(int level) const { return window_ns_ * windows_of_cell(level); }
  Nanos slot_ns(int level) const { return cell_ns(level + 1); }

  /// Returns the approximate number of rows of profile_row in the range. It may be a few thousand
  /// too high.
  std::uint64_t count_rows(Nanos begin_ns, Nanos end_ns);
  /// Returns the number of rows of window_summary.
  std::uint64_t count_parts(int level, Nanos begin_ns, Nanos end_ns);

  /// Reads cells of `level`. Windows that this level does not contain yet are read from lower
  /// levels. New windows are not read: they exist only as rows of profile_row, and scan_new_rows()
  /// reads them. Parts may extend beyond the range.
  void scan_cells(int level, Nanos begin_ns, Nanos end_ns, const TakePart& take);
  /// Reads the rows of one level and block that begin at `begin_ns`.
  void scan_part(int level, Nanos begin_ns, std::int64_t block, const TakePart& take);

  /// Reads the blob `what` of the slots of `level` that are completely in the range. Windows that
  /// this level does not contain yet, and the ends of the range, are read from lower levels. If
  /// `blocks` is not empty, only these blocks are read.
  void scan_slots(int level, Nanos begin_ns, Nanos end_ns, const std::string& what,
                  const std::vector<std::int64_t>& blocks, const TakePart& take);
  /// Reads `columns` of profile_row for the windows that scan_slots() leaves out: new windows, and
  /// windows at the ends of the range. `level` must be the same as for scan_slots(), because it
  /// decides where the ends begin.
  void scan_rows_beside(int level, Nanos begin_ns, Nanos end_ns, const std::string& columns,
                        const TakeRow& take);
  /// Reads the windows that are in no summary.
  void scan_new_rows(Nanos begin_ns, Nanos end_ns, const std::string& columns, const TakeRow& take);

 private:
  void scan(int level, Nanos begin_ns, Nanos end_ns, const std::string& what,
            const std::string& condition, const TakePart& take);
  void scan_old_rows(Nanos begin_ns, Nanos end_ns, const std::string& columns, const TakeRow& take);
  std::string not_in(int level) const;

  ViewReader& reader_;
  Nanos window_ns_;
  bool has_summaries_ = false;
  /// The last entry stays 0, because the highest level has no level above it.
  std::array<std::int64_t, kSummaryLevels + 1> done_{};
};

}  // namespace xylem::storage
