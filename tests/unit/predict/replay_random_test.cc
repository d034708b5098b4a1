// The replay agrees with a slow and obvious one, and keeps general laws, on random programs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "predict/replay/replay.h"
#include "predict/trace/goal_text.h"
#include "tests/unit/predict/programs.h"
#include "tests/unit/predict/random_programs.h"
#include "tests/unit/predict/slow_replay.h"

namespace xylem::predict {
namespace {

using testing::below;
using testing::compute;
using testing::Random;
using testing::random_network;
using testing::random_program;
using testing::RandomProgram;
using testing::relabelled;
using testing::Variety;

TEST(RandomReplay, AgreesWithTheSlowOneToTheNanosecond) {
  int deadlocks = 0, unreceived = 0;
  for (std::uint64_t trial = 0; trial < 2000; ++trial) {
    Random random(20251124 + trial);  // Fixed, so that a failure can be repeated.
    const Variety variety{.wildcards = below(random, 3) == 0,
                          .several_cpus = below(random, 4) == 0,
                          .any_order = below(random, 4) == 0,
                          .modes = below(random, 4) == 0,
                          .max_messages = trial % 40 == 0 ? 250u : 25u};
    const LogGps parameters = random_network(random);
    const Program program = random_program(random, variety, parameters.eager_bytes);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << "\n" << print_goal(program));
    const auto slow = testing::slow_replay(program, parameters);
    const auto fast = replay(program, parameters);
    ASSERT_EQ(fast.has_value(), slow.has_value()) << (fast ? "" : fast.error().message);
    if (!slow) {
      ++deadlocks;
      continue;
    }
    ASSERT_EQ(fast->end_ns, slow->end_ns);
    EXPECT_EQ(fast->makespan_ns, std::ranges::max(slow->end_ns));
    EXPECT_EQ(fast->events, slow->events);
    EXPECT_EQ(fast->messages, slow->messages);
    EXPECT_EQ(fast->unreceived, slow->unreceived);
    unreceived += slow->unreceived > 0 ? 1 : 0;
  }
  // The programs are of all kinds.
  EXPECT_GT(deadlocks, 50);
  EXPECT_LT(deadlocks, 800);
  EXPECT_EQ(unreceived, 0) << "every message has a receive";
}

TEST(RandomReplay, AgreesWithTheSlowOneWithSeveralRanksOnANode) {
  std::uint64_t different = 0;
  for (std::uint64_t trial = 0; trial < 1000; ++trial) {
    Random random(20261127 + trial);
    const Variety variety{.wildcards = below(random, 3) == 0,
                          .several_cpus = below(random, 4) == 0,
                          .modes = below(random, 4) == 0};
    const LogGps parameters = random_network(random);
    const MemoryPath memory{testing::random_time(random, 30), testing::random_time(random, 3)};
    const Program program = random_program(random, variety, parameters.eager_bytes);
    testing::SlowNodes nodes{{}, memory.latency, memory.per_byte};
    std::vector<Node> node_of_rank;
    for (std::size_t i = 0; i < program.ranks.size(); ++i) {
      nodes.node_of_rank.push_back(static_cast<std::uint32_t>(below(random, 3)));
      node_of_rank.push_back(Node{nodes.node_of_rank.back()});
    }
    SCOPED_TRACE(::testing::Message() << "trial " << trial << "\n" << print_goal(program));
    const FabricCosts costs(parameters, {}, memory);
    LogGpsNetwork network(costs, nullptr);
    const auto slow = testing::slow_replay(program, parameters, nodes);
    const auto fast = replay(program, costs, node_of_rank, network);
    ASSERT_EQ(fast.has_value(), slow.has_value());
    if (!slow) continue;
    ASSERT_EQ(fast->end_ns, slow->end_ns);
    EXPECT_EQ(fast->events, slow->events);
    EXPECT_EQ(fast->messages, slow->messages);
    const auto apart = replay(program, parameters);
    different += apart && apart->end_ns != fast->end_ns ? 1 : 0;
  }
  EXPECT_GT(different, 500u) << "nodes matter";
}

TEST(RandomReplay, IsTheSameOnEachRunAndAfterWritingTheProgram) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    Random random(7 + trial);
    const Variety variety{.wildcards = true, .several_cpus = true};
    const LogGps parameters = random_network(random);
    const Program program = random_program(random, variety, parameters.eager_bytes);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << "\n" << print_goal(program));
    const auto once = replay(program, parameters), again = replay(program, parameters);
    ASSERT_EQ(once.has_value(), again.has_value());
    const auto read = parse_goal(print_goal(program), "printed");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(*read, program);
    if (!once) {
      EXPECT_EQ(once.error().message, again.error().message);
      continue;
    }
    EXPECT_EQ(*once, *again);
  }
}

// Times are drawn from so many values that no two events of a rank coincide.
TEST(RandomReplay, DoesNotDependOnTheNamesOfRanks) {
  for (std::uint64_t trial = 0; trial < 300; ++trial) {
    Random random(31 + trial);
    LogGps parameters = random_network(random);
    parameters.latency = Femtoseconds{17'000'000'001};
    Variety variety{.chains = true, .max_compute = 1'000'000'000};
    RandomProgram made(random, variety, parameters.eager_bytes);
    Program program = std::move(made).build();
    for (RankProgram& rank : program.ranks) {  // Ranks do not start together.
      const auto operations = rank.operations();
      std::vector<Operation> delayed{compute(1 + below(random, 1'000'000'000))};
      delayed.insert(delayed.end(), operations.begin(), operations.end());
      rank = testing::chain(delayed);
    }
    std::vector<std::uint32_t> old(program.ranks.size());
    std::iota(old.begin(), old.end(), 0u);
    std::ranges::shuffle(old, random);
    const auto first = replay(program, parameters);
    const auto second = replay(relabelled(program, old), parameters);
    ASSERT_EQ(first.has_value(), second.has_value()) << "trial " << trial;
    if (!first) continue;
    EXPECT_EQ(first->makespan_ns, second->makespan_ns) << "trial " << trial;
    for (std::uint32_t i = 0; i < old.size(); ++i) {
      EXPECT_EQ(second->end_ns[i], first->end_ns[old[i]]) << "trial " << trial << ", rank " << i;
    }
  }
}

TEST(RandomReplay, IsNeverFasterWithMoreLatencyIfNothingElseCosts) {
  int slower = 0;
  for (std::uint64_t trial = 0; trial < 300; ++trial) {
    Random random(101 + trial);
    LogGps parameters;
    parameters.eager_bytes = below(random, 20);
    const Variety variety{.chains = true};
    const Program program = random_program(random, variety, parameters.eager_bytes);
    std::vector<std::uint64_t> before(program.ranks.size());
    for (std::uint64_t latency_ns = 0; latency_ns < 50; latency_ns += 1 + below(random, 5)) {
      parameters.latency = Femtoseconds{latency_ns * 1'000'000};
      const auto prediction = replay(program, parameters);
      ASSERT_TRUE(prediction) << prediction.error().message;
      for (std::size_t rank = 0; rank < before.size(); ++rank) {
        ASSERT_GE(prediction->end_ns[rank], before[rank])
            << "trial " << trial << ", rank " << rank << ", latency " << latency_ns << "\n"
            << print_goal(program);
        slower += prediction->end_ns[rank] > before[rank] ? 1 : 0;
      }
      before = prediction->end_ns;
    }
  }
  EXPECT_GT(slower, 1000);
}

}  // namespace
}  // namespace xylem::predict
