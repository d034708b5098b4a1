#pragma once

#include <cstdint>

namespace xylem::backend {

/// A ring's progress in the journal. All numbers only grow.
struct RingProgress {
  /// Records with smaller numbers are in journalled windows or in tombstones of windows.
  std::uint64_t window_position = 0;
  /// Records with smaller numbers are in journalled chunks or in tombstones of chunks, or were read
  /// while chunks were off.
  std::uint64_t chunk_position = 0;
  /// Number of records in journalled chunks or in tombstones of chunks.
  std::uint64_t chunk_events = 0;
  std::uint64_t chunk_calls = 0;  ///< Sum of `calls` of these records.
  /// Time of the run up to which the thread's calls are counted in the times of journalled windows.
  std::int64_t charged_ns = 0;
  /// End of the last record in journalled windows, and of the last record in journalled chunks.
  /// Both are times of the run.
  std::int64_t window_end_ns = 0;
  std::int64_t chunk_end_ns = 0;
  /// The last call that was counted while it was under way: its begin in ticks, and the time of the
  /// run that these ticks were converted to. Ticks 0: there was none.
  std::uint64_t open_begin = 0;
  std::int64_t open_begin_ns = 0;
  bool operator==(const RingProgress&) const = default;
};

}  // namespace xylem::backend
