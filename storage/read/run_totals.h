#pragma once

// Sums over whole worlds. They are for callers that read a few numbers of the run every few
// seconds.

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "storage/read/run_view.h"

namespace xylem::storage {

/// Sums over the ranks of each world. Only the first kMaxTotals worlds are included.
struct WorldTotals {
  struct World {
    WorldId id{};
    std::uint64_t ranks = 0, complete_ranks = 0;
    /// Sums of the calls in the view `account`.
    std::uint64_t captured = 0, stored = 0, lost = 0;
    std::uint64_t mpi_ns = 0, bytes = 0;  ///< Time in MPI, and payload of all calls.
  };
  Scope scope;
  std::vector<World> worlds;  ///< In the order of ids.
  std::uint64_t worlds_in_all = 0;
};

constexpr std::uint64_t kMaxTotals = 32;

/// All sums are from one commit. Fails if the file cannot be read (see RunFile::query).
Result<WorldTotals> world_totals(RunFile& run);

}  // namespace xylem::storage
