#pragma once

// The segment of a rank that has no capture library: nothing writes into it, so the rank has no
// calls, but for all else, from its row in the store to its account, it is a rank like any other.

#include "backend/agent/guard.h"
#include "backend/find/rank_search.h"
#include "base/result.h"

namespace xylem::backend {

/// Makes it, and a descriptor that tells the process's end. The process is not touched; one that
/// has ended since, or whose number is another's by now, comes without that descriptor, as ended.
/// Fails as make_memory().
Result<HeldProcess> hold_quietly(const FoundRank& rank);

}  // namespace xylem::backend
