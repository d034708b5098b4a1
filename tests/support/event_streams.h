#pragma once

// Events like those of programs, and random events, to test and measure chunks. The same seed gives
// the same events within one build.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/chunk.h"

namespace xylem::testing {

/// One rank of HPL with 2 x 2 ranks. Panels travel round a ring while other ranks poll with Iprobe.
/// Tags count panels, and messages shrink with the matrix.
std::vector<wire::Event> hpl_like_events(std::size_t count, std::uint64_t seed);

/// One rank of LAMMPS. Each step has six swaps of ghost atoms with neighbours (Irecv, Send, Wait).
/// Sizes change when neighbour lists are built again. Allreduce is for the thermodynamic output.
std::vector<wire::Event> lammps_like_events(std::size_t count, std::uint64_t seed);

/// Bulk exchange: many calls of Irecv and Isend, then one Waitall with a completion for each
/// request. All completions have the times of the Waitall.
std::vector<wire::Event> exchange_events(std::size_t count, std::uint64_t seed);

/// Events of several threads of one rank, in bursts, each thread with a separate clock.
std::vector<wire::Event> threaded_events(std::size_t count, std::uint64_t seed, unsigned threads);

/// Events with random values in every field, often extremes. Times go forward and backward.
std::vector<wire::Event> random_events(std::size_t count, std::uint64_t seed);

}  // namespace xylem::testing
