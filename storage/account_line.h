#pragma once

#include <cstdint>

#include "base/ids.h"

namespace xylem::storage {

/// The account of one rank. The numbers are calls.
struct AccountLine {
  WorldId world{};
  Rank rank{};
  std::uint64_t captured = 0;
  std::uint64_t stored = 0;
  std::uint64_t lost = 0;
  /// True if the process has ended, its last window is stored, and no data is in flight.
  bool complete = false;
  bool operator==(const AccountLine&) const = default;
};

}  // namespace xylem::storage
