#pragma once

// How large a ring should be, by what came into it between two looks. Pure.
//
// A ring starts small, since most threads call MPI seldom. It should hold two things:
//
//   - what comes between two looks at the present rate, four times: then a look finds it at most a
//     quarter full, a window is sealed when it is half full, and a quarter is left for a burst;
//   - what a thread that was quiet writes until the next look, once it begins to call as fast as it
//     can. Agents of quiet ranks look seldom (AgentOptions::idle_interval), and a burst that meets
//     a full ring loses records.
//
// A ring never shrinks: the next phase of a program is like one of those before.

#include <cstdint>

#include "base/clock.h"

namespace xylem::backend {

/// What a look found in one ring.
struct RingUse {
  std::uint32_t capacity = 0;  ///< In records; a power of two.
  std::uint64_t came = 0;      ///< Records since the look before, those that were lost included.
  Nanos passed = 0;            ///< Time since the look before.
};

/// A ring of this size holds a rate of two million records a second for an eighth of a second.
constexpr std::uint32_t kMaxGrownRing = 1u << 18;
/// Records a second of a rank that does nothing but call: of small-message benchmarks 1.0 to 1.4
/// million. A ring takes as many until the next look, whatever it did before.
constexpr double kBurstRate = 1e6;

/// How many records the ring should hold: a power of two, at least `use.capacity`, and unless that
/// is larger already, at most kMaxGrownRing.
///
/// `interval` is the time between looks at a ring in use, `longest` between looks at a quiet one.
/// A ring into which nothing came stays as it is.
std::uint32_t wanted_capacity(const RingUse& use, Nanos interval, Nanos longest);

}  // namespace xylem::backend
