#pragma once

// Reads each window of a range of time exactly once: from summaries where possible, otherwise from
// rows of `profile_row`.
//
// A range is read level by level, from the highest level down. First, the slots of a level that are
// completely in the range are read. Windows of these slots that this level does not include yet are
// then read from lower levels. Last, the two ends of the range are read in the same way, from the
// level below; below level 0, from rows. In a file without summaries all windows are read from
// rows.

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "storage/read/run_view_internal.h"
#include "storage/summary_internal.h"

namespace xylem::storage {

/// Reads windows for one answer. The ViewReader keeps the first failure. Times must be multiples of
/// the run's window length; ranges are [begin, end). Not thread-safe: used on the thread that asks
/// the query.
class WindowSource {
 public:
  /// One blob of a row of `window_summary`, with the row's level, start and block.
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

  /// Returns the approximate number of rows of `profile_row` in the range. The result may be too
  /// high: rows that are in no summary yet are counted even if they are not in the range.
  std::uint64_t count_rows(Nanos begin_ns, Nanos end_ns);
  /// Returns the number of rows of `window_summary` of this level in the range.
  std::uint64_t count_parts(int level, Nanos begin_ns, Nanos end_ns);

  /// Reads cells of `level`. Windows that this level does not include yet are read from lower
  /// levels. Windows that are in no summary are not read; use scan_new_rows() for them. Parts may
  /// extend beyond the range.
  void scan_cells(int level, Nanos begin_ns, Nanos end_ns, const TakePart& take);
  /// Reads the cells of one level and block for the slot that begins at `begin_ns`.
  void scan_part(int level, Nanos begin_ns, std::int64_t block, const TakePart& take);

  /// Reads the blob `what` of the slots of `level` that are completely in the range. Windows that
  /// this level does not include yet, and the ends of the range, are read from lower levels. If
  /// `blocks` is not empty, only these blocks are read.
  void scan_slots(int level, Nanos begin_ns, Nanos end_ns, const std::string& what,
                  const std::vector<std::int64_t>& blocks, const TakePart& take);
  /// Reads `columns` of `profile_row` for the windows that scan_slots() does not read: windows that
  /// are in no summary, and windows at the ends of the range. `level` must be the same as for
  /// scan_slots().
  void scan_rows_beside(int level, Nanos begin_ns, Nanos end_ns, const std::string& columns,
                        const TakeRow& take);
  /// Reads `columns` of `profile_row` for the windows that are in no summary.
  void scan_new_rows(Nanos begin_ns, Nanos end_ns, const std::string& columns, const TakeRow& take);

 private:
  void scan(int level, Nanos begin_ns, Nanos end_ns, const std::string& what,
            const std::string& condition, const TakePart& take);
  void scan_old_rows(Nanos begin_ns, Nanos end_ns, const std::string& columns, const TakeRow& take);
  std::string not_in(int level) const;

  ViewReader& reader_;
  Nanos window_ns_;
  bool has_summaries_ = false;
  /// `summary_state.done` of each level. The last entry stays 0, because it belongs to no level.
  std::array<std::int64_t, kSummaryLevels + 1> done_{};
};

}  // namespace xylem::storage
