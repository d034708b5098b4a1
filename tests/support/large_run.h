#pragma once

// Runs of any size for tests and benchmarks, written by the store's own writer.
//
// A code of steps: each rank exchanges a halo with four neighbours, waits and reduces, in every
// window; in every fourth or so it calls another function too. A group of ranks is slow, and which
// one moves over the run: the others wait for it in MPI_Allreduce. At first each rank talks to the
// ranks beside it and to others at random. Each host has a service that samples each second, and a
// back end below a tree of communication processes, which report their links and hosts as in a real
// run. The same description gives the same run.

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace xylem::testing {

struct LargeRun {
  std::uint32_t ranks = 64;
  std::uint64_t seconds = 60;
  /// Of single calls: so many, in chunks of 8192 spread evenly over ranks and time; 0: none.
  std::uint64_t events = 0;
  std::uint32_t ranks_a_host = 16;
  std::uint32_t values = 4;       ///< Of a host's sample; at least 4. A real one has some 400.
  std::uint32_t neighbours = 16;  ///< Cells of the matrix in each rank's row: those beside it,
  std::uint32_t strangers = 48;   ///< and so many anywhere.
  /// So many of the last seconds are written as they pass, a commit each two windows as a front end
  /// does: a run to look at while it lives.
  std::uint64_t live_seconds = 0;
  Nanos window_ns = 250 * kMillisecond;
  std::uint32_t seed = 20261122;

  std::uint32_t hosts() const { return (ranks + ranks_a_host - 1) / ranks_a_host; }
  Nanos length_ns() const { return static_cast<Nanos>(seconds) * kSecond; }
};

/// Functions that the run calls, by number; the first four in each window.
constexpr std::uint16_t kLargeRunFunctions = 12;

/// Children of the front end, and of each communication process.
constexpr std::uint32_t kLargeRunFanOut = 16;

/// Writes the run to `path`, over what is there; ended, with a whole account. About 20 us of CPU
/// time a rank and window, which is four rows and some, and 0.1 s a million events. Stops the
/// program when the store fails.
void write_large_run(const LargeRun& run, const std::string& path);

/// What the run is, with its seed, for a test's output: "1024 ranks, 3600 s, 0 events, seed 7".
std::string describe(const LargeRun& run);

}  // namespace xylem::testing
