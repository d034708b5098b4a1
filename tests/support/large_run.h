#pragma once

// Runs of any size for tests and benchmarks, written by the store's own writer.
//
// The program works in steps. In every window each rank exchanges a halo with four neighbours,
// waits and reduces. In about every fourth window it also calls another function. One group of
// ranks is slow, and the other ranks wait for it in MPI_Allreduce. During the run the slow group
// changes up to 15 times. In the first window each rank sends to the ranks beside it and to random
// others. Each host has a service that samples each second, and a back end below a tree of
// communication processes. These processes report their links and hosts as in a real run. The same
// description gives the same run.

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace xylem::testing {

struct LargeRun {
  std::uint32_t ranks = 64;
  std::uint64_t seconds = 60;
  /// Number of single calls, in chunks of 8192 that are spread evenly over ranks and time; 0: no
  /// single calls.
  std::uint64_t events = 0;
  std::uint32_t ranks_a_host = 16;
  /// Number of values in a host's sample, at least 4. A real sample has about 400.
  std::uint32_t values = 4;
  std::uint32_t neighbours = 16;  ///< Number of neighbours to which each rank sends.
  std::uint32_t strangers = 48;   ///< Number of random other ranks to which each rank sends.
  /// Number of last seconds that are written in real time, with a commit after every two windows.
  /// Use it for a run that is read while it is written.
  std::uint64_t live_seconds = 0;
  Nanos window_ns = 250 * kMillisecond;
  std::uint32_t seed = 20261122;

  std::uint32_t hosts() const { return (ranks + ranks_a_host - 1) / ranks_a_host; }
  Nanos length_ns() const { return static_cast<Nanos>(seconds) * kSecond; }
};

/// Number of functions that the run calls. The first four are called in each window.
constexpr std::uint16_t kLargeRunFunctions = 12;

/// Number of children of the front end and of each communication process.
constexpr std::uint32_t kLargeRunFanOut = 16;

/// Writes the run to `path` and replaces an existing file. The run has ended and its account is
/// complete. Takes about 20 us of CPU time for each rank and window (a little more than four rows).
/// A million events take 0.1 s. Stops the program when the store fails.
void write_large_run(const LargeRun& run, const std::string& path);

/// Describes the run with its seed, for a test's output: "1024 ranks, 3600 s, 0 events, seed 7".
std::string describe(const LargeRun& run);

}  // namespace xylem::testing
