// Programs on machines: closed formulas for one message, and laws about topologies and mappings.

#include "predict/replay/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "predict/network/channels.h"
#include "tests/unit/predict/deliver.h"
#include "tests/unit/predict/random_programs.h"

namespace xylem::predict {
namespace {

using testing::below;
using testing::chain;
using testing::compute;
using testing::Random;
using testing::receive;
using testing::send;

constexpr Model kModels[] = {Model::kLogGps, Model::kAnalytic, Model::kChannels};

Femtoseconds whole_ns(std::uint64_t value) { return Femtoseconds{value * 1'000'000}; }

std::unique_ptr<Topology> new_topology(Result<std::unique_ptr<Topology>> result) {
  CHECK(result);
  return *std::move(result);
}

std::vector<Node> one_each(std::size_t ranks) {
  std::vector<Node> nodes;
  for (std::uint32_t i = 0; i < ranks; ++i) nodes.push_back(Node{i});
  return nodes;
}

MachinePrediction on(const Program& program, const Machine& machine, Model model) {
  auto prediction = replay_on(program, machine, model);
  EXPECT_TRUE(prediction) << prediction.error().message;
  return prediction ? *std::move(prediction) : MachinePrediction{};
}

std::uint64_t makespan(const Program& program, const Machine& machine, Model model) {
  return on(program, machine, model).prediction.makespan_ns;
}

Program ping(std::uint64_t bytes) {
  return {{chain({send(bytes, 1)}), chain({receive(bytes, 0)})}};
}

// H7. n = 3 switches (neighbours of neighbours in a line), τ = 100, W = 1/2 byte/ns, α = 0.01.
TEST(MessageDelay, IsTheClosedFormula) {
  const auto line = new_topology(make_grid({3}, false));
  Machine machine{testing::network(5000, 700, 300, 2, 0, 1 << 30),
                  {whole_ns(100), whole_ns(2), 10'000},
                  {whole_ns(50), whole_ns(1)},
                  line.get(),
                  {Node{0}, Node{2}, Node{2}}};
  for (const Model model : {Model::kAnalytic, Model::kChannels}) {
    const auto none = message_delay(machine, model, 0, 1, 0);
    ASSERT_TRUE(none);
    EXPECT_EQ(none->total, 700u + 3 * 100 + 700);
    const auto megabyte = message_delay(machine, model, 0, 1, 1'000'000);
    ASSERT_TRUE(megabyte);
    EXPECT_EQ(*megabyte, (MessageDelay{1, 3, 700, 0, 300, 3 * 20'000, 2'000'000, 700,
                                       700 + 300 + 60'000 + 2'000'000 + 700}));
  }
  EXPECT_EQ(message_delay(machine, Model::kLogGps, 0, 1, 1001)->total, 700u + 5000 + 2000 + 700);
  for (const Model model : kModels) {
    EXPECT_EQ(message_delay(machine, model, 1, 2, 1001)->total, 700u + 50 + 1000 + 700)
        << "inside a node";
  }
  machine.topology = nullptr;
  EXPECT_FALSE(message_delay(machine, Model::kChannels, 0, 1, 0));
  EXPECT_TRUE(message_delay(machine, Model::kLogGps, 0, 1, 0));
}

// O = 10 and G = 1 ns a byte, W = 0.2 byte/ns. The channel takes 505 ns for 101 bytes, the
// receiver's processor 1000 ns. The bytes pass both at once.
TEST(MessageDelay, CountsTheTimeOfAByteOnceIfTheProcessorIsTheSlowest) {
  const auto crossbar = new_topology(make_crossbar(2));
  const Machine machine{testing::network(0, 0, 0, 1, 10, 1 << 30),
                        {{}, whole_ns(5), 0},
                        {},
                        crossbar.get(),
                        one_each(2)};
  const auto delay = message_delay(machine, Model::kChannels, 0, 1, 101);
  ASSERT_TRUE(delay);
  EXPECT_EQ(delay->transfer, 1000u);
  EXPECT_EQ(delay->total, 1000u);
  EXPECT_EQ(makespan(ping(101), machine, Model::kChannels), 1000u);
}

TEST(MessageDelay, IsThatOfTheReplay) {
  const auto torus = new_topology(make_grid({5, 4}, true));
  Random random(3);
  for (int trial = 0; trial < 500; ++trial) {
    LogGps ends = testing::random_network(random);
    ends.eager_bytes = ~0ULL;
    const Fabric fabric{testing::random_time(random, 50), testing::random_time(random, 4),
                        static_cast<std::uint32_t>(below(random, kWhole + 1))};
    const MemoryPath memory{testing::random_time(random, 50), testing::random_time(random, 4)};
    const auto node = [&] { return Node{static_cast<std::uint32_t>(below(random, 20))}; };
    const Machine machine{ends, fabric, memory, torus.get(), {node(), node()}};
    const std::uint64_t bytes = below(random, 3) == 0 ? below(random, 3) : below(random, 100'000);
    for (const Model model : kModels) {
      const auto delay = message_delay(machine, model, 0, 1, bytes);
      ASSERT_TRUE(delay);
      const std::uint64_t expected = (delay->total + delay->ticks_per_ns / 2) / delay->ticks_per_ns;
      const auto found = on(ping(bytes), machine, model);
      // Alone, the message gives its own channels a load, which the formula takes for other
      // traffic.
      if (model == Model::kAnalytic) {
        EXPECT_GE(found.prediction.end_ns[1], expected) << "trial " << trial;
      } else {
        EXPECT_EQ(found.prediction.end_ns[1], expected) << "trial " << trial;
      }
    }
  }
}

TEST(Machine, WithLogGpsOnItsNodesIsTheSameAsWithoutNodes) {
  const auto crossbar = new_topology(make_crossbar(8));
  for (std::uint64_t trial = 0; trial < 300; ++trial) {
    Random random(77 + trial);
    const LogGps ends = testing::random_network(random);
    Program program = testing::random_program(random, {.several_cpus = true}, ends.eager_bytes);
    bool has_self = false;
    for (std::uint32_t i = 0; i < program.ranks.size(); ++i) {
      for (const Operation& it : program.ranks[i].operations()) {
        has_self = has_self || (it.kind == Kind::kSend && it.peer == i);
      }
    }
    if (has_self) continue;  // A message to itself uses the memory.
    const auto plain = replay(program, ends);
    const auto placed = replay_on(
        program, {ends, {}, {}, crossbar.get(), one_each(program.ranks.size())}, Model::kLogGps);
    ASSERT_EQ(plain.has_value(), placed.has_value());
    if (!plain) continue;
    EXPECT_EQ(*plain, placed->prediction) << "trial " << trial;
  }
}

TEST(Machine, MessagesInsideANodeUseNoNic) {
  // The NIC is busy until 1000 + 99 * 10, but the processor is free at 5.
  const Program program{
      {chain({send(100, 1), send(11, 2)}), chain({receive(100, 0)}), chain({receive(11, 0)})}};
  const Machine machine{testing::network(100, 5, 1000, 10, 0, 1000),
                        {},
                        {whole_ns(20), whole_ns(3)},
                        nullptr,
                        {Node{0}, Node{1}, Node{0}}};
  EXPECT_EQ(on(program, machine, Model::kLogGps).prediction.end_ns,
            (std::vector<std::uint64_t>{10, 5 + 100 + 5 + 990, 5 + 5 + 20 + 5 + 10 * 3}));
}

TEST(Machine, NeedsATopologyForItsModel) {
  for (const Model model : {Model::kAnalytic, Model::kChannels}) {
    const auto refused = replay_on(ping(1), {}, model);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "the target has no topology, which this model needs; add the section [topology], or "
              "use the model loggps");
  }
}

/// Each of `nodes` ranks sends messages to random others, with computing in between.
Program random_traffic_program(std::uint32_t ranks, std::uint32_t messages, std::uint64_t bytes,
                               std::uint64_t mean_ns, std::uint32_t seed) {
  Random random(seed);
  std::vector<std::vector<Operation>> operations(ranks);
  for (std::uint32_t i = 0; i < messages; ++i) {
    for (std::uint32_t from = 0; from < ranks; ++from) {
      const auto to = static_cast<std::uint32_t>((from + 1 + below(random, ranks - 1)) % ranks);
      operations[from].push_back(compute(below(random, 2 * mean_ns)));
      operations[from].push_back(send(bytes, to));
      operations[to].push_back(receive(bytes, from));
    }
  }
  Program program;
  for (const auto& it : operations) program.ranks.push_back(chain(it));
  return program;
}

Machine machine_on(const Topology* topology, std::size_t ranks) {
  return {testing::network(1000, 100, 50, 1, 0, 1 << 20),
          {whole_ns(100), whole_ns(1), 20'000},
          {whole_ns(100), whole_ns(1)},
          topology,
          one_each(ranks)};
}

TEST(Machine, RepeatsTheReplayUntilLoadsAndMakespanFit) {
  const auto torus = new_topology(make_grid({4, 4}, true));
  const Machine machine = machine_on(torus.get(), 16);
  for (const std::uint64_t mean_ns : {100'000, 20'000, 5'000, 1'000}) {
    const Program program = random_traffic_program(16, 100, 2000, mean_ns, 5);
    const auto result = on(program, machine, Model::kAnalytic);
    EXPECT_TRUE(result.has_converged) << mean_ns;
    EXPECT_GE(result.replays, 2u);
    EXPECT_EQ(result.events(), result.replays * result.prediction.events);
    EXPECT_LT(result.replays, kMaxReplays) << mean_ns;
    EXPECT_EQ(result.saturated, 0u);
    EXPECT_EQ(on(program, machine, Model::kAnalytic), result) << "each time the same";
    // A last replay with exactly these loads.
    const FabricCosts costs(machine.ends, machine.fabric, machine.memory);
    std::vector<ChannelLoad> loads(torus->channels());
    for (const ChannelUse& it : result.channels) {
      loads[raw(it.channel)] = {it.load, it.traffic.busy / it.traffic.messages};
    }
    AnalyticNetwork network(costs, *torus, loads);
    const auto again = replay(program, costs, machine.node_of_rank, network);
    ASSERT_TRUE(again);
    const auto expected = static_cast<double>(result.prediction.makespan_ns);
    EXPECT_NEAR(static_cast<double>(again->makespan_ns), expected, expected * 0.005);
  }
}

TEST(Machine, SaysThatTheNetworkIsSaturated) {
  // Without rendezvous and waiting, all send to one node, whose channel is slower than all NICs.
  const auto crossbar = new_topology(make_crossbar(9));
  Program program;
  std::vector<Operation> receives;
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    program.ranks.push_back(chain(std::vector<Operation>(50, send(1000, 8))));
    receives.insert(receives.end(), 50, receive(1000, rank));
  }
  program.ranks.push_back(chain(receives));
  Machine machine = machine_on(crossbar.get(), 9);
  machine.ends = testing::network(0, 10, 0, 0, 0, 1 << 20);
  const auto result = on(program, machine, Model::kAnalytic);
  EXPECT_EQ(result.saturated, 9u) << "8 injections and an ejection";
  const auto busiest =
      std::ranges::max_element(result.channels, {}, [](const ChannelUse& it) { return it.load; });
  EXPECT_EQ(raw(busiest->channel), 9u + 8u) << "the ejection of node 8";
  EXPECT_GT(busiest->load, kMaxAnalyticLoad);
  // Messages one after the other take at least as long as the channel needs.
  const auto real = on(program, machine, Model::kChannels);
  EXPECT_GE(real.prediction.makespan_ns, 400u * 1000);
  EXPECT_EQ(real.saturated, 0u);
}

/// Each rank exchanges messages with its neighbours on a torus of side * side ranks.
Program halo_program(std::uint32_t side, int steps, std::uint64_t bytes) {
  Program program;
  for (std::uint32_t rank = 0; rank < side * side; ++rank) {
    const std::uint32_t x = rank % side, y = rank / side;
    const std::uint32_t neighbours[] = {y * side + (x + 1) % side, y * side + (x + side - 1) % side,
                                        (y + 1) % side * side + x,
                                        (y + side - 1) % side * side + x};
    RankBuilder builder;
    std::uint32_t last = builder.add(compute(1000));
    for (int step = 0; step < steps; ++step) {
      std::vector<std::uint32_t> started;
      for (std::uint32_t i = 0; i < 4; ++i) {
        started.push_back(builder.add(receive(bytes, neighbours[i], i ^ 1)));
        started.push_back(builder.add(send(bytes, neighbours[i], i)));
      }
      const std::uint32_t wait = builder.add(compute(2000));
      for (const std::uint32_t it : started) {
        builder.require(it, last);
        builder.require(wait, it);
      }
      last = wait;
    }
    program.ranks.push_back(testing::finished(std::move(builder)));
  }
  return program;
}

struct Topologies {
  std::unique_ptr<Topology> crossbar = new_topology(make_crossbar(64));
  std::unique_ptr<Topology> fat_tree = new_topology(make_fat_tree(4, 3));
  std::unique_ptr<Topology> torus = new_topology(make_grid({8, 8}, true));
  std::unique_ptr<Topology> mesh = new_topology(make_grid({8, 8}, false));
};

std::vector<Node> scrambled(std::uint32_t ranks, std::uint32_t seed) {
  std::vector<Node> nodes = one_each(ranks);
  Random random(seed);
  std::ranges::shuffle(nodes, random);
  return nodes;
}

TEST(Machine, AHaloIsNotSlowerOnItsTorusThanOnAFatTree) {
  const Topologies on_all;
  for (const Model model : {Model::kAnalytic, Model::kChannels}) {
    for (const std::uint64_t bytes : {8, 2000, 100'000}) {
      const Program program = halo_program(8, 5, bytes);
      const auto torus = makespan(program, machine_on(on_all.torus.get(), 64), model);
      const auto tree = makespan(program, machine_on(on_all.fat_tree.get(), 64), model);
      const auto mesh = makespan(program, machine_on(on_all.mesh.get(), 64), model);
      EXPECT_LE(torus, tree) << bytes;
      EXPECT_LE(torus, mesh) << bytes << ": in a mesh the ends of a line are far apart";
    }
  }
}

TEST(Machine, AScrambledMappingIsSlowerInTorusAndMeshAndTheSameInACrossbar) {
  const Topologies on_all;
  for (const Model model : {Model::kAnalytic, Model::kChannels}) {
    for (const std::uint64_t bytes : {8, 2000, 100'000}) {
      const Program program = halo_program(8, 5, bytes);
      for (const std::uint32_t seed : {1u, 2u, 3u}) {
        const auto both = [&](const Topology* topology) {
          Machine machine = machine_on(topology, 64);
          const auto before = makespan(program, machine, model);
          machine.node_of_rank = scrambled(64, seed);
          return std::pair(before, makespan(program, machine, model));
        };
        const auto torus = both(on_all.torus.get()), mesh = both(on_all.mesh.get());
        const auto crossbar = both(on_all.crossbar.get());
        EXPECT_GT(torus.second, torus.first) << bytes << " bytes, seed " << seed;
        EXPECT_GT(mesh.second, mesh.first) << bytes << " bytes, seed " << seed;
        EXPECT_EQ(crossbar.second, crossbar.first) << bytes << " bytes, seed " << seed;
      }
    }
  }
}

TEST(Machine, TheSameRandomTrafficIsSlowerOnLongerPaths) {
  const Topologies on_all;
  for (const Model model : {Model::kAnalytic, Model::kChannels}) {
    const Program program = random_traffic_program(64, 50, 4000, 10'000, 9);
    const auto crossbar = makespan(program, machine_on(on_all.crossbar.get(), 64), model);
    const auto tree = makespan(program, machine_on(on_all.fat_tree.get(), 64), model);
    const auto torus = makespan(program, machine_on(on_all.torus.get(), 64), model);
    const auto mesh = makespan(program, machine_on(on_all.mesh.get(), 64), model);
    EXPECT_LT(crossbar, tree);
    EXPECT_LT(crossbar, torus);
    EXPECT_LT(torus, mesh);
  }
}

// The overheads and gaps are 0, so the ranks show what the network alone does.
TEST(Machine, SendsThroughTheNetworkAtTheTimesOfTheProgram) {
  const auto torus = new_topology(make_grid({4, 4}, true));
  int compared = 0;
  for (std::uint32_t trial = 0; trial < 50; ++trial) {
    Random random(500 + trial);
    Machine machine = machine_on(torus.get(), 16);
    machine.ends = testing::network(0, 0, 0, 0, 0, 1 << 30);
    machine.node_of_rank = scrambled(16, trial);
    std::vector<std::vector<Operation>> operations(16);
    std::vector<testing::Sent> messages;
    std::vector<std::uint32_t> receivers;
    for (std::uint32_t from = 0; from < 8; ++from) {
      Ticks now = 0;
      for (int i = 0; i < 40; ++i) {
        const std::uint64_t pause = 1 + below(random, 4000), bytes = below(random, 3000);
        const auto to = static_cast<std::uint32_t>(8 + below(random, 8));
        operations[from].push_back(compute(pause));
        operations[from].push_back(send(bytes, to));
        operations[to].push_back(receive(bytes, kAnySource));
        now += pause;
        messages.push_back(
            {raw(machine.node_of_rank[from]), raw(machine.node_of_rank[to]), bytes, now});
        receivers.push_back(to);
      }
    }
    // Messages of the same time are rare, but their order would count.
    std::vector<std::size_t> order(messages.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t it) { return messages[it].time; });
    std::vector<testing::Sent> sorted;
    bool has_ties = false;
    for (const std::size_t it : order) {
      has_ties = has_ties || (!sorted.empty() && sorted.back().time == messages[it].time);
      sorted.push_back(messages[it]);
    }
    if (has_ties) continue;
    ++compared;
    const FabricCosts costs(machine.ends, machine.fabric, machine.memory);
    ChannelNetwork network(costs, *torus);
    const auto delivered = testing::deliver(network, sorted);
    std::vector<std::uint64_t> ends(16);
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::uint64_t& end = ends[receivers[order[i]]];
      end = std::max(end, delivered[i].arrival);
    }
    Program program;
    for (const auto& it : operations) program.ranks.push_back(chain(it));
    const auto found = on(program, machine, Model::kChannels).prediction.end_ns;
    for (std::size_t rank = 8; rank < 16; ++rank) {
      EXPECT_EQ(found[rank], ends[rank]) << "trial " << trial << ", rank " << rank;
    }
  }
  EXPECT_GT(compared, 10);
}

// Channels carry any number of bytes at once: otherwise a message that comes later may find its
// channel free, and overtake what it would have waited for.
TEST(Machine, IsNeverFasterWithMoreLatencyIfNothingElseCosts) {
  const auto torus = new_topology(make_grid({3, 3}, true));
  int slower = 0;
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    Random random(301 + trial);
    Machine machine;
    machine.ends.eager_bytes = below(random, 20);
    machine.topology = torus.get();
    const Program program =
        testing::random_program(random, {.chains = true}, machine.ends.eager_bytes);
    machine.node_of_rank = one_each(program.ranks.size());
    for (const Model model : {Model::kAnalytic, Model::kChannels}) {
      std::vector<std::uint64_t> before(program.ranks.size());
      for (std::uint64_t tau = 0; tau < 40; tau += 1 + below(random, 5)) {
        machine.fabric.switch_time = whole_ns(tau);
        const auto found = on(program, machine, model).prediction.end_ns;
        for (std::size_t rank = 0; rank < before.size(); ++rank) {
          ASSERT_GE(found[rank], before[rank]) << "trial " << trial << ", latency " << tau;
          slower += found[rank] > before[rank] ? 1 : 0;
        }
        before = found;
      }
    }
  }
  EXPECT_GT(slower, 1000);
}

// Times are drawn from so many values that no two events coincide.
TEST(Machine, WithACrossbarDoesNotDependOnTheNamesOfRanks) {
  const auto crossbar = new_topology(make_crossbar(12));
  for (std::uint32_t trial = 0; trial < 50; ++trial) {
    const Program program = random_traffic_program(12, 8, 5000, 1'000'003, trial);
    Random random(trial);
    std::vector<std::uint32_t> old(12);
    std::iota(old.begin(), old.end(), 0u);
    std::ranges::shuffle(old, random);
    const Machine machine = machine_on(crossbar.get(), 12);
    for (const Model model : kModels) {
      const auto first = on(program, machine, model).prediction;
      const auto second = on(testing::relabelled(program, old), machine, model).prediction;
      EXPECT_EQ(first.makespan_ns, second.makespan_ns) << "trial " << trial;
      for (std::size_t i = 0; i < old.size(); ++i) {
        EXPECT_EQ(second.end_ns[i], first.end_ns[old[i]]) << "trial " << trial << ", rank " << i;
      }
    }
  }
}

TEST(Machine, EachNumberOfTheFabricMovesThePrediction) {
  const auto torus = new_topology(make_grid({4, 4}, true));
  const Program program = random_traffic_program(16, 30, 4000, 3000, 2);
  for (const Model model : {Model::kAnalytic, Model::kChannels}) {
    const Machine machine = machine_on(torus.get(), 16);
    const auto before = makespan(program, machine, model);
    Machine slower = machine;
    slower.fabric.switch_time = whole_ns(1000);
    EXPECT_GT(makespan(program, slower, model), before) << "switch time";
    slower = machine;
    slower.fabric.channel_per_byte = whole_ns(3);
    EXPECT_GT(makespan(program, slower, model), before) << "bandwidth";
    slower = machine;
    slower.fabric.header_share = kWhole;
    EXPECT_GT(makespan(program, slower, model), before) << "header share";
    slower = machine;
    slower.ends.latency = whole_ns(1'000'000);
    EXPECT_EQ(makespan(program, slower, model), before) << "L is replaced by the network";
    slower = machine;
    slower.node_of_rank.assign(16, Node{3});
    const auto inside = makespan(program, slower, model);
    slower.memory.latency = whole_ns(5000);
    EXPECT_GT(makespan(program, slower, model), inside) << "latency of the memory";
    slower = machine;
    slower.node_of_rank.assign(16, Node{3});
    slower.memory.per_byte = whole_ns(5);
    EXPECT_GT(makespan(program, slower, model), inside) << "time per byte of the memory";
  }
}

TEST(Machine, CountsTheTrafficOfChannelsInAllModels) {
  const auto crossbar = new_topology(make_crossbar(3));
  const Program program{
      {chain({send(1000, 1), send(500, 2)}), chain({receive(1000, 0)}), chain({receive(500, 0)})}};
  for (const Model model : kModels) {
    const auto result = on(program, machine_on(crossbar.get(), 3), model);
    ASSERT_EQ(result.channels.size(), 3u) << "used channels only";
    EXPECT_EQ(result.channels[0].traffic, (ChannelTraffic{2, 1500, 1500}));
    EXPECT_EQ(result.channels[0].busy_ns, 1500u);
    EXPECT_EQ(result.channels[0].load, 1500 * kFullLoad / result.prediction.makespan_ns);
    EXPECT_EQ(raw(result.channels[1].channel), 4u);
    EXPECT_EQ(raw(result.channels[2].channel), 5u);
  }
}

TEST(Machine, SaysThatRanksWaitForever) {
  const auto crossbar = new_topology(make_crossbar(2));
  const Program program{{chain({receive(8, 1)}), chain({receive(8, 0)})}};
  for (const Model model : kModels) {
    const auto refused = replay_on(program, machine_on(crossbar.get(), 2), model);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.starts_with("ranks wait forever: rank 0"));
  }
}

}  // namespace
}  // namespace xylem::predict
