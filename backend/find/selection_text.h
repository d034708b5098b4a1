#pragma once

// Converts a RankSelection to command-line arguments and back. `xylem attach` passes it to the
// agents that it starts.

#include <string>
#include <vector>

#include "backend/find/rank_search.h"
#include "base/result.h"

namespace xylem::backend {

/// NAME=VALUE for each condition that is set, in a fixed order: match, job, step, port, world,
/// size, listed ("0:4711,1:4712", rank and process), named.
std::vector<std::string> to_words(const RankSelection& selection);

/// Parses the result of to_words(). Fails with kInvalidArgument; the message quotes the invalid
/// word.
Result<RankSelection> parse_selection(const std::vector<std::string>& words);

}  // namespace xylem::backend
