#pragma once

// The segment of a rank without the capture library. Nothing writes into it, so the rank has no
// calls. In everything else, from its row in the store to its account, it is treated as any other
// rank.

#include "backend/agent/guard.h"
#include "backend/find/rank_search.h"
#include "base/result.h"

namespace xylem::backend {

/// Makes the segment and a pidfd. Does not touch the process. A process that has ended, or whose
/// pid was reused, has no pidfd and counts as ended. Fails with kExhausted or kInternal when the
/// memory for the segment cannot be made.
Result<HeldProcess> hold_quietly(const FoundRank& rank);

}  // namespace xylem::backend
