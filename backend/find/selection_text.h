#pragma once

// A RankSelection as words of a command line: how `xylem attach` tells the agents that it starts
// what to look for.

#include <string>
#include <vector>

#include "backend/find/rank_search.h"
#include "base/result.h"

namespace xylem::backend {

/// NAME=VALUE for each condition that is there, in a fixed order: match, job, step, port, world,
/// size, listed ("0:4711,1:4712", rank and process), named.
std::vector<std::string> to_words(const RankSelection& selection);

/// The same read again. Fails with kInvalidArgument and the word.
Result<RankSelection> parse_selection(const std::vector<std::string>& words);

}  // namespace xylem::backend
