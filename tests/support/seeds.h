#pragma once

// How many random seeds a property test tries.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace xylem::testing {

/// Returns a fifth of `all`, and at least 1. Returns `all` if the environment variable
/// XYLEM_ALL_SEEDS is 1, as in the tests `exactly_once_all_seeds` and `chaos_all_seeds`.
inline std::uint64_t seeds_to_try(std::uint64_t all) {
  const char* text = std::getenv("XYLEM_ALL_SEEDS");
  const bool tries_all = text != nullptr && std::string_view(text) == "1";
  return tries_all ? all : std::max<std::uint64_t>(all / 5, 1);
}

}  // namespace xylem::testing
