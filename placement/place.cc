#include "placement/place.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/nearest_word.h"
#include "placement/host_names_internal.h"
#include "placement/number_text_internal.h"

namespace xylem::placement {
namespace {

Plan make_plan(tree::Topology topology, const std::vector<HostId>& hosts) {
  Plan plan{std::move(topology), {}, {}, std::nullopt, std::nullopt};
  const tree::Skeleton& skeleton = plan.topology.skeleton();
  CHECK(hosts.size() == skeleton.comm_processes());
  for (NodeId node : skeleton.nodes().subspan(1)) {
    plan.comm_processes.push_back(
        {node, hosts[raw(node) - 1], skeleton.parent(node), skeleton.level(node)});
  }
  for (NodeId leaf : skeleton.internal_leaves()) {
    const bool front_end = leaf == kFrontEndNode;
    plan.internal_leaves.push_back({leaf, front_end ? tree::kNoHost : hosts[raw(leaf) - 1], 0});
  }
  return plan;
}

/// The decision of a policy, with its steps.
struct Decision {
  std::vector<HostId> order;  ///< The host of each communication process.
  std::optional<EvenPlacement> even;
  std::optional<FuzzyPlacement> fuzzy;
};

Result<Decision> decide(std::span<const tree::Host> hosts, const Choice& choice,
                        std::size_t comm_processes) {
  Decision decision;
  if (choice.policy == Policy::kFuzzy) {
    const auto facts = choice.facts.empty() ? facts_of(hosts) : choice.facts;
    CHECK(facts.size() == hosts.size());
    auto fuzzy = place_fuzzily(choice.rules, facts, comm_processes, choice.room);
    if (!fuzzy) return unexpected(std::move(fuzzy.error()));
    decision.order = fill_order(*fuzzy);
    decision.fuzzy = *std::move(fuzzy);
    return decision;
  }
  std::vector<std::uint64_t> occupied;
  for (const tree::Host& host : hosts) occupied.push_back(host.processes);
  auto even = place_evenly(occupied, comm_processes, choice.room);
  if (!even) return unexpected(std::move(even.error()));
  decision.order = fill_order(occupied, *even);
  decision.even = *std::move(even);
  return decision;
}

/// Names the first process of the file that finds no room on its host.
Result<void> check_carried(const tree::TopologyFile& file, const Plan& plan,
                           std::span<const tree::Host> hosts, std::span<const std::uint64_t> room) {
  if (room.empty()) return {};
  std::vector<std::uint64_t> carried(hosts.size());
  for (const PlannedCommProcess& process : plan.comm_processes) {
    const std::size_t host = raw(process.host);
    if (++carried[host] <= room[host]) continue;
    return unexpected(Code::kInvalidArgument,
                      file.source + ":" + std::to_string(file.lines[raw(process.node)]) +
                          ": no room for " + to_text(file.topology.process(process.node)) + ": " +
                          hosts[host].name + " has room for " + room_text(room[host]) +
                          " communication processes; change the file or the limits");
  }
  return {};
}

std::string grades_clause(const FuzzyPlacement& fuzzy, HostId host) {
  constexpr double kMinShown = 0.005;
  constexpr std::size_t kMaxShown = 4;
  const Evaluation& evaluation = fuzzy.hosts[raw(host)];
  std::vector<std::size_t> order(evaluation.grades.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t grade) { return evaluation.grades[grade]; });
  std::string text = "fuzzy: score " + two_places(evaluation.score);
  for (std::size_t i = 0; i < std::min(order.size(), kMaxShown); ++i) {
    const double share = evaluation.grades[order[i]];
    if (share < kMinShown) break;
    text += ", " + fuzzy.rules.grades[order[i]].name + " " + two_places(share);
  }
  return text;
}

void append_tree(std::string& text, const Plan& plan) {
  text += "tree\n";
  const tree::Skeleton& skeleton = plan.topology.skeleton();
  for (NodeId node : skeleton.nodes()) {
    text += "  level " + std::to_string(skeleton.level(node)) + "  node " +
            std::to_string(raw(node)) + "  " + to_text(plan.topology.process(node));
    if (node != kFrontEndNode) {
      text += "  below " + to_text(plan.topology.process(skeleton.parent(node)));
    }
    text += "\n";
  }
}

void append_attachment(std::string& text, const Plan& plan, std::span<const tree::Host> hosts) {
  const auto back_ends = hosts_of_back_ends(hosts);
  const auto& leaves = plan.internal_leaves;
  const auto chosen = attach(back_ends, leaves);
  CHECK(chosen);  // A plan has an internal leaf always.
  text += "attach: " + std::to_string(back_ends.size()) + " back ends / " +
          std::to_string(leaves.size()) + " internal leaves: fanout " +
          std::to_string(fanout(back_ends.size(), leaves.size())) + "\n";
  std::vector<std::vector<HostId>> taken(leaves.size());
  for (std::size_t i = 0; i < back_ends.size(); ++i) taken[(*chosen)[i]].push_back(back_ends[i]);
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    text += "  " + to_text(plan.topology.process(leaves[leaf].node)) + " takes " +
            std::to_string(taken[leaf].size()) + ":";
    for (HostId host : taken[leaf]) {
      text += " " + hosts[raw(host)].name + (host == leaves[leaf].host ? " (same host)" : "");
    }
    text += "\n";
  }
}

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
  if (text == "even") return Policy::kEven;
  if (text == "fuzzy") return Policy::kFuzzy;
  return unexpected(Code::kInvalidArgument, "placement policy '" + std::string(text) +
                                                "' is not known; write even or fuzzy" +
                                                did_you_mean(text, {"even", "fuzzy"}));
}

std::string to_text(Policy policy) { return policy == Policy::kFuzzy ? "fuzzy" : "even"; }

Result<Plan> plan_tree(std::span<const tree::Host> hosts, const tree::Shape& shape,
                       const Choice& choice, const std::string& front_end_host) {
  if (shape.kind == tree::Shape::Kind::kFile) {
    const auto file = tree::read_topology_file(shape.path);
    if (!file) return unexpected(file.error());
    auto plan = plan_tree(hosts, *file, front_end_host);
    if (!plan) return plan;
    if (auto fits = check_carried(*file, *plan, hosts, choice.room); !fits) {
      return unexpected(std::move(fits.error()));
    }
    return plan;
  }
  std::size_t back_ends = 0;
  for (const tree::Host& host : hosts) back_ends += host.back_ends;
  auto skeleton = tree::grow(shape, back_ends);
  if (!skeleton) return unexpected(std::move(skeleton.error()));
  auto decision = decide(hosts, choice, skeleton->comm_processes());
  if (!decision) return unexpected(std::move(decision.error()));

  std::unordered_map<std::string_view, std::uint32_t> next_instance{{front_end_host, 1}};
  std::vector<tree::Process> processes{{front_end_host, 0}};
  for (HostId host : decision->order) {
    const std::string& name = hosts[raw(host)].name;
    processes.push_back({name, next_instance[name]++});
  }
  auto topology = tree::Topology::make(*std::move(skeleton), std::move(processes));
  if (!topology) return unexpected(std::move(topology.error()));
  Plan plan = make_plan(*std::move(topology), decision->order);
  plan.even = std::move(decision->even);
  plan.fuzzy = std::move(decision->fuzzy);
  return plan;
}

Result<Plan> plan_tree(std::span<const tree::Host> hosts, const tree::TopologyFile& file,
                       const std::string& front_end_host) {
  const HostNames names(hosts, front_end_host);
  std::vector<HostId> placed;
  for (NodeId node : file.topology.skeleton().nodes().subspan(1)) {
    const auto host = names.find(file.topology.process(node).host);
    if (!host) {
      return unexpected(
          host.error().code,
          file.source + ":" + std::to_string(file.lines[raw(node)]) + ": " + host.error().message);
    }
    placed.push_back(*host);
  }
  return make_plan(file.topology, placed);
}

void add_foreign_hosts(std::vector<tree::Host>& hosts, const tree::TopologyFile& file,
                       const std::string& front_end_host) {
  std::vector<tree::Host> foreign;
  std::unordered_set<std::string> seen;
  const HostNames names(hosts, front_end_host);
  for (const tree::Process& process : file.topology.processes().subspan(1)) {
    if (!seen.insert(process.host).second || names.is_known(process.host)) continue;
    tree::Host host;
    host.name = process.host;
    host.back_ends = 0;
    foreign.push_back(std::move(host));
  }
  hosts.insert(hosts.end(), std::make_move_iterator(foreign.begin()),
               std::make_move_iterator(foreign.end()));
}

std::string reason_of(const Plan& plan, const PlannedCommProcess& process,
                      std::span<const tree::Host> hosts) {
  if (plan.even) {
    return "even: fewest processes first, " + std::to_string(hosts[raw(process.host)].processes) +
           " there";
  }
  if (plan.fuzzy) return grades_clause(*plan.fuzzy, process.host);
  return "the topology file says so";
}

std::vector<HostId> hosts_of_back_ends(std::span<const tree::Host> hosts) {
  std::vector<HostId> back_ends;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    back_ends.insert(back_ends.end(), hosts[i].back_ends, HostId{static_cast<std::uint32_t>(i)});
  }
  return back_ends;
}

std::string explain(const Plan& plan, std::span<const tree::Host> hosts) {
  std::string text;
  if (plan.even) {
    text = explain(hosts, *plan.even);
  } else if (plan.fuzzy) {
    text = explain(hosts, *plan.fuzzy);
  } else {
    text = "the topology file says where communication processes run\n";
  }
  append_tree(text, plan);
  append_attachment(text, plan, hosts);
  return text;
}

}  // namespace xylem::placement
