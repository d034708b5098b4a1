#pragma once

// The segment of a rank without the capture library. Nothing writes into it, so the rank has no
// calls. Otherwise the rank is treated like any other rank: it also has a row in the store and an
// account.

#include <span>
#include <string>
#include <vector>

#include "backend/agent/guard.h"
#include "backend/find/rank_search.h"
#include "base/result.h"

namespace xylem::backend {

/// Makes the segment and a pidfd. Does not touch the process. A process that has ended, or whose
/// pid was reused, has no pidfd and counts as ended. Fails with kExhausted or kInternal when the
/// memory for the segment or the pidfd cannot be created.
Result<HeldProcess> hold_quietly(const FoundRank& rank);

/// Calls hold_quietly() for each of `ranks`, and leaves out processes that have ended. Fails with
/// the first error of hold_quietly().
Result<std::vector<HeldProcess>> hold_all_quietly(std::span<const FoundRank> ranks);

struct PresentRanks {
  std::vector<HeldProcess> held;
  std::string note;  ///< If no rank was found: the number of unreadable processes; else "".
};

/// Finds the selected ranks of this host and holds them. If the user has named the job, other
/// users' processes are searched too, as far as the system allows it. Reads the table of processes
/// at `root`. Fails like hold_all_quietly().
Result<PresentRanks> hold_selected(const RankSelection& selection,
                                   const std::string& root = "/proc");

}  // namespace xylem::backend
