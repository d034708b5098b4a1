#pragma once

#include <cstdint>

namespace xylem::backend {

/// A ring's progress in the journal. All numbers only grow.
struct RingProgress {
  std::uint64_t window_position = 0;  ///< Records before it are in journalled windows.
  std::uint64_t chunk_position = 0;   ///< Records before it are in journalled chunks.
  std::uint64_t chunk_events = 0;     ///< Records that chunks hold; fewer when chunks were off.
  std::uint64_t chunk_calls = 0;      ///< Calls that these records stand for.
  bool operator==(const RingProgress&) const = default;
};

}  // namespace xylem::backend
