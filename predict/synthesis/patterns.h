#pragma once

// Programs of a simple pattern: what networks are compared with.

#include <array>
#include <cstdint>

#include "base/result.h"
#include "predict/trace/program.h"

namespace xylem::predict {

/// Maximum number of operations of a program that is made here, or is made by hpl.h. It takes 24
/// GB.
constexpr std::uint64_t kMaxSynthesised = 1'000'000'000;

/// What every rank does: `rounds` times it computes, then exchanges messages of `bytes`.
struct Pattern {
  std::uint32_t ranks = 1;
  std::uint64_t bytes = 0;
  std::uint64_t rounds = 1;
  std::uint64_t compute_ns = 0;
};

/// The sides of a box; their product is the number of ranks.
using Box = std::array<std::uint32_t, 3>;

/// The box of `ranks` points whose longest side is shortest, and of these the one with the shortest
/// second side. The longest side is the first. `ranks` is above 0.
Box near_cube(std::uint32_t ranks);

// All of these fail with kInvalidArgument if there are 0 or more than kMaxRanks ranks, or if the
// program would have more than kMaxSynthesised operations. A rank that is alone only computes.

/// In each round, rank r sends to rank r + 1 while it receives from rank r - 1, around the ring.
Result<Program> ring_program(const Pattern& pattern);

/// In each round a rank exchanges a message with each of its six neighbours in a box that wraps
/// around. `box` has `ranks` points. Rank x + X (y + Y z) is at (x, y, z), as the nodes of
/// make_grid(), so neighbours are neighbours in a torus of the same sizes. All twelve messages of a
/// rank are under way together. A side of 1 has no neighbours; a side of 2 has the same one twice.
/// Also fails if `box` has another number of points.
Result<Program> halo_program(const Pattern& pattern, const Box& box);

/// In each round, a binomial broadcast from rank 0.
Result<Program> binomial_program(const Pattern& pattern);

/// In each round, an allreduce of `bytes` by recursive doubling.
Result<Program> recursive_doubling_program(const Pattern& pattern);

}  // namespace xylem::predict
