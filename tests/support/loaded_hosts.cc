#include "tests/support/loaded_hosts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "base/check.h"

namespace xylem::testing {
namespace {

constexpr double kBitsPerGigabit = 1e9;
constexpr double kFrontEndShare = 1;  // It has a core to itself.

double draw_load(std::mt19937_64& random) {
  const double kind = std::uniform_real_distribution(0.0, 1.0)(random);
  if (kind < 0.5) return std::uniform_real_distribution(0.0, 0.5)(random);
  if (kind < 0.8) return std::uniform_real_distribution(0.9, 1.1)(random);
  return 1 + std::exponential_distribution(1.0 / 4)(random);
}

double share_of(const HostLoad& host, double nodes) {
  return 1 / (1 + host.load) * std::min(1.0, host.cores / std::max(1.0, nodes));
}

double wait_of(const HostLoad& host, const WaveCost& cost) {
  return cost.slice * std::pow(std::min(1.0, host.load), host.cores) * std::max(1.0, host.load);
}

double message_time(const HostLoad& host, const WaveCost& cost) {
  return 8 * cost.bytes / (host.network * kBitsPerGigabit);
}

/// Children of each node, leaves included, and the leaf node that each host's back end is below.
struct Family {
  std::vector<double> children;
  std::vector<NodeId> parents;  // By host.
};

Family attach_leaves(const tree::Skeleton& skeleton, std::span<const HostId> carriers,
                     std::size_t hosts) {
  std::vector<placement::InternalLeaf> leaves;
  for (const NodeId node : skeleton.internal_leaves()) {
    leaves.push_back({node, node == kFrontEndNode ? tree::kNoHost : carriers[raw(node) - 1], 0});
  }
  std::vector<HostId> back_ends(hosts);
  for (std::size_t i = 0; i < hosts; ++i) back_ends[i] = HostId{static_cast<std::uint32_t>(i)};
  const auto chosen = placement::attach(back_ends, leaves);
  CHECK(chosen);
  Family family;
  for (const NodeId node : skeleton.nodes()) {
    family.children.push_back(static_cast<double>(skeleton.children(node).size()));
  }
  for (const std::size_t leaf : *chosen) {
    family.parents.push_back(leaves[leaf].node);
    ++family.children[raw(leaves[leaf].node)];
  }
  return family;
}

}  // namespace

std::vector<HostLoad> draw_loads(std::size_t hosts, std::mt19937_64& random) {
  std::vector<HostLoad> loads(hosts);
  for (HostLoad& host : loads) {
    host.load = draw_load(random);
    host.network = std::uniform_real_distribution(0.0, 1.0)(random) < 0.1 ? 1 : 10;
    host.memory = std::uniform_real_distribution(0.0, 64.0)(random);
  }
  return loads;
}

void redraw(std::span<HostLoad> hosts, double share, std::mt19937_64& random) {
  for (HostLoad& host : hosts) {
    if (std::uniform_real_distribution(0.0, 1.0)(random) < share) host.load = draw_load(random);
  }
}

std::vector<tree::Host> as_hosts(std::size_t hosts) {
  std::vector<tree::Host> list;
  for (std::size_t i = 0; i < hosts; ++i) list.push_back({"n" + std::to_string(i), 1, 16, 0});
  return list;
}

std::vector<placement::FactValues> as_facts(std::span<const HostLoad> loads, const WaveCost& cost) {
  auto facts = placement::facts_of(as_hosts(loads.size()));
  for (std::size_t i = 0; i < loads.size(); ++i) {
    using placement::Fact;
    facts[i].set(Fact::kIdle, std::max(0.0, 1 - loads[i].load));
    facts[i].set(Fact::kRunQueue, loads[i].load);
    facts[i].set(Fact::kMemory, loads[i].memory);
    facts[i].set(Fact::kNetwork, loads[i].network);
    facts[i].set(Fact::kRoundTrip, (2 * cost.latency + wait_of(loads[i], cost)) * 1e6);
  }
  return facts;
}

TreeSpeed speed(const tree::Skeleton& skeleton, std::span<const HostId> carriers,
                std::span<const HostLoad> loads, const WaveCost& cost) {
  CHECK(carriers.size() == skeleton.comm_processes());
  const Family family = attach_leaves(skeleton, carriers, loads.size());
  std::vector<double> nodes(loads.size(), 1);  // The leaf.
  for (const HostId host : carriers) ++nodes[raw(host)];
  const auto work = [&](NodeId node) {
    return cost.base + cost.per_child * family.children[raw(node)];
  };
  const auto share = [&](NodeId node) {
    if (node == kFrontEndNode) return kFrontEndShare;
    const HostId host = carriers[raw(node) - 1];
    return share_of(loads[raw(host)], nodes[raw(host)]);
  };

  double period = 0;  // Seconds a wave, of the slowest part.
  std::vector<double> messages(loads.size(), 1);
  std::vector<double> delay(skeleton.size());  // From a node to the front end.
  for (const NodeId node : skeleton.nodes()) {
    const double compute = work(node) / share(node);
    period = std::max(period, compute);
    delay[raw(node)] = compute;
    if (node == kFrontEndNode) continue;
    const HostLoad& host = loads[raw(carriers[raw(node) - 1])];
    messages[raw(carriers[raw(node) - 1])] += family.children[raw(node)] + 1;
    delay[raw(node)] += wait_of(host, cost) + cost.latency +
                        message_time(host, cost) * (family.children[raw(node)] + 1) +
                        delay[raw(skeleton.parent(node))];
  }
  TreeSpeed result;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    period = std::max(period, messages[i] * message_time(loads[i], cost));
    const double own = cost.base / share_of(loads[i], nodes[i]);
    period = std::max(period, own);
    result.delay = std::max(result.delay, own + cost.latency + message_time(loads[i], cost) +
                                              delay[raw(family.parents[i])]);
  }
  result.waves = 1 / period;
  return result;
}

std::vector<HostId> place_knowingly(const tree::Skeleton& skeleton, std::span<const HostLoad> loads,
                                    const WaveCost& cost) {
  const double leaves = static_cast<double>(loads.size());
  const double below = std::ceil(leaves / static_cast<double>(skeleton.internal_leaves().size()));
  std::vector<double> nodes(loads.size(), 1);
  std::vector<double> messages(loads.size(), 1);
  const auto waves = [&](std::size_t host, double children) {
    const double compute =
        (cost.base + cost.per_child * children) / share_of(loads[host], nodes[host] + 1);
    return 1 / std::max(compute, (messages[host] + children + 1) * message_time(loads[host], cost));
  };
  std::priority_queue<std::pair<double, std::size_t>> hosts;  // By what one more would pass.
  for (std::size_t i = 0; i < loads.size(); ++i) hosts.emplace(waves(i, below), i);
  std::vector<HostId> carriers;
  for (const NodeId node : skeleton.nodes().subspan(1)) {
    const double inner = static_cast<double>(skeleton.children(node).size());
    const auto [rate, host] = hosts.top();
    hosts.pop();
    ++nodes[host];
    messages[host] += (inner > 0 ? inner : below) + 1;
    hosts.emplace(waves(host, below), host);
    carriers.push_back(HostId{static_cast<std::uint32_t>(host)});
  }
  return carriers;
}

std::vector<HostId> place_by(placement::Policy policy, const tree::Shape& shape,
                             std::span<const HostLoad> seen) {
  placement::Choice choice;
  choice.policy = policy;
  choice.facts = as_facts(seen);
  const auto plan = placement::plan_tree(as_hosts(seen.size()), shape, choice, "head");
  CHECK(plan);
  std::vector<HostId> carriers;
  for (const auto& process : plan->comm_processes) carriers.push_back(process.host);
  return carriers;
}

}  // namespace xylem::testing
