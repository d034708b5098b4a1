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
  /// True if the process has ended, its host is not lost, and each of its calls is stored or lost.
  bool complete = false;
  bool operator==(const AccountLine&) const = default;
};

}  // namespace xylem::storage
