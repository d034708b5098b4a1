#pragma once

// The wait states of a run for people: who caused waiting, the longest waits, and how much of the
// time was analysed. Lists are short for runs of any size.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/read/wait_states.h"

namespace xylem::storage {

/// Empty for a run without events (`--detail trace`).
struct WaitSummary {
  /// Waiting that has this rank as its root cause.
  struct Cause {
    WorldId world{};
    Rank rank{};
    Nanos time_ns = 0;          ///< Sum over the ranks that waited.
    std::uint64_t ranks = 0;    ///< Number of ranks that waited because of it.
    std::vector<Rank> longest;  ///< Those that waited longest, at most kMaxCausedRanks, by number.
  };
  std::vector<Cause> causes;  ///< Sorted by time, descending.
  std::uint64_t causes_in_all = 0;
  std::vector<WaitState> rows;  ///< The longest first.
  std::uint64_t rows_in_all = 0;
  std::vector<WaitCoverage> worlds;  ///< In the order of ids.
  std::string fault;  ///< Why the events cannot be read: a chunk is damaged. Usually empty.

  /// The numbers of all worlds.
  WaitCoverage total() const;
  /// True if the waits of at least one call are known. Events of older versions have no numbers.
  bool is_known() const { return total().analysed.calls != 0; }
};
constexpr std::size_t kMaxCausedRanks = 8;

/// At most `limit` causes and `limit` rows.
WaitSummary summarize(const WaitStates& states, std::size_t limit);

}  // namespace xylem::storage
