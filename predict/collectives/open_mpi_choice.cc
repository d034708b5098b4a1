#include <algorithm>
#include <span>

#include "predict/collectives/open_mpi_choice_internal.h"

namespace xylem::predict {
namespace {

using enum Algorithm;

/// The algorithm for fewer ranks and bytes than these. The first line that fits counts.
struct Line {
  std::uint32_t ranks;
  std::uint64_t bytes;
  Algorithm algorithm;
};
constexpr std::uint32_t kAny = ~0u;
constexpr std::uint64_t kAll = ~0ull;

constexpr Line kAllreduceLines[] = {
    {4, 8, kRing},
    {4, 4096, kRecursiveDoubling},
    {4, 8192, kRing},
    {4, 16384, kRecursiveDoubling},
    {4, 262144, kRing},
    {4, kAll, kRabenseifner},
    {8, 16, kRing},
    {8, 8192, kRecursiveDoubling},
    {8, kAll, kRabenseifner},
    {16, 8192, kRecursiveDoubling},
    {16, kAll, kRabenseifner},
    {32, 64, kRing},
    {32, 4096, kRecursiveDoubling},
    {32, kAll, kRabenseifner},
    {64, 128, kRing},
    {64, kAll, kRabenseifner},
    {128, 262144, kRecursiveDoubling},
    {128, kAll, kRabenseifner},
    {256, 131072, kReduceBcast},
    {256, 262144, kRecursiveDoubling},
    {256, kAll, kRabenseifner},
    {512, 4096, kReduceBcast},
    {512, kAll, kRabenseifner},
    {2048, 2048, kReduceBcast},
    {2048, 16384, kRecursiveDoubling},
    {2048, kAll, kRabenseifner},
    {4096, 2048, kReduceBcast},
    {4096, 4096, kRing},
    {4096, 16384, kRecursiveDoubling},
    {4096, kAll, kRabenseifner},
    {kAny, 2048, kReduceBcast},
    {kAny, 16384, kRing},
    {kAny, 32768, kRecursiveDoubling},
    {kAny, kAll, kRabenseifner},
};
constexpr Line kAlltoallLines[] = {
    {3, 32768, kPairwise}, {3, 262144, kLinear},    {3, kAll, kPairwise},
    {8, 524288, kLinear},  {8, 1048576, kPairwise}, {8, kAll, kLinear},
    {16, kAll, kLinear},   {32, 4, kLinear},        {32, 512, kBruck},
    {32, kAll, kLinear},   {64, 512, kBruck},       {64, kAll, kLinear},
    {128, 1024, kBruck},   {128, 262144, kLinear},  {128, kAll, kPairwise},
    {256, 1024, kBruck},   {256, 262144, kLinear},  {256, kAll, kPairwise},
    {512, 1024, kBruck},   {512, 32768, kLinear},   {512, kAll, kPairwise},
    {1024, 512, kBruck},   {1024, 262144, kLinear}, {1024, kAll, kPairwise},
    {2048, 512, kBruck},   {2048, kAll, kLinear},   {4096, 1024, kBruck},
    {4096, kAll, kLinear}, {kAny, 2048, kBruck},    {kAny, kAll, kLinear},
};
constexpr Line kAlltoallvLines[] = {
    {4, kAll, kPairwise}, {64, kAll, kLinear},     {128, kAll, kPairwise},
    {256, kAll, kLinear}, {1024, kAll, kPairwise}, {kAny, kAll, kLinear},
};
constexpr Line kBarrierLines[] = {
    {4, kAll, kRecursiveDoubling}, {8, kAll, kLinear},           {64, kAll, kRecursiveDoubling},
    {256, kAll, kDissemination},   {512, kAll, kBinomial},       {1024, kAll, kDissemination},
    {4096, kAll, kBinomial},       {kAny, kAll, kDissemination},
};
constexpr Line kBcastLines[] = {
    {4, 32, kChain},
    {4, 256, kBinaryTree},
    {4, 512, kChain},
    {4, 1024, kKnomial},
    {4, 32768, kLinear},
    {4, 131072, kBinaryTree},
    {4, 262144, kChain},
    {4, 524288, kLinear},
    {4, 1048576, kBinomial},
    {4, kAll, kBinaryTree},
    {8, 64, kBinaryTree},
    {8, 128, kBinomial},
    {8, 2048, kBinaryTree},
    {8, 8192, kBinomial},
    {8, 1048576, kLinear},
    {8, kAll, kChain},
    {16, 8, kKnomial},
    {16, 64, kBinaryTree},
    {16, 4096, kKnomial},
    {16, 16384, kBinaryTree},
    {16, 32768, kBinomial},
    {16, kAll, kLinear},
    {32, 4096, kKnomial},
    {32, 1048576, kBinomial},
    {32, kAll, kScatterAllgather},
    {64, 2048, kBinomial},
    {64, kAll, kKnomial},
    {128, kAll, kKnomial},
    {256, 2, kBinomial},
    {256, 16384, kBinaryTree},
    {256, 32768, kLinear},
    {256, 65536, kBinaryTree},
    {256, kAll, kKnomial},
    {1024, 16384, kKnomial},
    {1024, 32768, kBinaryTree},
    {1024, kAll, kKnomial},
    {2048, 524288, kKnomial},
    {2048, kAll, kScatterAllgather},
    {4096, 262144, kKnomial},
    {4096, kAll, kScatterAllgather},
    {kAny, 8192, kKnomial},
    {kAny, 16384, kBinaryTree},
    {kAny, 262144, kKnomial},
    {kAny, kAll, kScatterAllgather},
};
constexpr Line kReduceLines[] = {
    {4, 8, kRabenseifner},      {4, 16, kBinaryTree},      {4, 32, kChain},
    {4, 262144, kLinear},       {4, kAll, kChain},         {8, 4096, kBinaryTree},
    {8, 65536, kChain},         {8, 262144, kBinomial},    {8, 524288, kLinear},
    {8, 1048576, kBinomial},    {8, kAll, kLinear},        {16, 8192, kBinaryTree},
    {16, kAll, kBinomial},      {32, 4096, kBinaryTree},   {32, kAll, kBinomial},
    {256, kAll, kBinomial},     {512, 8192, kBinomial},    {512, 16384, kBinaryTree},
    {512, kAll, kBinomial},     {2048, kAll, kBinomial},   {4096, 512, kBinomial},
    {4096, 1024, kBinaryTree},  {4096, 8192, kBinomial},   {4096, 16384, kBinaryTree},
    {4096, kAll, kBinomial},    {kAny, 16, kBinomial},     {kAny, 32, kBinaryTree},
    {kAny, 1024, kBinomial},    {kAny, 2048, kBinaryTree}, {kAny, 8192, kBinomial},
    {kAny, 16384, kBinaryTree}, {kAny, kAll, kBinomial},
};
constexpr Line kReduceScatterLines[] = {
    {4, 65536, kRing},
    {4, 131072, kRecursiveHalving},
    {4, kAll, kRing},
    {8, 8, kReduceScatter},
    {8, 262144, kRecursiveHalving},
    {8, kAll, kRing},
    {32, 262144, kRecursiveHalving},
    {32, kAll, kRing},
    {64, 64, kReduceScatter},
    {64, 524288, kRecursiveHalving},
    {64, kAll, kRing},
    {512, 256, kReduceScatter},
    {512, kAll, kRecursiveHalving},
    {4096, 512, kReduceScatter},
    {4096, kAll, kRecursiveHalving},
    {kAny, 1024, kReduceScatter},
    {kAny, kAll, kRecursiveHalving},
};
constexpr Line kReduceScatterBlockLines[] = {
    {4, 131072, kRecursiveHalving},   {4, kAll, kReduceScatter},
    {8, 1048576, kRecursiveHalving},  {8, kAll, kReduceScatter},
    {16, 4, kReduceScatter},          {16, 524288, kRecursiveHalving},
    {16, 4194304, kReduceScatter},    {16, kAll, kRecursiveHalving},
    {32, 32, kReduceScatter},         {32, 524288, kRecursiveHalving},
    {32, 2097152, kReduceScatter},    {32, kAll, kRecursiveHalving},
    {kAny, 4, kRecursiveHalving},     {kAny, 16, kReduceScatter},
    {kAny, 65536, kRecursiveHalving}, {kAny, 262144, kReduceScatter},
    {kAny, kAll, kRecursiveHalving},
};
constexpr Line kAllgatherLines[] = {
    {3, kAll, kRing},
    {32, kAll, kRecursiveDoubling},
    {64, 1024, kRecursiveDoubling},
    {64, 65536, kNeighborExchange},
    {64, kAll, kRing},
    {128, 512, kRecursiveDoubling},
    {128, 65536, kNeighborExchange},
    {128, kAll, kRing},
    {256, 512, kRecursiveDoubling},
    {256, 131072, kNeighborExchange},
    {256, 524288, kRing},
    {256, 1048576, kNeighborExchange},
    {256, kAll, kRing},
    {512, 32, kRecursiveDoubling},
    {512, 128, kBruck},
    {512, 1024, kRecursiveDoubling},
    {512, 131072, kNeighborExchange},
    {512, 524288, kRing},
    {512, 1048576, kNeighborExchange},
    {512, kAll, kRing},
    {1024, 64, kRecursiveDoubling},
    {1024, 256, kBruck},
    {1024, 2048, kRecursiveDoubling},
    {1024, kAll, kNeighborExchange},
    {2048, 4, kRecursiveDoubling},
    {2048, 8, kBruck},
    {2048, 16, kRecursiveDoubling},
    {2048, 32, kBruck},
    {2048, 256, kRecursiveDoubling},
    {2048, 512, kBruck},
    {2048, 4096, kRecursiveDoubling},
    {2048, kAll, kNeighborExchange},
    {4096, 32, kBruck},
    {4096, 128, kRecursiveDoubling},
    {4096, 512, kBruck},
    {4096, 4096, kRecursiveDoubling},
    {4096, kAll, kNeighborExchange},
    {kAny, 2, kRecursiveDoubling},
    {kAny, 8, kBruck},
    {kAny, 16, kRecursiveDoubling},
    {kAny, 512, kBruck},
    {kAny, 4096, kRecursiveDoubling},
    {kAny, kAll, kNeighborExchange},
};
constexpr Line kAllgathervLines[] = {
    {3, kAll, kRing},
    {8, 256, kGatherBcast},
    {8, 4096, kNeighborExchange},
    {8, 8192, kRing},
    {8, 16384, kNeighborExchange},
    {8, 262144, kBruck},
    {8, kAll, kNeighborExchange},
    {16, 1024, kGatherBcast},
    {16, kAll, kBruck},
    {32, 128, kGatherBcast},
    {32, 262144, kBruck},
    {32, kAll, kRing},
    {64, 256, kGatherBcast},
    {64, 8192, kBruck},
    {64, kAll, kRing},
    {128, 256, kGatherBcast},
    {128, 4096, kBruck},
    {128, kAll, kRing},
    {256, 1024, kBruck},
    {256, 65536, kNeighborExchange},
    {256, kAll, kRing},
    {512, 1024, kBruck},
    {512, kAll, kRing},
    {1024, 512, kBruck},
    {1024, 1024, kGatherBcast},
    {1024, 4096, kBruck},
    {1024, 1048576, kNeighborExchange},
    {1024, kAll, kRing},
    {kAny, 4096, kBruck},
    {kAny, kAll, kNeighborExchange},
};
constexpr Line kGatherLines[] = {
    {4, 4, kLinear},        {4, 32768, kBinomial},   {4, 65536, kLinear},    {4, 131072, kBinomial},
    {4, kAll, kLinear},     {8, 1024, kBinomial},    {8, 8192, kLinear},     {8, 32768, kBinomial},
    {8, kAll, kLinear},     {256, kAll, kBinomial},  {512, 2048, kBinomial}, {512, 8192, kLinear},
    {512, kAll, kBinomial}, {kAny, kAll, kBinomial},
};
constexpr Line kScatterLines[] = {
    {4, kAll, kLinear},    {8, 2048, kBinomial},   {8, 4096, kLinear},  {8, 8192, kBinomial},
    {8, kAll, kLinear},    {32, 16384, kBinomial}, {32, kAll, kLinear}, {64, 512, kBinomial},
    {64, 8192, kLinear},   {64, 16384, kBinomial}, {64, kAll, kLinear}, {kAny, 512, kBinomial},
    {kAny, kAll, kLinear},
};
constexpr Line kLinearLines[] = {{kAny, kAll, kLinear}};

std::span<const Line> lines_of(Collective collective) {
  switch (collective) {
    case Collective::kBarrier:
      return kBarrierLines;
    case Collective::kBcast:
      return kBcastLines;
    case Collective::kReduce:
      return kReduceLines;
    case Collective::kAllreduce:
      return kAllreduceLines;
    case Collective::kAllgather:
      return kAllgatherLines;
    case Collective::kAllgatherv:
      return kAllgathervLines;
    case Collective::kAlltoall:
      return kAlltoallLines;
    case Collective::kAlltoallv:
      return kAlltoallvLines;
    case Collective::kGather:
      return kGatherLines;
    case Collective::kScatter:
      return kScatterLines;
    case Collective::kReduceScatter:
      return kReduceScatterLines;
    case Collective::kReduceScatterBlock:
      return kReduceScatterBlockLines;
    default:
      return kLinearLines;
  }
}

}  // namespace

Algorithm open_mpi_choice(Collective collective, std::uint32_t ranks, std::uint64_t bytes) {
  const std::span<const Line> lines = lines_of(collective);
  const auto fits = [&](const Line& it) {
    return (it.ranks == kAny || ranks < it.ranks) && (it.bytes == kAll || bytes < it.bytes);
  };
  return std::ranges::find_if(lines, fits)->algorithm;
}

}  // namespace xylem::predict
