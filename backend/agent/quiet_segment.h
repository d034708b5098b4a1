#pragma once

// The segment of a rank without the capture library. Nothing writes into it, so the rank has no
// calls. In everything else, from its row in the store to its account, it is treated as any other
// rank.

#include <span>
#include <string>
#include <vector>

#include "backend/agent/guard.h"
#include "backend/find/rank_search.h"
#include "base/result.h"

namespace xylem::backend {

/// Makes the segment and a pidfd. Does not touch the process. A process that has ended, or whose
/// pid was reused, has no pidfd and counts as ended. Fails with kExhausted or kInternal when the
/// memory for the segment cannot be made.
Result<HeldProcess> hold_quietly(const FoundRank& rank);

/// Does this for each of `ranks`, and leaves out processes that have ended. Fails as
/// hold_quietly() for the first rank that fails.
Result<std::vector<HeldProcess>> hold_all_quietly(std::span<const FoundRank> ranks);

struct PresentRanks {
  std::vector<HeldProcess> held;
  std::string note;  ///< If no rank was found: the number of unreadable processes; else "".
};

/// Finds the selected ranks of this host and holds them. If the user has named the job, other
/// users' processes are searched too, as far as the system allows it. Reads the table of processes
/// at `root`. Fails as hold_all_quietly().
Result<PresentRanks> hold_selected(const RankSelection& selection,
                                   const std::string& root = "/proc");

}  // namespace xylem::backend
