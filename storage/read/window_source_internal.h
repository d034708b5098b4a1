#pragma once

// Windows of a range of time, each once: out of summaries where there are, else out of their rows.
//
// A range is covered from the top: the slots of a level that lie wholly in it, then what of them is
// not in that level yet (rows of lower levels, windows of late), then the edges by the level below.
// Files without summaries are a range whose windows are all new.

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "storage/read/run_view_internal.h"
#include "storage/summary_internal.h"

namespace xylem::storage {

/// One answer's way to windows. Failures stick in the reader. Times are multiples of the run's
/// windows, ranges are [begin, end).
class WindowSource {
 public:
  /// What a row of window_summary is: its level, its begin, its block, and a blob.
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

  /// Rows of profile_row in the range, about: it may be a few thousand more.
  std::uint64_t count_rows(Nanos begin_ns, Nanos end_ns);
  /// Rows of window_summary.
  std::uint64_t count_parts(int level, Nanos begin_ns, Nanos end_ns);

  /// Cells of `level` and, where that does not reach yet, of lower levels; what is new, as rows of
  /// profile_row, is left to scan_new_rows. Parts may reach beyond the range.
  void scan_cells(int level, Nanos begin_ns, Nanos end_ns, const TakePart& take);
  /// Rows of one level and block that begin then.
  void scan_part(int level, Nanos begin_ns, std::int64_t block, const TakePart& take);

  /// The blob `what` of slots that lie wholly in the range, at `level` and lower ones where that
  /// does not reach, and then windows at its edges as rows. `blocks`: only these; empty: all.
  void scan_slots(int level, Nanos begin_ns, Nanos end_ns, const std::string& what,
                  const std::vector<std::int64_t>& blocks, const TakePart& take);
  /// Windows at the edges of such slots, and new ones: `columns` of profile_row. The lowest level
  /// is told too, for it says where the edges begin.
  void scan_rows_beside(int level, Nanos begin_ns, Nanos end_ns, const std::string& columns,
                        const TakeRow& take);
  /// Windows that are in no summary.
  void scan_new_rows(Nanos begin_ns, Nanos end_ns, const std::string& columns, const TakeRow& take);

 private:
  void scan(int level, Nanos begin_ns, Nanos end_ns, const std::string& what,
            const std::string& condition, const TakePart& take);
  void scan_old_rows(Nanos begin_ns, Nanos end_ns, const std::string& columns, const TakeRow& take);
  std::string not_in(int level) const;

  ViewReader& reader_;
  Nanos window_ns_;
  bool has_summaries_ = false;
  std::array<std::int64_t, kSummaryLevels + 1> done_{};  ///< The last one stays 0: nothing above.
};

}  // namespace xylem::storage
