#pragma once

// Events as programs make them, and as nobody does: what chunks are tested and measured with.
// All are made from a seed; the same seed gives the same events within one build.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/chunk.h"

namespace xylem::testing {

/// What an MPI library hands out as requests.
enum class Requests {
  kPointers,  ///< Open MPI: addresses from a free list.
  kNumbers,   ///< MPICH: 0x98000000 and a small number.
};

/// One rank of HPL: panels travel round a ring while others poll with Iprobe; tags count panels,
/// messages shrink with the matrix. 2 x 2 ranks.
std::vector<wire::Event> hpl_like_events(std::size_t count, std::uint64_t seed);

/// One rank of LAMMPS: per step six swaps of Irecv, Send, Wait with ghosts of neighbours, sizes
/// that change when neighbour lists are built anew, Allreduce for thermodynamic output.
std::vector<wire::Event> lammps_like_events(std::size_t count, std::uint64_t seed,
                                            Requests requests);

/// Bulk exchange: many Irecv and Isend, one Waitall with a completion for each request, all of them
/// with the times of the Waitall.
std::vector<wire::Event> exchange_events(std::size_t count, std::uint64_t seed);

/// Events of several threads of one rank, in bursts, each thread with its own clock.
std::vector<wire::Event> threaded_events(std::size_t count, std::uint64_t seed, unsigned threads);

/// Every field any value, preferring extremes; no two alike, times forward and backward.
std::vector<wire::Event> random_events(std::size_t count, std::uint64_t seed);

}  // namespace xylem::testing
