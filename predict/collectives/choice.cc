#include "predict/collectives/choice.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/saturating.h"
#include "predict/collectives/open_mpi_choice_internal.h"

namespace xylem::predict {
namespace {

std::uint64_t total_of(const CollectiveCall& call, std::uint32_t ranks) {
  if (!has_sizes(call.collective)) return saturating_multiply<std::uint64_t>(call.bytes, ranks);
  std::uint64_t total = 0;
  for (const std::uint64_t it : call.sizes) total = saturating_add(total, it);
  return total;
}

// MPICH. Limits in bytes; a call above the one is long, above the other very long.
constexpr std::uint64_t kLongBcast = 12288;
constexpr std::uint64_t kVeryLongBcast = 524288;
constexpr std::uint32_t kManyRanks = 8;
constexpr std::uint64_t kLongReduce = 2048;
constexpr std::uint64_t kLongAllreduce = 8;
constexpr std::uint64_t kLongAllgather = 524288;
constexpr std::uint64_t kLongAllgatherOddRanks = 81920;
constexpr std::uint64_t kLongReduceScatter = 524288;
constexpr std::uint64_t kLongAlltoall = 256;
constexpr std::uint64_t kVeryLongAlltoall = 32768;

Algorithm mpich_bcast(const CollectiveCall& call, std::uint32_t ranks) {
  if (ranks < kManyRanks || call.bytes <= kLongBcast) return Algorithm::kBinomial;
  return std::has_single_bit(ranks) && call.bytes <= kVeryLongBcast
             ? Algorithm::kScatterAllgather
             : Algorithm::kScatterRingAllgather;
}

Algorithm mpich_allgather(const CollectiveCall& call, std::uint32_t ranks) {
  const std::uint64_t total = total_of(call, ranks);
  if (std::has_single_bit(ranks)) {
    return total < kLongAllgather ? Algorithm::kRecursiveDoubling : Algorithm::kRing;
  }
  return total < kLongAllgatherOddRanks ? Algorithm::kBruck : Algorithm::kRing;
}

/// The JSON says "fewer than 8 ranks", as for bcast. But the library compares with "at most" where
/// it decides at each call, not when it makes the communicator.
Algorithm mpich_alltoall(const CollectiveCall& call, std::uint32_t ranks) {
  if (ranks > kManyRanks && call.bytes <= kLongAlltoall) return Algorithm::kBruck;
  return call.bytes <= kVeryLongAlltoall ? Algorithm::kScattered : Algorithm::kPairwise;
}

/// Whether a vector is short: by its bytes, or as it has fewer elements than actors.
bool is_short(const CollectiveCall& call, std::uint32_t ranks, std::uint64_t limit) {
  return call.bytes <= limit || call.bytes / call.element_bytes < std::bit_floor(ranks);
}

Algorithm mpich(const CollectiveCall& call, std::uint32_t ranks) {
  switch (call.collective) {
    case Collective::kBarrier:
      return Algorithm::kDissemination;
    case Collective::kBcast:
      return mpich_bcast(call, ranks);
    case Collective::kReduce:
      return is_short(call, ranks, kLongReduce) ? Algorithm::kBinomial : Algorithm::kRabenseifner;
    case Collective::kAllreduce:
      return is_short(call, ranks, kLongAllreduce) ? Algorithm::kRecursiveDoubling
                                                   : Algorithm::kRabenseifner;
    case Collective::kAllgather:
    case Collective::kAllgatherv:
      return mpich_allgather(call, ranks);
    case Collective::kAlltoall:
      return mpich_alltoall(call, ranks);
    case Collective::kAlltoallv:
      return Algorithm::kScattered;
    case Collective::kGather:
    case Collective::kScatter:
      return Algorithm::kBinomial;
    case Collective::kGatherv:
    case Collective::kScatterv:
      return Algorithm::kLinear;
    case Collective::kReduceScatter:
    case Collective::kReduceScatterBlock:
      return total_of(call, ranks) < kLongReduceScatter ? Algorithm::kRecursiveHalving
                                                        : Algorithm::kPairwise;
    case Collective::kScan:
    case Collective::kExscan:
      break;
  }
  return Algorithm::kRecursiveDoubling;
}

/// Bytes by which Open MPI chooses: of a vector or block, except that it takes the sum of all
/// blocks for reduce_scatter, and their mean for allgatherv.
std::uint64_t open_mpi_bytes(const CollectiveCall& call, std::uint32_t ranks) {
  switch (call.collective) {
    case Collective::kReduceScatter:
      return total_of(call, ranks);
    case Collective::kAllgatherv:
      return total_of(call, ranks) / ranks;
    default:
      return call.bytes;
  }
}

Algorithm open_mpi(const CollectiveCall& call, std::uint32_t ranks) {
  const Algorithm wanted = open_mpi_choice(call.collective, ranks, open_mpi_bytes(call, ranks));
  const std::uint64_t elements = call.bytes / call.element_bytes;
  if (call.collective == Collective::kAllreduce) {
    if (wanted == Algorithm::kRing && elements < ranks) return Algorithm::kRecursiveDoubling;
    if (wanted == Algorithm::kRabenseifner && elements < std::bit_floor(ranks)) {
      return Algorithm::kLinear;
    }
  }
  if (call.collective == Collective::kReduce && wanted == Algorithm::kRabenseifner &&
      elements < std::bit_floor(ranks)) {
    return Algorithm::kLinear;
  }
  const bool gathers =
      call.collective == Collective::kAllgather || call.collective == Collective::kAllgatherv;
  if (gathers && wanted == Algorithm::kRecursiveDoubling && !std::has_single_bit(ranks)) {
    return Algorithm::kBruck;
  }
  return wanted;
}

}  // namespace

void CollectiveChoice::fix(Collective collective, Algorithm algorithm) {
  CHECK(std::ranges::count(algorithms_for(collective), algorithm) == 1);
  fixed_[static_cast<std::size_t>(collective)] = algorithm;
}

Algorithm CollectiveChoice::choose(const CollectiveCall& call, std::uint32_t ranks) const {
  const auto fixed = fixed_[static_cast<std::size_t>(call.collective)];
  if (fixed) return *fixed;
  return library_ == MpiLibrary::kMpich ? mpich(call, ranks) : open_mpi(call, ranks);
}

}  // namespace xylem::predict
