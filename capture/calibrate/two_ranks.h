#pragma once

// Measures messages between rank 0, which leads, and rank 1, which serves.
//
// The basic measurement is PRTT(n, 0, s) of T. Hoefler, A. Lichei, W. Rehm: Low-Overhead LogGP
// Parameter Assessment for Modern Interconnection Networks (PMEO-PDS 2007; Netgauge): rank 0 sends
// n messages of s bytes, rank 1 answers the last one with a message of s bytes, and rank 0 measures
// the time until it has the answer. Here rank 1 has posted its receives before, and rank 0 starts
// all sends before it waits for them, so that also large messages follow each other without a
// pause.

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "capture/calibrate/mpi_library.h"

namespace xylem::calibrate {

enum class Timing : std::uint8_t {
  kOne,      ///< PRTT(1, 0, s).
  kMany,     ///< PRTT(kManyMessages, 0, s).
  kSend,     ///< MPI_Send. The message before has been taken, and the receive may be posted.
  kReceive,  ///< MPI_Recv of a message that has already arrived.
};

constexpr unsigned kManyMessages = 16;

struct MeasureOptions {
  unsigned repetitions = 50;
  /// The rounds end at this time (monotonic), also if there are fewer.
  Nanos deadline = kForever;
};

/// Where rank 0 puts its results. Called while nothing is measured.
struct Listener {
  /// Each round gives the same number of samples of each kind and size.
  std::function<void(Timing what, std::uint64_t bytes, Nanos took)> sample;
  /// The largest message whose send returns without a receive, and the smallest one whose send
  /// waits for it; 0 if no message up to kMaxEager waits.
  std::function<void(std::uint64_t returns, std::uint64_t waits)> eager;
  std::function<void(unsigned done, unsigned rounds)> progress;
};

/// Largest message of the search for the eager limit.
constexpr std::uint64_t kMaxEager = 4 << 20;

/// Measures, as rank 0 of a world of two. Each round has all sizes from 1 byte to 1 MiB, so a slow
/// moment of the machine harms one sample of each. Sizes that would take too long until the
/// deadline are left out.
///
/// The eager limit is found by bisection: rank 1 lets MPI make progress for some milliseconds
/// before it receives. A send that takes this long has waited for the receive. If a send is merely
/// delayed by the machine, it is repeated. (Some sends that need no receive still wait until the
/// other rank calls MPI, for example those of Open MPI's shared memory. They count as eager.)
void measure_two_ranks(MpiLibrary& mpi, const MeasureOptions& options, const Listener& listener);

/// Serves rank 0 until it has finished, as rank 1.
void serve_two_ranks(MpiLibrary& mpi);

}  // namespace xylem::calibrate
