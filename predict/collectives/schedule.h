#pragma once

// What one rank does in a collective call: steps, each with messages to send and to receive.
//
// The data of a call are blocks, and a message moves some of them. So a test can move real data and
// look whether each rank ends with what MPI promises. The blocks of p ranks:
//
// - bcast, reduce, allreduce: the parts of the vector; one, or one for each rank that takes part
// - gather(v), scatter(v): block b is that of rank (root + b) mod p
// - allgather(v), reduce_scatter: block b is that of rank b
// - alltoall(v): block s * p + d goes from rank s to rank d
// - scan, exscan: block kGroupSum is sent; block kPrefix is the result
// - barrier: none
//
// The algorithms, for p ranks. Rank numbers count from the root. If p is not a power of two,
// "folded" means: with p = 2^k + x, the ranks 1, 3, ..., 2x-1 give what they have to the rank
// before them, the other 2^k ranks go on, and they give the result to those that waited.
//
// - linear: the root, or rank 0, exchanges a message with each other rank. alltoall: each rank with
//   each other, all at once. scan: from rank to rank
// - binomial: a tree of depth log2 p; the root has the most children
// - chain, binary_tree: the whole vector goes along a chain, or a tree with two children each
// - knomial: as binomial, of radix 4
// - ring: p-1 steps, each with a block from the left and one to the right. allreduce: 2(p-1) steps
// - recursive_doubling: log2 p exchanges with rank xor 2^i, folded. scan: not folded
// - recursive_halving: log2 p exchanges, each with half of the blocks of the one before, folded
// - rabenseifner: reduce-scatter by recursive halving, then allgather by recursive doubling, or
//   gather by a binomial tree for reduce. Both folded
// - bruck: log2 p steps over the distances 2^i, with many blocks each
// - pairwise: p-1 steps, in each an exchange: with rank xor i if p is a power of two, else to
//   rank + i and from rank - i
// - scattered: as linear, but with at most 32 ranks at once
// - neighbor_exchange: p/2 exchanges with the left and the right in turn; p must be even
// - dissemination: log2 p messages to rank + 2^i
// - scatter_allgather: binomial scatter of p parts, then allgather by recursive doubling
// - scatter_ring_allgather: binomial scatter of p parts, then ring allgather
// - reduce_bcast: binomial reduce to rank 0, then binomial bcast
// - reduce_scatter: binomial reduce to rank 0, then linear scatter
// - gather_bcast: linear gather to rank 0, then binomial bcast
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
// MPICH, IJHPCA 19(1), 2005. J. Bruck et al.: Efficient algorithms for all-to-all communications in
// multiport message-passing systems, IEEE TPDS 8(11), 1997.

#include <cstdint>
#include <vector>

#include "predict/collectives/collective.h"

namespace xylem::predict {

/// The blocks first, first + 1, ..., first + count - 1.
struct Blocks {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool operator==(const Blocks&) const = default;
};

/// The blocks of a scan.
constexpr std::uint64_t kGroupSum = 0;
constexpr std::uint64_t kPrefix = 1;

/// What a receiver does with the blocks of a message.
enum class Effect : std::uint8_t {
  kStore,             ///< It has them now.
  kCombine,           ///< It reduces them into its own.
  kCombineAndPrefix,  ///< scan, exscan: it reduces block kGroupSum into both of its blocks.
  kWholePrefix,       ///< The same result by one reduction: block kGroupSum is the whole prefix.
};

struct Message {
  std::uint32_t peer = 0;  ///< A rank of the communicator.
  std::uint64_t bytes = 0;
  std::vector<Blocks> blocks;
  Effect effect = Effect::kStore;  ///< Of messages received.

  bool operator==(const Message&) const = default;
};

/// Messages that are under way together. All receives are posted before the first send; the step
/// ends when all of them have finished, and reductions have been done.
struct Step {
  std::vector<Message> receives;
  std::vector<Message> sends;

  bool operator==(const Step&) const = default;
};

using Schedule = std::vector<Step>;

/// The steps of `rank` among `ranks` ranks. The algorithm is one of algorithms_for(). The root is
/// below `ranks`, and `sizes` and `received_sizes` have `ranks` elements where the call needs them.
/// Neighbor_exchange with an odd number of ranks is ring. Sizes above 2^64 - 1 are 2^64 - 1.
Schedule schedule_of(const CollectiveCall& call, Algorithm algorithm, std::uint32_t ranks,
                     std::uint32_t rank);

}  // namespace xylem::predict
