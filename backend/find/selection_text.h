#pragma once

// Converts a RankSelection to command-line arguments and back. `xylem attach` passes the selection
// to the agents that it starts.

#include <string>
#include <vector>

#include "backend/find/rank_search.h"
#include "base/result.h"

namespace xylem::backend {

/// Returns NAME=VALUE for each condition that is set. The order is fixed: match, job, step, port,
/// world, size, listed, named. The value of `listed` has rank and pid of each process, for example
/// "0:4711,1:4712".
std::vector<std::string> to_words(const RankSelection& selection);

/// Parses the result of to_words(). Fails with kInvalidArgument; the message quotes the invalid
/// word.
Result<RankSelection> parse_selection(const std::vector<std::string>& words);

}  // namespace xylem::backend
