// Messages on channels: closed formulas, a reference that moves single flits, and random traffic
// beside the analytic model.

#include "predict/network/channels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "tests/unit/predict/deliver.h"
#include "tests/unit/predict/flit_network.h"
#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::deliver;
using testing::Sent;

/// A byte takes a tick on a channel. The NIC takes no time, so a message arrives with its tail.
FabricCosts one_byte_a_tick(std::uint64_t switch_time, std::uint32_t header_share) {
  const Fabric fabric{Femtoseconds{switch_time * 1'000'000}, Femtoseconds{1'000'000}, header_share};
  return {testing::network(0, 0, 0, 0, 0, 0), fabric, {}};
}

std::unique_ptr<Topology> built(Result<std::unique_ptr<Topology>> result) {
  CHECK(result);
  return *std::move(result);
}

std::vector<Ticks> arrivals(const FabricCosts& costs, const Topology& topology,
                            const std::vector<Sent>& messages) {
  ChannelNetwork network(costs, topology);
  std::vector<Ticks> times;
  for (const auto& it : deliver(network, messages)) times.push_back(it.arrival);
  return times;
}

TEST(ChannelNetwork, TakesTheFormulaIfNothingElseIsThere) {
  const FabricCosts costs = one_byte_a_tick(100, 250'000);
  for (const auto& topology :
       {built(make_crossbar(8)), built(make_fat_tree(2, 3)), built(make_grid({4, 2}, true)),
        built(make_grid({8}, false)), built(make_dragonfly({2, 2, 2, 1}))}) {
    std::vector<ChannelId> path;
    for (std::uint32_t to = 1; to < 8; ++to) {
      topology->find_path(Node{0}, Node{to}, path);
      const std::uint64_t switches = path.size() - 1;
      for (const std::uint64_t bytes : {0, 1, 4, 1000, 1'000'000}) {
        const Ticks header = costs.header(bytes);
        const Ticks expected = switches * (100 + header) + bytes;
        EXPECT_EQ(arrivals(costs, *topology, {{0, to, bytes, 7}}),
                  (std::vector<Ticks>{7 + expected}));
        const std::vector<ChannelLoad> idle(switches);
        EXPECT_EQ(mean_delay(costs, idle, bytes)->total(), expected) << "the analytic model";
      }
    }
  }
}

// Crossbar; τ = 10, α = 1/4. The first message asks for its second channel at 25 + 10, and keeps it
// busy until 135.
TEST(ChannelNetwork, StoresAMessageThatFindsItsChannelBusy) {
  const FabricCosts costs = one_byte_a_tick(10, 250'000);
  const auto crossbar = built(make_crossbar(4));
  const Sent first{0, 2, 100, 0};
  // The second asks when the channel has just become free, and passes through: 100 + 25 + 10.
  EXPECT_EQ(arrivals(costs, *crossbar, {first, {1, 2, 100, 100}}),
            (std::vector<Ticks>{135, 135 + 100}));
  // One tick earlier: it is stored until its tail is there, at 99 + 100 + 10.
  EXPECT_EQ(arrivals(costs, *crossbar, {first, {1, 2, 100, 99}}),
            (std::vector<Ticks>{135, 209 + 100}));
  // Together: the tail is there at 110, before the channel is free.
  EXPECT_EQ(arrivals(costs, *crossbar, {first, {1, 2, 100, 0}}),
            (std::vector<Ticks>{135, 135 + 100}));
  // A third message passes through while the second is stored.
  EXPECT_EQ(arrivals(costs, *crossbar, {first, {1, 2, 100, 99}, {3, 2, 20, 130}}),
            (std::vector<Ticks>{135, 209 + 100, 130 + 5 + 10 + 20}));
}

TEST(ChannelNetwork, MessagesOfANodeWaitForTheInjection) {
  const FabricCosts costs = one_byte_a_tick(10, 250'000);
  const auto crossbar = built(make_crossbar(4));
  // The second starts at 100. It was in memory, so it need not be stored.
  EXPECT_EQ(arrivals(costs, *crossbar, {{0, 1, 100, 0}, {0, 2, 40, 3}}),
            (std::vector<Ticks>{135, 100 + 10 + 10 + 40}));
}

TEST(ChannelNetwork, CountsTraffic) {
  const FabricCosts costs = one_byte_a_tick(10, 0);
  const auto crossbar = built(make_crossbar(3));
  ChannelNetwork network(costs, *crossbar);
  deliver(network, {{0, 1, 100, 0}, {0, 2, 40, 0}, {2, 1, 7, 0}});
  const std::vector<ChannelTraffic> traffic(network.traffic().begin(), network.traffic().end());
  EXPECT_EQ(traffic, (std::vector<ChannelTraffic>{
                         {2, 140, 140}, {}, {1, 7, 7}, {}, {2, 107, 107}, {1, 40, 40}}));
}

TEST(ChannelNetwork, EndsAtTheMaximumOfTimes) {
  const Fabric fabric{kMaxParameter, kMaxParameter, kWhole};
  const FabricCosts costs(testing::network(0, 0, 0, 0, 0, 0), fabric, {});
  const auto grid = built(make_grid({4, 4}, false));
  std::vector<Sent> messages;
  for (int i = 0; i < 5; ++i) messages.push_back({0, 15, ~0ULL, kMaxTicks - 1});
  EXPECT_EQ(arrivals(costs, *grid, messages), std::vector<Ticks>(5, kMaxTicks));
}

struct FlitCase {
  std::string name;
  std::shared_ptr<Topology> topology;
  std::uint64_t switch_time = 0;
  std::uint32_t header_share = 0;
  std::vector<Sent> messages;
};

/// `count` messages between random nodes. Sizes are multiples of 4, so that a header of 1/4 is
/// whole.
std::vector<Sent> random_messages(std::uint32_t seed, std::uint32_t nodes, int count,
                                  std::uint32_t longest, std::uint32_t gap) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  std::vector<Sent> messages;
  Ticks time = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t from = below(nodes), to = (from + 1 + below(nodes - 1)) % nodes;
    time += below(gap);
    messages.push_back({from, to, 4 * (1 + below(longest)), time});
  }
  return messages;
}

std::vector<FlitCase> flit_cases() {
  const std::shared_ptr<Topology> crossbar = built(make_crossbar(6));
  const std::shared_ptr<Topology> line = built(make_grid({5}, false));
  const std::shared_ptr<Topology> torus = built(make_grid({4, 4}, true));
  const std::shared_ptr<Topology> tree = built(make_fat_tree(2, 3));
  const std::shared_ptr<Topology> dragonfly = built(make_dragonfly({3, 2, 2, 1}));
  return {
      {"alone", line, 3, 250'000, {{0, 4, 40, 5}}},
      {"two to one node", crossbar, 3, 250'000, {{0, 2, 40, 0}, {1, 2, 40, 0}}},
      {"a short one behind a long one", crossbar, 3, 250'000, {{0, 2, 400, 0}, {1, 2, 8, 100}}},
      {"two of one node", crossbar, 0, 250'000, {{0, 2, 40, 0}, {0, 3, 20, 1}, {0, 2, 4, 1}}},
      {"stored while others pass",
       crossbar,
       10,
       250'000,
       {{0, 2, 100, 0}, {1, 2, 100, 99}, {3, 2, 20, 130}, {4, 2, 60, 131}}},
      {"a chain of blocked messages",
       line,
       2,
       500'000,
       {{3, 4, 80, 0}, {2, 4, 80, 3}, {1, 4, 80, 6}, {0, 4, 80, 9}, {0, 3, 80, 10}}},
      {"store and forward", torus, 1, kWhole, random_messages(1, 16, 60, 10, 4)},
      {"random on a torus", torus, 2, 250'000, random_messages(2, 16, 200, 12, 6)},
      {"random on a fat tree", tree, 5, 250'000, random_messages(3, 8, 200, 20, 20)},
      {"random on a dragonfly", dragonfly, 0, 250'000, random_messages(4, 12, 200, 8, 10)},
  };
}

TEST(ChannelNetwork, AgreesWithANetworkOfFlits) {
  std::size_t stored = 0;
  for (const FlitCase& it : flit_cases()) {
    SCOPED_TRACE(it.name);
    const FabricCosts costs = one_byte_a_tick(it.switch_time, it.header_share);
    std::vector<testing::FlitMessage> flits;
    std::vector<ChannelId> path;
    std::vector<Ticks> alone;
    for (const Sent& sent : it.messages) {
      it.topology->find_path(Node{sent.from}, Node{sent.to}, path);
      testing::FlitMessage made;
      for (const ChannelId channel : path) made.path.push_back(raw(channel));
      made.flits = static_cast<std::uint32_t>(sent.bytes);
      made.header = static_cast<std::uint32_t>(sent.bytes * it.header_share / kWhole);
      made.sent = sent.time;
      flits.push_back(made);
      alone.push_back(sent.time + sent.bytes + (path.size() - 1) * (it.switch_time + made.header));
    }
    const auto expected = testing::pass_flits(flits, it.topology->channels(), it.switch_time);
    ASSERT_EQ(arrivals(costs, *it.topology, it.messages), expected);
    for (std::size_t i = 0; i < alone.size(); ++i) stored += expected[i] > alone[i] ? 1 : 0;
  }
  EXPECT_GT(stored, 300u) << "the cases have contention";
}

TEST(ChannelNetwork, KeepsTheOrderOfMessagesBetweenTwoNodes) {
  const auto torus = built(make_grid({4, 4}, true));
  const auto messages = random_messages(9, 16, 5000, 40, 6);
  for (const std::uint32_t share : {0u, 100'000u, kWhole}) {
    const auto times = arrivals(one_byte_a_tick(2, share), *torus, messages);
    std::vector<Ticks> last(256);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      Ticks& before = last[messages[i].from * 16 + messages[i].to];
      ASSERT_GE(times[i], before) << "message " << i;
      before = times[i];
    }
  }
}

TEST(AnalyticNetwork, KeepsTheOrderOfMessagesBetweenTwoNodes) {
  const auto crossbar = built(make_crossbar(2));
  AnalyticNetwork network(one_byte_a_tick(10, 500'000), *crossbar, std::vector<ChannelLoad>(4));
  const auto delivered = deliver(network, {{0, 1, 1000, 0}, {0, 1, 10, 1}, {1, 0, 10, 1}});
  EXPECT_EQ(delivered[0].arrival, 10u + 500 + 1000);
  EXPECT_EQ(delivered[1].arrival, delivered[0].arrival);
  EXPECT_EQ(delivered[2].arrival, 1u + 10 + 5 + 10);
}

TEST(AnalyticNetwork, TakesTheMeanOfThePath) {
  const FabricCosts costs = one_byte_a_tick(10, 500'000);
  const auto line = built(make_grid({3}, false));
  std::vector<ChannelLoad> loads(line->channels(), {kFullLoad / 5, 300});
  AnalyticNetwork network(costs, *line, loads);
  const std::vector<ChannelLoad> behind_switches(3, loads[0]);
  EXPECT_EQ(deliver(network, {{0, 2, 1000, 0}})[0].arrival,
            mean_delay(costs, behind_switches, 1000)->total());
  EXPECT_EQ(network.traffic()[0], (ChannelTraffic{1, 1000, 1000}));
}

TEST(LogGpsNetwork, TakesTheLatencyAndCountsTraffic) {
  const FabricCosts costs(testing::network(500, 20, 0, 0, 0, 0), {}, {});
  const auto crossbar = built(make_crossbar(2));
  LogGpsNetwork with_topology(costs, crossbar.get()), without(costs, nullptr);
  EXPECT_EQ(deliver(with_topology, {{0, 1, 1000, 30}})[0].arrival, 530u);
  EXPECT_EQ(deliver(without, {{0, 1, 1000, 30}})[0].arrival, 530u);
  EXPECT_EQ(with_topology.traffic().size(), 4u);
  EXPECT_EQ(with_topology.traffic()[0].messages, 1u);
  EXPECT_TRUE(without.traffic().empty());
}

constexpr double kMeanBytes = 10'000;

/// Poisson arrivals, exponential sizes, all pairs of nodes. `load` is that of the busiest channel.
std::vector<Sent> random_traffic(const Topology& topology, double load, std::size_t count,
                                 std::uint32_t seed) {
  // The load of the busiest channel if each node sends one message in the mean transfer time.
  std::vector<double> uses(topology.channels());
  std::vector<ChannelId> path;
  double most = 0;
  const std::uint32_t nodes = topology.nodes();
  for (std::uint32_t from = 0; from < nodes; ++from) {
    for (std::uint32_t to = 0; to < nodes; ++to) {
      topology.find_path(Node{from}, Node{to}, path);
      for (const ChannelId it : path) {
        most = std::max(most, uses[raw(it)] += 1.0 / (nodes - 1));
      }
    }
  }
  const double mean_gap = kMeanBytes * most / load / nodes;
  std::mt19937_64 random(seed);
  const auto exponential = [&](double mean) {
    return -mean * std::log((static_cast<double>(random() >> 11) + 0.5) * 0x1p-53);
  };
  std::vector<Sent> messages;
  double time = 0;
  for (std::size_t i = 0; i < count; ++i) {
    time += exponential(mean_gap);
    const auto from = static_cast<std::uint32_t>(random() % nodes);
    const auto to = static_cast<std::uint32_t>((from + 1 + random() % (nodes - 1)) % nodes);
    const auto bytes = static_cast<std::uint64_t>(1 + exponential(kMeanBytes));
    messages.push_back({from, to, bytes, static_cast<Ticks>(time)});
  }
  return messages;
}

struct Compared {
  double load = 0;       ///< Of the channel with the largest.
  double simulated = 0;  ///< Mean latency, without the wait for the injection, in units of L/W.
  double analytic = 0;
  double idle = 0;
};

Compared compare(const Topology& topology, std::uint32_t header_share, double load,
                 std::uint32_t seed) {
  constexpr std::size_t kMessages = 30'000;
  const FabricCosts costs = one_byte_a_tick(500, header_share);
  std::vector<ChannelId> path;
  const std::vector<Sent> messages = random_traffic(topology, load, kMessages, seed);
  const auto time = static_cast<double>(messages.back().time);
  ChannelNetwork network(costs, topology);
  const auto delivered = deliver(network, messages);
  std::vector<ChannelLoad> loads;
  Compared result;
  for (const ChannelTraffic& it : network.traffic()) {
    loads.push_back(measured_load(it.busy, it.messages, static_cast<Ticks>(time)));
    result.load = std::max(result.load, static_cast<double>(loads.back().load) / 1e9);
  }
  std::vector<ChannelLoad> on_path;
  for (std::size_t i = 0; i < kMessages; ++i) {
    const Sent& it = messages[i];
    topology.find_path(Node{it.from}, Node{it.to}, path);
    on_path.clear();
    for (std::size_t j = 1; j < path.size(); ++j) on_path.push_back(loads[raw(path[j])]);
    const auto delay = mean_delay(costs, on_path, it.bytes);
    CHECK(delay);
    const Ticks injected = delivered[i].first - costs.header(it.bytes) - costs.switch_time();
    const double unit = kMeanBytes * static_cast<double>(kMessages);
    result.simulated += static_cast<double>(delivered[i].arrival - injected) / unit;
    result.analytic += static_cast<double>(delay->total()) / unit;
    result.idle += static_cast<double>(delay->total() - delay->storing - delay->waiting) / unit;
  }
  return result;
}

void expect_above(const Topology& topology, std::uint32_t header_share, double lowest,
                  double highest) {
  for (const double load : {0.1, 0.2, 0.4, 0.6}) {
    const Compared it = compare(topology, header_share, load, 20261127);
    EXPECT_GT(it.load, load) << "the busiest channel has more than its mean";
    const double above = it.analytic / it.simulated - 1;
    EXPECT_GE(above, lowest) << "load " << it.load;
    EXPECT_LE(above, highest) << "load " << it.load;
  }
}

// All messages are stored in a switch, and wait once: this is an M/M/1 queue.
TEST(ChannelNetwork, AgreesWithTheAnalyticModelWhereMessagesWaitOnce) {
  expect_above(*built(make_crossbar(32)), kWhole, -0.03, 0.03);
}

// The formula adds the time of storing to the whole wait. But the channel goes on serving others
// while a message is stored, so it waits less afterwards.
TEST(ChannelNetwork, IsAtMostTwentyPercentBelowTheAnalyticModelInACrossbar) {
  expect_above(*built(make_crossbar(32)), 50'000, 0, 0.2);
}

// The formula takes messages for independent. But messages that go the same way have waited for
// each other already, and do not wait for each other again.
TEST(ChannelNetwork, IsBelowTheAnalyticModelInLargerNetworks) {
  expect_above(*built(make_fat_tree(4, 3)), 50'000, 0, 0.5);
  expect_above(*built(make_grid({6, 6}, true)), 50'000, 0, 0.5);
  expect_above(*built(make_grid({4, 4, 4}, false)), 50'000, 0, 0.5);
}

}  // namespace
}  // namespace xylem::predict
