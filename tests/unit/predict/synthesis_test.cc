#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "predict/network/topology.h"
#include "predict/replay/replay.h"
#include "predict/synthesis/io.h"
#include "predict/synthesis/patterns.h"
#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::network;

Program made(Result<Program> program) {
  EXPECT_TRUE(program) << program.error().message;
  return program ? *std::move(program) : Program{};
}

Prediction outcome(const Program& program, const LogGps& parameters) {
  const auto prediction = replay(program, parameters);
  EXPECT_TRUE(prediction) << prediction.error().message;
  return prediction ? *prediction : Prediction{};
}

TEST(RingPattern, IsThatOfTheReferenceStep) {
  const LogGps parameters = network(2500, 1500, 1000, 6, 0, 65535);
  for (const std::uint32_t ranks : {2u, 3u, 64u}) {
    const Prediction one = outcome(made(ring_program({ranks, 8192, 1, 0})), parameters);
    EXPECT_EQ(one.makespan_ns, 54'646u) << ranks;
    EXPECT_EQ(one.messages, ranks);
    const Prediction ten = outcome(made(ring_program({ranks, 8192, 10, 1000})), parameters);
    EXPECT_EQ(ten.makespan_ns, 10 * 55'646u) << ranks;
  }
  EXPECT_EQ(outcome(made(ring_program({1, 8192, 10, 1000})), parameters).makespan_ns, 10'000u);
}

TEST(HaloPattern, HasSixNeighboursOfEachRank) {
  const LogGps parameters = network(100, 0, 0, 0, 0, 1'000'000);
  const Prediction all = outcome(made(halo_program({60, 64, 3, 500}, {5, 4, 3})), parameters);
  EXPECT_EQ(all.messages, 3 * 6 * 60u);
  EXPECT_EQ(all.unreceived, 0u);
  // Without overhead, all messages of a round arrive together.
  EXPECT_EQ(all.makespan_ns, 3 * (500 + 100u));
  // Sides of 2 have one neighbour twice, sides of 1 none.
  const Program flat = made(halo_program({6, 64, 1, 0}, {3, 2, 1}));
  const Prediction few = outcome(flat, parameters);
  EXPECT_EQ(few.messages, 4 * 6u);
  EXPECT_EQ(few.unreceived, 0u);
  for (const Operation& it : flat.ranks[0].operations()) {
    if (it.kind == Kind::kCompute) continue;
    EXPECT_TRUE(it.peer == 1 || it.peer == 2 || it.peer == 3) << it.peer;
  }
  EXPECT_EQ(outcome(made(halo_program({60, 64, 3, 500}, {5, 4, 3})), network(1, 1, 1, 1, 1, 0))
                .unreceived,
            0u);
}

// In a torus of the same sizes, each message passes the channel out of its node, the one between
// two switches, and the one into the other node.
TEST(HaloPattern, HasTheNeighboursOfATorusOfItsSizes) {
  const auto torus = make_grid({8, 4, 2}, true);
  ASSERT_TRUE(torus);
  std::vector<ChannelId> path;
  std::uint64_t sends = 0;
  const Program program = made(halo_program({64, 8, 1, 0}, {8, 4, 2}));
  for (std::uint32_t rank = 0; rank < 64; ++rank) {
    for (const Operation& it : program.ranks[rank].operations()) {
      if (it.kind != Kind::kSend) continue;
      ++sends;
      (*torus)->find_path(Node{rank}, Node{it.peer}, path);
      EXPECT_EQ(path.size(), 3u) << rank << " to " << it.peer;
    }
  }
  EXPECT_EQ(sends, 64 * 6u);
}

TEST(Patterns, OfOneRankHaveNoMessagesHoweverManyRounds) {
  const Pattern alone{1, 8, 1'000'000'000'000'000'000, 0};
  for (const auto& program : {ring_program(alone), halo_program(alone, {1, 1, 1}),
                              binomial_program(alone), recursive_doubling_program(alone)}) {
    ASSERT_TRUE(program) << program.error().message;
    ASSERT_EQ(program->ranks.size(), 1u);
    EXPECT_TRUE(program->ranks[0].operations().empty());
  }
  EXPECT_EQ(count_operations(made(halo_program({1, 8, 5, 10}, {1, 1, 1}))), 5u);
}

TEST(NearCube, HasShortSides) {
  EXPECT_EQ(near_cube(1), (Box{1, 1, 1}));
  EXPECT_EQ(near_cube(64), (Box{4, 4, 4}));
  EXPECT_EQ(near_cube(60), (Box{5, 4, 3}));
  EXPECT_EQ(near_cube(12), (Box{3, 2, 2}));
  EXPECT_EQ(near_cube(7), (Box{7, 1, 1}));
  EXPECT_EQ(near_cube(1024), (Box{16, 8, 8}));
}

TEST(BinomialPattern, HasAMessageForEachOtherRank) {
  const Prediction all =
      outcome(made(binomial_program({32, 101, 2, 7})), network(700, 50, 0, 3, 0, 1'000'000));
  EXPECT_EQ(all.messages, 2 * 31u);
  const Program large = made(binomial_program({1 << 16, 8, 1, 0}));
  EXPECT_EQ(count_operations(large), 2 * ((1u << 16) - 1));
}

TEST(RecursiveDoublingPattern, ExchangesWithEachBit) {
  const Prediction all = outcome(made(recursive_doubling_program({32, 64, 2, 0})),
                                 network(2000, 100, 0, 2, 0, 1'000'000));
  EXPECT_EQ(all.messages, 2 * 32 * 5u);
  EXPECT_EQ(all.makespan_ns, 2 * 5 * (100 + 2000 + 100 + 63 * 2u));
}

TEST(Patterns, AreRefusedIfTheyAreNotPossible) {
  const auto message = [](const Result<Program>& program) {
    return program ? std::string() : program.error().message;
  };
  EXPECT_EQ(message(ring_program({0, 8, 1, 0})), "0 ranks are not possible; take 1 to 16777216");
  EXPECT_EQ(message(binomial_program({1u << 25, 8, 1, 0})),
            "33554432 ranks are not possible; take 1 to 16777216");
  EXPECT_EQ(message(halo_program({8, 8, 1, 0}, {2, 2, 3})),
            "the grid has 12 points for 8 ranks; take a grid of as many points");
  const std::string too_long =
      "the program would have more than 1000000000 operations; take fewer ranks or rounds";
  EXPECT_EQ(message(ring_program({1000, 8, 1'000'000, 0})), too_long);
  EXPECT_EQ(message(ring_program({1, 8, ~0ull, 1})), too_long);
  EXPECT_EQ(message(recursive_doubling_program({1u << 24, 8, 100, 0})), too_long);
}

TEST(IoProgram, GoesThroughItsFileInBlocks) {
  for (const bool is_shared : {false, true}) {
    const auto program = io_program({.ranks = 3,
                                     .file_bytes = 1000,
                                     .block_bytes = 300,
                                     .rounds = 2,
                                     .compute_ns = 5,
                                     .is_write = true,
                                     .is_shared = is_shared});
    ASSERT_TRUE(program) << program.error().message;
    ASSERT_EQ(program->ranks.size(), 3u);
    const RankProgram& last = program->ranks[2];
    ASSERT_EQ(last.operations().size(), 2u * (1 + 4));
    std::uint64_t next = 0;
    for (const Operation& it : last.operations()) {
      if (it.kind == Kind::kCompute) {
        next = 0;
        continue;
      }
      EXPECT_EQ(last.accesses()[it.peer], (FileAccess{next, is_shared ? 0u : 2u, true}));
      next += it.amount;
    }
    EXPECT_EQ(next, 1000u);
  }
}

TEST(IoProgram, RefusesWhatItCannotMake) {
  const auto message = [](const IoPattern& pattern) {
    const auto program = io_program(pattern);
    return program ? "" : program.error().message;
  };
  EXPECT_EQ(message({.ranks = 0}), "0 ranks are not possible; take 1 to 16777216");
  EXPECT_EQ(message({.file_bytes = 8, .block_bytes = 0}), "a block has 0 bytes; take 1 or more");
  EXPECT_EQ(message({.file_bytes = 8, .block_bytes = 1, .rounds = 1'000'000'000}),
            "the program would have more than 1000000000 operations; take fewer ranks or rounds, "
            "or larger blocks");
  EXPECT_EQ(message({.file_bytes = 0, .rounds = ~std::uint64_t{0}}), "");
}

}  // namespace
}  // namespace xylem::predict
