// Laws of programs whose ranks share cores, on random programs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "predict/replay/machine.h"
#include "predict/trace/goal_text.h"
#include "tests/unit/predict/random_programs.h"
#include "tests/unit/predict/timelines.h"

namespace xylem::predict {
namespace {

using testing::below;
using testing::Random;
using testing::random_network;
using testing::random_program;
using testing::Timelines;

/// A random program on random nodes.
struct Case {
  explicit Case(std::uint64_t trial, bool several_cpus = false)
      : random(20261210 + trial),
        parameters(random_network(random)),
        memory{testing::random_time(random, 30), testing::random_time(random, 3)},
        program(random_program(
            random,
            {.wildcards = false, .several_cpus = several_cpus, .chains = below(random, 2) == 0},
            parameters.eager_bytes)),
        costs(parameters, {}, memory) {
    for (std::size_t i = 0; i < program.ranks.size(); ++i) {
      nodes.push_back(Node{static_cast<std::uint32_t>(below(random, 3))});
    }
  }

  Result<Prediction> replayed(const NodeCores& cores, TimelineSink* sink) {
    LogGpsNetwork network(costs, nullptr);
    return replay(program, costs, nodes, network, cores, {sink, {}});
  }

  Random random;
  LogGps parameters;
  MemoryPath memory;
  Program program;
  FabricCosts costs;
  std::vector<Node> nodes;
};

/// Never do more ranks of a node run than it has cores, and no core is idle while a rank is ready.
void expect_busy_cores(const Case& of, const Timelines& timelines, std::uint32_t cores) {
  std::map<std::tuple<std::uint32_t, Ticks>, std::pair<int, int>> changes;  // Of running and ready.
  for (const TimelineRow& it : timelines.rows()) {
    if (it.state == TimelineState::kIo) continue;
    const std::uint32_t node = raw(of.nodes[it.rank]);
    const auto part = [&](Ticks time) -> int& {
      auto& change = changes[{node, time}];
      return it.state == TimelineState::kRun ? change.first : change.second;
    };
    ++part(it.begin);
    --part(it.end);
  }
  int running = 0, ready = 0;
  for (const auto& [where, change] : changes) {
    running += change.first;
    ready += change.second;
    EXPECT_LE(running, static_cast<int>(cores)) << "at tick " << std::get<1>(where);
    if (ready > 0) {
      EXPECT_EQ(running, static_cast<int>(cores)) << "at tick " << std::get<1>(where);
    }
  }
}

void expect_sums(const Prediction& prediction, const Timelines& timelines) {
  const auto ends = timelines.expect_gapless(prediction.end_ns.size());
  const Ticks unit = timelines.ticks_per_ns();
  const auto rounded = [&](Ticks ticks) { return (ticks + unit / 2) / unit; };
  for (std::uint32_t rank = 0; rank < ends.size(); ++rank) {
    const Ticks run = timelines.sum(rank, TimelineState::kRun);
    const Ticks ready = timelines.sum(rank, TimelineState::kReady);
    EXPECT_EQ(prediction.end_ns[rank], rounded(ends[rank]));
    EXPECT_EQ(prediction.run_ns[rank], rounded(run));
    EXPECT_EQ(prediction.run_ns[rank] + prediction.ready_ns[rank], rounded(run + ready));
    EXPECT_EQ(prediction.run_ns[rank] + prediction.io_ns[rank] + prediction.ready_ns[rank],
              prediction.end_ns[rank]);
  }
}

TEST(SharedCores, KeepTheirLawsOnRandomPrograms) {
  std::uint64_t ready = 0, deadlocks = 0;
  for (std::uint64_t trial = 0; trial < 1500; ++trial) {
    Case it(trial);
    const auto cores = static_cast<std::uint32_t>(1 + below(it.random, 2));
    const std::uint64_t slice = 1 + below(it.random, 30);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << "\n" << print_goal(it.program));
    Timelines own, shared;
    const auto alone = it.replayed({}, &own);
    const auto together = it.replayed({cores, slice}, &shared);
    if (!alone || !together) {  // Some programs deadlock, depending on the order of sends.
      ++deadlocks;
      continue;
    }
    expect_sums(*alone, own);
    expect_sums(*together, shared);
    expect_busy_cores(it, shared, cores);
    EXPECT_EQ(together->run_ns, alone->run_ns) << "T_run does not depend on the cores";
    EXPECT_EQ(together->events, alone->events);
    EXPECT_EQ(together->messages, alone->messages);
    EXPECT_EQ(alone->ready_ns, std::vector<std::uint64_t>(alone->end_ns.size(), 0));
    for (const std::uint64_t of_rank : together->ready_ns) ready += of_rank;
  }
  EXPECT_GT(ready, 10'000u);
  EXPECT_LT(deadlocks, 300u);
}

// The same, and exactly the same result, whether somebody watches or not.
TEST(SharedCores, WithACoreForEachRankChangeNothing) {
  for (std::uint64_t trial = 0; trial < 500; ++trial) {
    Case it(trial, trial % 3 == 0);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << "\n" << print_goal(it.program));
    Timelines timelines;
    const auto plain = it.replayed({}, nullptr);
    const auto watched = it.replayed({}, &timelines);
    const auto enough = static_cast<std::uint32_t>(it.program.ranks.size());
    const auto with_cores = it.replayed({enough, 1}, nullptr);
    ASSERT_EQ(watched.has_value(), plain.has_value());
    ASSERT_EQ(with_cores.has_value(), plain.has_value());
    if (!plain) continue;
    expect_sums(*watched, timelines);
    EXPECT_EQ(*watched, *plain);
    EXPECT_EQ(*with_cores, *plain);
    EXPECT_EQ(plain->ready_ns, std::vector<std::uint64_t>(plain->end_ns.size(), 0));
  }
}

// H9. Messages of two ranks keep their order here, so the n-th receive belongs to the n-th send.
TEST(SharedCores, AMessageIsNeverTakenBeforeItsSendPlusTheDelay) {
  std::uint64_t messages = 0;
  for (std::uint64_t trial = 0; trial < 500; ++trial) {
    Case it(trial);
    Timelines timelines;
    if (!it.replayed({1, 1 + below(it.random, 30)}, &timelines)) continue;
    using Pair = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;
    std::map<Pair, std::vector<Ticks>> sent, taken;
    for (const TimelineRow& row : timelines.rows()) {
      if (row.state != TimelineState::kRun) continue;
      const std::uint64_t bytes = row.doing.bytes;
      if (row.doing.what == Activity::kSend) {
        sent[{row.rank, row.doing.peer, bytes}].push_back(row.begin);
      } else if (row.doing.what == Activity::kReceive) {
        taken[{row.doing.peer, row.rank, bytes}].push_back(row.begin);
      }
    }
    for (const auto& [pair, begins] : taken) {
      const auto& [source, destination, bytes] = pair;
      const bool is_inside = it.nodes[source] == it.nodes[destination];
      const LogGpsCosts& of = is_inside ? it.costs.memory() : it.costs.ends();
      // Work that takes no time has no row.
      if (of.send_cpu(bytes) == 0 || of.receive_cpu(bytes) == 0) continue;
      ASSERT_EQ(begins.size(), sent[pair].size());
      for (std::size_t i = 0; i < begins.size(); ++i) {
        EXPECT_GE(begins[i], sent[pair][i] + of.flight());
        ++messages;
      }
    }
  }
  EXPECT_GT(messages, 3'000u);
}

TEST(SharedCores, RefuseSeveralCpuNumbers) {
  const FabricCosts costs(LogGps{}, Fabric{}, MemoryPath{});
  LogGpsNetwork network(costs, nullptr);
  const Program program =
      testing::goal("num_ranks 2\nrank 0 {\ncalc 1 cpu 0\ncalc 1 cpu 1\n}\nrank 1 {\ncalc 1\n}\n");
  const std::vector<Node> nodes{Node{0}, Node{0}};
  EXPECT_TRUE(replay(program, costs, nodes, network, {2, 0}));
  const auto refused = replay(program, costs, nodes, network, {1, 10});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "the program has several CPU numbers, which is not possible on nodes with more ranks "
            "than cores; raise node.cores, lower node.processes, or use one CPU number (in a run, "
            "each thread that calls MPI has one)");
}

}  // namespace
}  // namespace xylem::predict
