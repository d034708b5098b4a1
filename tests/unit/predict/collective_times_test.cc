// Collectives as programs: counts of messages and bytes, and times, against closed forms; and no
// deadlock.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "predict/replay/replay.h"
#include "tests/unit/predict/collective_calls.h"
#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::Case;
using testing::for_each_case;
using testing::kMaxTestedRanks;
using testing::network;

struct Totals {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Totals&) const = default;
};

Totals totals(const Case& of) {
  Totals sum;
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
    for (const Step& step : of.schedule(rank)) {
      sum.messages += step.sends.size();
      for (const Message& it : step.sends) sum.bytes += it.bytes;
    }
  }
  return sum;
}

std::uint64_t log2_up(std::uint64_t value) { return std::bit_width(value - 1); }
std::uint64_t log2_down(std::uint64_t value) { return std::bit_width(value) - 1; }
bool is_power(std::uint64_t value) { return std::has_single_bit(value); }

/// Messages that Fold adds, for 2^k + x ranks: x.
std::uint64_t extra(std::uint64_t p) { return p - std::bit_floor(p); }

TEST(Counts, OfTrees) {
  constexpr std::uint64_t kBytes = 1000;
  for (std::uint32_t p = 1; p <= kMaxTestedRanks; ++p) {
    for (const Collective collective : {Collective::kBcast, Collective::kReduce}) {
      for (const Algorithm it : {Algorithm::kLinear, Algorithm::kBinomial, Algorithm::kChain,
                                 Algorithm::kBinaryTree, Algorithm::kKnomial}) {
        const Case of{collective, it, p, p / 2, kBytes};
        EXPECT_EQ(totals(of), (Totals{p - 1u, (p - 1u) * kBytes})) << of.name();
      }
    }
    for (const Collective collective : {Collective::kGather, Collective::kScatter}) {
      const Case linear{collective, Algorithm::kLinear, p, 0, kBytes};
      EXPECT_EQ(totals(linear), (Totals{p - 1u, (p - 1u) * kBytes})) << linear.name();
      // Each block travels over as many links as its rank has bits, counted from the root.
      std::uint64_t links = 0;
      for (std::uint32_t rank = 0; rank < p; ++rank) links += std::popcount(rank);
      const Case tree{collective, Algorithm::kBinomial, p, p / 3, kBytes};
      EXPECT_EQ(totals(tree), (Totals{p - 1u, links * kBytes})) << tree.name();
    }
  }
}

TEST(Counts, OfRings) {
  const std::uint64_t n = 1000;
  for (std::uint32_t p = 2; p <= kMaxTestedRanks; ++p) {
    const std::uint64_t steps = p - 1;
    EXPECT_EQ(totals({Collective::kAllgather, Algorithm::kRing, p, 0, n}),
              (Totals{p * steps, p * steps * n}));
    // Each part of the vector makes p - 1 steps as a sum, and p - 1 steps as the result.
    EXPECT_EQ(totals({Collective::kAllreduce, Algorithm::kRing, p, 0, n}),
              (Totals{2 * p * steps, 2 * steps * n}));
    EXPECT_EQ(totals({Collective::kReduceScatterBlock, Algorithm::kRing, p, 0, n}),
              (Totals{p * steps, p * steps * n}));
  }
}

TEST(Counts, OfRecursiveDoublingAndHalving) {
  const std::uint64_t n = 960;
  for (std::uint32_t p = 2; p <= kMaxTestedRanks; ++p) {
    const std::uint64_t actors = std::bit_floor(p);
    const std::uint64_t exchanges = actors * log2_down(p);
    EXPECT_EQ(totals({Collective::kAllreduce, Algorithm::kRecursiveDoubling, p, 0, n}),
              (Totals{exchanges + 2 * extra(p), (exchanges + 2 * extra(p)) * n}));
    EXPECT_EQ(totals({Collective::kBarrier, Algorithm::kRecursiveDoubling, p}),
              (Totals{exchanges + 2 * extra(p), 0}));
    // Each actor sends the vector but for its part, twice.
    const std::uint64_t fold = 2 * extra(p) * n;
    EXPECT_EQ(totals({Collective::kAllreduce, Algorithm::kRabenseifner, p, 0, n}),
              (Totals{2 * exchanges + 2 * extra(p), 2 * (actors - 1) * n + fold}));
    if (!is_power(p)) continue;
    EXPECT_EQ(totals({Collective::kAllgather, Algorithm::kRecursiveDoubling, p, 0, n}),
              (Totals{exchanges, p * (p - 1u) * n}));
    EXPECT_EQ(totals({Collective::kReduceScatterBlock, Algorithm::kRecursiveHalving, p, 0, n}),
              (Totals{exchanges, p * (p - 1u) * n}));
    EXPECT_EQ(totals({Collective::kReduce, Algorithm::kRabenseifner, p, 1, n}),
              (Totals{exchanges + p - 1, (p - 1) * n + (log2_down(p) * n) / 2}));
    EXPECT_EQ(totals({Collective::kScan, Algorithm::kRecursiveDoubling, p, 0, n}),
              (Totals{exchanges, exchanges * n}));
  }
}

TEST(Counts, OfBruckPairwiseAndOthers) {
  const std::uint64_t n = 100;
  for (std::uint32_t p = 2; p <= kMaxTestedRanks; ++p) {
    const std::uint64_t all = p * (p - 1u);
    const std::uint64_t steps = p * log2_up(p);
    std::uint64_t bits = 0;
    for (std::uint32_t i = 1; i < p; ++i) bits += std::popcount(i);
    EXPECT_EQ(totals({Collective::kAlltoall, Algorithm::kBruck, p, 0, n}),
              (Totals{steps, p * bits * n}));
    EXPECT_EQ(totals({Collective::kAllgather, Algorithm::kBruck, p, 0, n}),
              (Totals{steps, all * n}));
    for (const Algorithm it : {Algorithm::kPairwise, Algorithm::kLinear, Algorithm::kScattered}) {
      EXPECT_EQ(totals({Collective::kAlltoall, it, p, 0, n}), (Totals{all, all * n}));
    }
    EXPECT_EQ(totals({Collective::kReduceScatterBlock, Algorithm::kPairwise, p, 0, n}),
              (Totals{all, all * n}));
    EXPECT_EQ(totals({Collective::kBarrier, Algorithm::kDissemination, p}), (Totals{steps, 0}));
    EXPECT_EQ(totals({Collective::kScan, Algorithm::kLinear, p, 0, n}),
              (Totals{p - 1u, (p - 1u) * n}));
    if (p % 2 == 0) {
      EXPECT_EQ(totals({Collective::kAllgather, Algorithm::kNeighborExchange, p, 0, n}),
                (Totals{p * (p / 2), all * n}));
    }
    // A binomial scatter of parts of n, then p - 1 steps of the ring. n * p has no remainder.
    std::uint64_t links = 0;
    for (std::uint32_t rank = 0; rank < p; ++rank) links += std::popcount(rank);
    EXPECT_EQ(totals({Collective::kBcast, Algorithm::kScatterRingAllgather, p, 0, n * p}),
              (Totals{p - 1u + all, (links + all) * n}));
  }
}

/// One step of an exchange between ranks that begin together: o + L, then the receiver's time.
struct Model {
  std::uint64_t latency, overhead, gap_per_byte;
  LogGps parameters(std::uint64_t eager_bytes = 1 << 30) const {
    return network(latency, overhead, 0, gap_per_byte, 0, eager_bytes);
  }
  /// From the start of a send until the receiver has its message.
  std::uint64_t message(std::uint64_t bytes) const {
    return overhead + latency + overhead + (bytes > 0 ? bytes - 1 : 0) * gap_per_byte;
  }
};

std::uint64_t makespan(const Case& of, const LogGps& parameters, std::uint64_t reduce_fs = 0) {
  const auto prediction = replay(of.program(reduce_fs), parameters);
  EXPECT_TRUE(prediction) << of.name() << ": " << prediction.error().message;
  return prediction ? prediction->makespan_ns : 0;
}

TEST(Times, OfTreesWithoutOverhead) {
  const Model free{1000, 0, 0};
  for (std::uint32_t p = 1; p <= kMaxTestedRanks; ++p) {
    const std::uint64_t depth = log2_up(p);
    EXPECT_EQ(makespan({Collective::kBcast, Algorithm::kBinomial, p, p / 2, 10}, free.parameters()),
              // Without overhead a rank reaches all its children at once, so depth counts bits.
              [&] {
                std::uint64_t most = 0;
                for (std::uint32_t i = 0; i < p; ++i) {
                  most = std::max<std::uint64_t>(most, std::popcount(i));
                }
                return most * 1000;
              }())
        << p;
    EXPECT_EQ(makespan({Collective::kBarrier, Algorithm::kDissemination, p}, free.parameters()),
              depth * 1000);
    EXPECT_EQ(makespan({Collective::kBcast, Algorithm::kChain, p, 0, 10}, free.parameters()),
              (p - 1) * 1000);
    EXPECT_EQ(makespan({Collective::kBcast, Algorithm::kLinear, p, 0, 10}, free.parameters()),
              p > 1 ? 1000u : 0u);
  }
}

TEST(Times, OfABinomialBroadcastWithOverhead) {
  // With L >= 0 the last rank to know is that whose path has all bits: each level costs o for the
  // sender, L, and o for the receiver. For powers of two it is the last rank.
  const Model slow{700, 50, 3};
  for (const std::uint32_t p : {2u, 4u, 8u, 16u, 32u}) {
    EXPECT_EQ(makespan({Collective::kBcast, Algorithm::kBinomial, p, 0, 101}, slow.parameters()),
              log2_down(p) * slow.message(101))
        << p;
  }
}

TEST(Times, OfRingsAndExchanges) {
  // Ranks that begin together stay together. A rank sends for o, waits, and receives for
  // o + (n-1) G. L is long enough for the send to be over.
  const Model slow{2000, 100, 2};
  const std::uint64_t n = 64;
  for (std::uint32_t p = 2; p <= kMaxTestedRanks; ++p) {
    EXPECT_EQ(makespan({Collective::kAllgather, Algorithm::kRing, p, 0, n}, slow.parameters()),
              (p - 1) * slow.message(n))
        << p;
    EXPECT_EQ(makespan({Collective::kAlltoall, Algorithm::kPairwise, p, 0, n}, slow.parameters()),
              (p - 1) * slow.message(n))
        << p;
    EXPECT_EQ(makespan({Collective::kBarrier, Algorithm::kDissemination, p}, slow.parameters()),
              log2_up(p) * slow.message(0))
        << p;
    if (!is_power(p)) continue;
    EXPECT_EQ(makespan({Collective::kAllreduce, Algorithm::kRecursiveDoubling, p, 0, n},
                       slow.parameters()),
              log2_down(p) * slow.message(n))
        << p;
    std::uint64_t halves = 0;
    for (std::uint64_t part = p / 2; part > 0; part /= 2) halves += slow.message(part * n);
    EXPECT_EQ(makespan({Collective::kAllreduce, Algorithm::kRabenseifner, p, 0, n * p},
                       slow.parameters()),
              2 * halves)
        << p;
    EXPECT_EQ(makespan({Collective::kAlltoall, Algorithm::kBruck, p, 0, n}, slow.parameters()),
              log2_down(p) * slow.message(n * p / 2))
        << p;
  }
}

TEST(Times, OfReductionsHaveTheirComputing) {
  const Model slow{2000, 100, 2};
  // 2.5 ns a byte; three exchanges of 64 bytes.
  EXPECT_EQ(makespan({Collective::kAllreduce, Algorithm::kRecursiveDoubling, 8, 0, 64},
                     slow.parameters(), 2'500'000),
            3 * (slow.message(64) + 160));
  // A prefix and a sum of the group.
  EXPECT_EQ(makespan({Collective::kScan, Algorithm::kRecursiveDoubling, 2, 0, 64},
                     slow.parameters(), 2'500'000),
            slow.message(64) + 320);
  // The prefix comes whole: one sum for each rank.
  for (const Collective it : {Collective::kScan, Collective::kExscan}) {
    EXPECT_EQ(makespan({it, Algorithm::kLinear, 2, 0, 1000}, slow.parameters(), 1'000'000),
              slow.message(1000) + 1000);
    const Program program = Case{it, Algorithm::kLinear, 2, 0, 1000}.program(1'000'000);
    EXPECT_EQ(program.ranks[1].operations().back().kind, Kind::kCompute);
    EXPECT_EQ(program.ranks[1].operations().back().amount, 1000u);
  }
  EXPECT_EQ(
      makespan({Collective::kBcast, Algorithm::kBinomial, 2, 0, 64}, slow.parameters(), 2'500'000),
      slow.message(64));
}

TEST(Programs, OfCollectivesEndWithoutDeadlock) {
  for (const std::uint64_t eager_bytes :
       {std::uint64_t{0}, std::uint64_t{500}, ~std::uint64_t{0}}) {
    for_each_case(1000, 8, [&](Case it) {
      it.root = it.ranks / 2;
      const auto prediction = replay(it.program(), network(5, 3, 2, 1, 1, eager_bytes));
      ASSERT_TRUE(prediction) << it.name() << ": " << prediction.error().message;
      EXPECT_EQ(prediction->unreceived, 0u) << it.name();
      EXPECT_EQ(prediction->messages, totals(it).messages) << it.name();
    });
  }
}

TEST(Programs, OfCollectivesUseTheMembersAndTheTagOfTheirCommunicator) {
  const std::vector<std::uint32_t> members{7, 3};
  const CollectiveCall call{Collective::kBcast, 1, 10, 1, {}, {}};
  Sequence sequence;
  append_collective(call, {.number = 5, .ranks = 2, .members = members}, 1, CollectiveModel(),
                    sequence);
  const RankProgram program = std::move(sequence).finish();
  ASSERT_EQ(program.operations().size(), 1u);
  EXPECT_EQ(program.operations()[0], testing::send(10, 7, kFirstCollectiveTag + 5));
}

TEST(Programs, OfAnExchangePostTheReceiveFirst) {
  const Program program =
      Case{Collective::kAllreduce, Algorithm::kRecursiveDoubling, 2, 0, 8}.program(1'000'000);
  EXPECT_EQ(program.ranks[0],
            testing::goal("num_ranks 2\nrank 0 {\n"
                          "l1: recv 8b from 1 tag 1073741829\nl2: send 8b to 1 tag 1073741829\n"
                          "l3: calc 0\nl4: calc 8\n"
                          "l2 irequires l1\nl3 requires l2\nl3 requires l1\nl4 requires l3\n}\n"
                          "rank 1 { }\n")
                .ranks[0]);
}

}  // namespace
}  // namespace xylem::predict
