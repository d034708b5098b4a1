#pragma once

#include <cstdint>

#include "base/ids.h"

namespace xylem::storage {

/// One line of the account, in calls.
struct AccountLine {
  WorldId world{};
  Rank rank{};
  std::uint64_t captured = 0;
  std::uint64_t stored = 0;
  std::uint64_t lost = 0;
  bool complete = false;  ///< The process ended, its last window is here, nothing is in flight.
  bool operator==(const AccountLine&) const = default;
};

}  // namespace xylem::storage
