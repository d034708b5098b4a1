#pragma once

// The types that a tool receives from a stream.

#include <cstdint>

#include "base/interval_set.h"
#include "wire/fields.h"

namespace xylem::frontend {

/// A wave: the reduction of the contributions of its sources.
struct Wave {
  std::uint64_t number = 0;
  IntervalSet sources;  ///< Leaf ids. In a stream without aggregation, a wave has only one source.
  wire::Fields fields;
};

/// Counters of a stream so far.
struct StreamAccount {
  std::uint64_t contributions = 0;  ///< Contributions of leaves to waves, without duplicates.
  std::uint64_t duplicates = 0;     ///< Contributions that arrived again.
  std::uint64_t lost = 0;           ///< Contributions that leaves have given up.
  std::uint64_t unreadable = 0;     ///< Contributions that could not be decoded, or whose wave
                                    ///< could not be finished.
  std::uint64_t refused = 0;        ///< Packets that were dropped because a source had not joined.
};

}  // namespace xylem::frontend
