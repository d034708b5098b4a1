#pragma once

// The types that a tool receives from a stream.

#include <cstdint>

#include "base/interval_set.h"
#include "wire/fields.h"

namespace xylem::frontend {

/// The reduction of the contributions of its sources to one wave.
struct Wave {
  std::uint64_t number = 0;
  IntervalSet sources;  ///< Leaf ids. In a stream without aggregation: one.
  wire::Fields fields;
};

/// Counters of a stream so far.
struct StreamAccount {
  std::uint64_t contributions = 0;  ///< Waves by leaves, each counted once.
  std::uint64_t duplicates = 0;     ///< Repeated ones.
  std::uint64_t lost = 0;           ///< Waves by leaves that the leaves gave up.
  std::uint64_t unreadable = 0;     ///< Waves by leaves that could not be decoded.
  std::uint64_t refused = 0;        ///< Packets without known leaves: dropped.
};

}  // namespace xylem::frontend
