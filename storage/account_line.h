#pragma once

// A rank's line of the account: whether all its calls were stored. The store makes it while it
// writes, and reports make it from a run's file. So both use the same struct.

#include <cstdint>

#include "base/ids.h"

namespace xylem::storage {

/// The account of one rank. The numbers are calls. They are counted separately, and none is
/// computed from the others. So `captured` may differ from `stored` + `lost`: while calls are on
/// their way, or if calls are missing.
struct AccountLine {
  WorldId world{};
  Rank rank{};
  std::uint64_t captured = 0;  ///< As the rank itself has counted.
  std::uint64_t stored = 0;    ///< In committed rows.
  std::uint64_t lost = 0;      ///< Not recorded because a ring was full, or given up later.
  /// True if the process has ended, its host is not lost, and each of its calls is stored or lost.
  bool complete = false;
  bool operator==(const AccountLine&) const = default;
};

}  // namespace xylem::storage
