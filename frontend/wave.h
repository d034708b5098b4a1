#pragma once

// What a tool receives of a stream.

#include <cstdint>

#include "base/interval_set.h"
#include "wire/fields.h"

namespace xylem::frontend {

/// What a stream brings: the reduction of what its sources sent for one wave.
struct Wave {
  std::uint64_t number = 0;
  IntervalSet sources;  ///< Leaf ids. Of a stream without aggregation: one.
  wire::Fields fields;
};

/// What has come of a stream so far.
struct StreamAccount {
  std::uint64_t contributions = 0;  ///< Waves by leaves, each counted once.
  std::uint64_t duplicates = 0;     ///< The same, when they came again.
  std::uint64_t lost = 0;           ///< Waves by leaves that were given up where they were made.
  std::uint64_t unreadable = 0;     ///< Waves by leaves that could not be decoded.
  std::uint64_t refused = 0;        ///< Packets of nobody, or of leaves that never joined: dropped.
};

}  // namespace xylem::frontend
