#include "predict/collectives/collective.h"

#include <cstddef>

namespace xylem::predict {
namespace {

using enum Algorithm;

constexpr std::array<std::string_view, kCollectives> kCollectiveNames = {
    "barrier",        "bcast",
    "reduce",         "allreduce",
    "allgather",      "allgatherv",
    "alltoall",       "alltoallv",
    "gather",         "gatherv",
    "scatter",        "scatterv",
    "reduce_scatter", "reduce_scatter_block",
    "scan",           "exscan"};

constexpr std::array<std::string_view, kAlgorithms> kAlgorithmNames = {"linear",
                                                                       "binomial",
                                                                       "chain",
                                                                       "binary_tree",
                                                                       "knomial",
                                                                       "ring",
                                                                       "recursive_doubling",
                                                                       "recursive_halving",
                                                                       "rabenseifner",
                                                                       "bruck",
                                                                       "pairwise",
                                                                       "scattered",
                                                                       "neighbor_exchange",
                                                                       "dissemination",
                                                                       "scatter_allgather",
                                                                       "scatter_ring_allgather",
                                                                       "reduce_bcast",
                                                                       "reduce_scatter",
                                                                       "gather_bcast"};

constexpr std::array kBarrier = {kLinear, kBinomial, kRecursiveDoubling, kDissemination};
constexpr std::array kBcast = {
    kLinear, kBinomial, kChain, kBinaryTree, kKnomial, kScatterAllgather, kScatterRingAllgather};
constexpr std::array kReduce = {kLinear, kBinomial, kChain, kBinaryTree, kKnomial, kRabenseifner};
constexpr std::array kAllreduce = {kLinear, kRing, kRecursiveDoubling, kRabenseifner, kReduceBcast};
constexpr std::array kAllgather = {kRing, kRecursiveDoubling, kBruck, kNeighborExchange,
                                   kGatherBcast};
constexpr std::array kAlltoall = {kLinear, kScattered, kPairwise, kBruck};
constexpr std::array kAlltoallv = {kLinear, kScattered, kPairwise};
constexpr std::array kGatherScatter = {kLinear, kBinomial};
constexpr std::array kReduceScatterOnes = {kRing, kRecursiveHalving, kPairwise, kReduceScatter};
constexpr std::array kScan = {kLinear, kRecursiveDoubling};

}  // namespace

std::string_view name_of(Collective collective) {
  return kCollectiveNames[static_cast<std::size_t>(collective)];
}

std::string_view name_of(Algorithm algorithm) {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

std::span<const Algorithm> algorithms_for(Collective collective) {
  switch (collective) {
    case Collective::kBarrier:
      return kBarrier;
    case Collective::kBcast:
      return kBcast;
    case Collective::kReduce:
      return kReduce;
    case Collective::kAllreduce:
      return kAllreduce;
    case Collective::kAllgather:
    case Collective::kAllgatherv:
      return kAllgather;
    case Collective::kAlltoall:
      return kAlltoall;
    case Collective::kAlltoallv:
      return kAlltoallv;
    case Collective::kGather:
    case Collective::kGatherv:
    case Collective::kScatter:
    case Collective::kScatterv:
      return kGatherScatter;
    case Collective::kReduceScatter:
    case Collective::kReduceScatterBlock:
      return kReduceScatterOnes;
    case Collective::kScan:
    case Collective::kExscan:
      break;
  }
  return kScan;
}

bool has_sizes(Collective collective) {
  return collective == Collective::kAllgatherv || collective == Collective::kAlltoallv ||
         collective == Collective::kGatherv || collective == Collective::kScatterv ||
         collective == Collective::kReduceScatter;
}

}  // namespace xylem::predict
