#include "predict/collectives/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/unit/predict/collective_calls.h"

namespace xylem::predict {
namespace {

using enum Algorithm;

struct Chosen {
  Collective collective;
  std::uint32_t ranks;
  std::uint64_t bytes;
  Algorithm algorithm;
  std::uint64_t element_bytes = 1;
};

void expect_choices(MpiLibrary library, const std::vector<Chosen>& chosen) {
  const CollectiveChoice choice(library);
  for (const Chosen& it : chosen) {
    const CollectiveCall call{it.collective, 0, it.bytes, it.element_bytes, {}, {}};
    EXPECT_EQ(name_of(choice.choose(call, it.ranks)), name_of(it.algorithm))
        << name_of(it.collective) << ", " << it.ranks << " ranks, " << it.bytes << " bytes";
  }
}

TEST(MpichChoice, IsThatOfItsLibrary) {
  expect_choices(MpiLibrary::kMpich,
                 {{Collective::kBarrier, 5, 0, kDissemination},
                  {Collective::kBcast, 7, 1'000'000, kBinomial},
                  {Collective::kBcast, 8, 1'000'000, kScatterRingAllgather},
                  {Collective::kBcast, 16, 12288, kBinomial},
                  {Collective::kBcast, 16, 12289, kScatterAllgather},
                  {Collective::kBcast, 16, 524288, kScatterAllgather},
                  {Collective::kBcast, 16, 524289, kScatterRingAllgather},
                  {Collective::kBcast, 15, 12289, kScatterRingAllgather},
                  {Collective::kReduce, 16, 2048, kBinomial},
                  {Collective::kReduce, 16, 2049, kRabenseifner},
                  {Collective::kReduce, 1024, 4096, kBinomial, 8},
                  {Collective::kAllreduce, 4, 8, kRecursiveDoubling},
                  {Collective::kAllreduce, 4, 9, kRabenseifner},
                  {Collective::kAllreduce, 4, 24, kRecursiveDoubling, 8},
                  {Collective::kAllreduce, 7, 32, kRabenseifner, 8},
                  {Collective::kAllgather, 8, 65535, kRecursiveDoubling},
                  {Collective::kAllgather, 8, 65536, kRing},
                  {Collective::kAllgather, 10, 8191, kBruck},
                  {Collective::kAllgather, 10, 8192, kRing},
                  {Collective::kAlltoall, 8, 256, kScattered},
                  {Collective::kAlltoall, 9, 256, kBruck},
                  {Collective::kAlltoall, 16, 256, kBruck},
                  {Collective::kAlltoall, 16, 32768, kScattered},
                  {Collective::kAlltoall, 16, 32769, kPairwise},
                  {Collective::kGather, 16, 1, kBinomial},
                  {Collective::kScatter, 16, 1, kBinomial},
                  {Collective::kReduceScatterBlock, 8, 65535, kRecursiveHalving},
                  {Collective::kReduceScatterBlock, 8, 65536, kPairwise},
                  {Collective::kScan, 8, 8, kRecursiveDoubling},
                  {Collective::kExscan, 8, 8, kRecursiveDoubling}});
}

TEST(OpenMpiChoice, IsThatOfItsFixedDecisions) {
  expect_choices(MpiLibrary::kOpenMpi, {{Collective::kBarrier, 2, 0, kRecursiveDoubling},
                                        {Collective::kBarrier, 4, 0, kLinear},
                                        {Collective::kBarrier, 64, 0, kDissemination},
                                        {Collective::kBarrier, 256, 0, kBinomial},
                                        {Collective::kBcast, 16, 4095, kKnomial},
                                        {Collective::kBcast, 16, 4096, kBinomial},
                                        {Collective::kBcast, 16, 1048576, kScatterAllgather},
                                        {Collective::kReduce, 16, 4095, kBinaryTree},
                                        {Collective::kReduce, 16, 4096, kBinomial},
                                        {Collective::kReduce, 2, 7, kRabenseifner},
                                        {Collective::kReduce, 2, 0, kLinear},
                                        {Collective::kAllreduce, 3, 8191, kRing},
                                        {Collective::kAllreduce, 3, 8192, kRecursiveDoubling},
                                        {Collective::kAllreduce, 3, 262144, kRabenseifner},
                                        {Collective::kAllreduce, 16, 8, kRecursiveDoubling},
                                        {Collective::kAllreduce, 32, 128, kLinear, 8},
                                        {Collective::kAllgather, 4, 1, kRecursiveDoubling},
                                        {Collective::kAllgather, 5, 1, kBruck},
                                        {Collective::kAllgather, 40, 1024, kNeighborExchange},
                                        {Collective::kAlltoall, 40, 511, kBruck},
                                        {Collective::kAlltoall, 40, 512, kLinear},
                                        {Collective::kAlltoall, 128, 262144, kPairwise},
                                        {Collective::kAlltoallv, 3, 1, kPairwise},
                                        {Collective::kAlltoallv, 5, 1, kLinear},
                                        {Collective::kGather, 16, 1, kBinomial},
                                        {Collective::kScatter, 40, 511, kBinomial},
                                        {Collective::kScatter, 40, 512, kLinear},
                                        {Collective::kGatherv, 40, 0, kLinear},
                                        {Collective::kReduceScatterBlock, 8, 3, kReduceScatter},
                                        {Collective::kReduceScatterBlock, 8, 4, kRecursiveHalving},
                                        {Collective::kScan, 8, 8, kLinear}});
}

TEST(CollectiveChoice, TakesSizesOfBlocksTogether) {
  const std::vector<std::uint64_t> small{81919, 0, 0}, large{81920, 0, 0};
  CollectiveCall call{Collective::kAllgatherv, 0, 0, 1, small, {}};
  EXPECT_EQ(CollectiveChoice().choose(call, 3), kBruck);
  call.sizes = large;
  EXPECT_EQ(CollectiveChoice().choose(call, 3), kRing);
  call.collective = Collective::kReduceScatter;
  EXPECT_EQ(CollectiveChoice().choose(call, 3), kRecursiveHalving);
  EXPECT_EQ(CollectiveChoice(MpiLibrary::kOpenMpi).choose(call, 3), kRecursiveHalving);
  call.sizes = small;
  EXPECT_EQ(CollectiveChoice(MpiLibrary::kOpenMpi).choose(call, 8), kRecursiveHalving);
}

TEST(CollectiveChoice, TakesTheFixedAlgorithm) {
  CollectiveChoice choice;
  choice.fix(Collective::kBcast, kLinear);
  const CollectiveCall bcast{Collective::kBcast, 0, 100, 1, {}, {}};
  EXPECT_EQ(choice.choose(bcast, 8), kLinear);
  choice.set_library(MpiLibrary::kOpenMpi);
  EXPECT_EQ(choice.choose(bcast, 8), kLinear);
}

TEST(CollectiveChoice, IsAlwaysPossible) {
  for (const MpiLibrary library : {MpiLibrary::kMpich, MpiLibrary::kOpenMpi}) {
    testing::for_each_collective([&](Collective collective) {
      for (std::uint32_t ranks = 1; ranks < 10'000; ranks += 1 + ranks / 3) {
        for (std::uint64_t bytes = 0; bytes < 10'000'000; bytes += 1 + bytes) {
          const std::vector<std::uint64_t> sizes(ranks, bytes);
          const CollectiveCall call{collective, 0, bytes, 8, sizes, sizes};
          const Algorithm chosen = CollectiveChoice(library).choose(call, ranks);
          EXPECT_EQ(std::ranges::count(algorithms_for(collective), chosen), 1);
        }
      }
    });
  }
}

}  // namespace
}  // namespace xylem::predict
