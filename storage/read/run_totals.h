#pragma once

// Sums over whole worlds. They are for callers that read a few numbers of the run every few
// seconds.

#include <array>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "storage/read/run_view.h"

namespace xylem::storage {

/// Lengths of calls that have not returned.
constexpr std::array<Nanos, 4> kCallLengths = {1 * kSecond, 10 * kSecond, 60 * kSecond,
                                               600 * kSecond};

/// Sums over the ranks of each world. Only the first kMaxTotals worlds are included.
struct WorldTotals {
  struct World {
    WorldId id{};
    std::uint64_t ranks = 0, complete_ranks = 0;
    /// Sums of the calls in the view `account`.
    std::uint64_t captured = 0, stored = 0, lost = 0;
    std::uint64_t mpi_ns = 0, bytes = 0;  ///< Time in MPI, and payload of all calls.
    std::uint64_t watched_ns = 0;  ///< Time in which the ranks were watched, over their threads.
    /// For each of kCallLengths, the number of ranks in a call that has taken longer.
    std::array<std::uint64_t, kCallLengths.size()> ranks_in_call{};
    Nanos longest_call_ns = 0;  ///< The longest of these calls so far; 0: no rank is in a call.
  };
  Scope scope;
  std::vector<World> worlds;  ///< In the order of ids.
  std::uint64_t worlds_in_all = 0;
};

constexpr std::uint64_t kMaxTotals = 32;

/// All sums are from one commit. Fails if the file cannot be read (see RunFile::query).
Result<WorldTotals> world_totals(RunFile& run);

}  // namespace xylem::storage
