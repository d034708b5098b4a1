#pragma once

// A RankSelection as command-line arguments, from `xylem attach` to the agents that it starts.

#include <string>
#include <vector>

#include "backend/find/rank_search.h"
#include "base/result.h"

namespace xylem::backend {

/// NAME=VALUE for each condition that is set, in a fixed order: match, job, step, port, world,
/// size, listed ("0:4711,1:4712", rank and process), named.
std::vector<std::string> to_words(const RankSelection& selection);

/// Parses these words. Fails with kInvalidArgument and the word.
Result<RankSelection> parse_selection(const std::vector<std::string>& words);

}  // namespace xylem::backend
