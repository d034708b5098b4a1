#pragma once

// The segment of a rank without the capture library. Nothing writes into it, so the rank has no
// calls. Otherwise the rank is treated like any other rank: it also has a row in the store and an
// account.

#include <span>
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

}  // namespace xylem::backend
