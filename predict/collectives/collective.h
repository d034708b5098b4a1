#pragma once

// The collective calls of MPI, and the algorithms that libraries have for them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace xylem::predict {

enum class Collective : std::uint8_t {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
};
constexpr std::size_t kCollectives = 16;

/// schedule.h describes what each of them does.
enum class Algorithm : std::uint8_t {
  kLinear,
  kBinomial,
  kChain,
  kBinaryTree,
  kKnomial,
  kRing,
  kRecursiveDoubling,
  kRecursiveHalving,
  kRabenseifner,
  kBruck,
  kPairwise,
  kScattered,
  kNeighborExchange,
  kDissemination,
  kScatterAllgather,
  kScatterRingAllgather,
  kReduceBcast,
  kReduceScatter,
  kGatherBcast,
};
constexpr std::size_t kAlgorithms = 19;

/// A call, as one rank makes it. Calls of the same collective differ between ranks only in what is
/// said below. Reductions may be done in any order of the ranks.
struct CollectiveCall {
  Collective collective = Collective::kBarrier;
  /// Of bcast, reduce, gather(v) and scatter(v): a rank of the communicator.
  std::uint32_t root = 0;
  /// Bytes of the vector (bcast, reduce, allreduce, scan, exscan), or of the block that a rank
  /// has or gets (allgather, alltoall, gather, scatter, reduce_scatter_block).
  std::uint64_t bytes = 0;
  /// Bytes of an element. Vectors are cut between elements. Above 0.
  std::uint64_t element_bytes = 1;
  /// Of allgatherv, gatherv, scatterv and reduce_scatter: the bytes of each rank's block. Of
  /// alltoallv: the bytes that this rank sends to each rank.
  std::span<const std::uint64_t> sizes;
  /// Of alltoallv: the bytes that this rank gets from each rank.
  std::span<const std::uint64_t> received_sizes;
};

/// "bcast", "reduce_scatter_block", ...: the name without "MPI_", in lower case.
std::string_view name_of(Collective collective);

/// "binomial", "recursive_doubling", ...
std::string_view name_of(Algorithm algorithm);

/// The algorithms for a collective, at least one, in a fixed order.
std::span<const Algorithm> algorithms_for(Collective collective);

/// Whether the call has a block of its own size for each rank, in CollectiveCall::sizes.
bool has_sizes(Collective collective);

}  // namespace xylem::predict
