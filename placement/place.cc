#include "placement/place.h"

#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/check.h"

namespace xylem::placement {
namespace {

std::string_view first_part(std::string_view name) { return name.substr(0, name.find('.')); }
bool is_short(std::string_view name) { return name.find('.') == std::string_view::npos; }

/// Finds hosts by the names of a topology file.
class HostNames {
 public:
  HostNames(std::span<const tree::Host> hosts, const std::string& front_end_host)
      : hosts_(hosts), front_end_host_(front_end_host) {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const HostId host{static_cast<std::uint32_t>(i)};
      full_.try_emplace(hosts[i].name, host);
      short_[first_part(hosts[i].name)].push_back(host);
    }
  }

  /// One host or several have this name, in full or by its first part.
  bool is_known(const std::string& name) const {
    if (full_.contains(name) || !candidates(name).empty()) return true;
    return name == "localhost" && front_end_host_ != name && is_known(front_end_host_);
  }

  /// The host, or why there is none, without the place in the file.
  Result<HostId> find(const std::string& name) const {
    if (const auto exact = full_.find(name); exact != full_.end()) return exact->second;
    if (name == "localhost" && front_end_host_ != name) {
      if (auto here = find(front_end_host_)) return here;
    }
    const std::vector<HostId> found = candidates(name);
    if (found.size() == 1) return found.front();
    if (found.empty()) {
      return unexpected(Code::kNotFound, "host " + name + " is not part of this job" + known());
    }
    return unexpected(Code::kNotFound, "host " + name + " may be " + hosts_[raw(found[0])].name +
                                           " or " + hosts_[raw(found[1])].name +
                                           "; write the name in full");
  }

 private:
  std::vector<HostId> candidates(const std::string& name) const {
    std::vector<HostId> found;
    if (const auto alike = short_.find(first_part(name)); alike != short_.end()) {
      for (HostId host : alike->second) {
        if (is_short(name) || is_short(hosts_[raw(host)].name)) found.push_back(host);
      }
    }
    return found;
  }

  std::string known() const {
    constexpr std::size_t kShown = 8;
    if (hosts_.empty()) return ", which has no hosts; use the shape flat";
    std::string text = "; use its hosts:";
    for (std::size_t i = 0; i < hosts_.size() && i < kShown; ++i) text += " " + hosts_[i].name;
    if (hosts_.size() > kShown) text += " and " + std::to_string(hosts_.size() - kShown) + " more";
    return text;
  }

  std::span<const tree::Host> hosts_;
  const std::string& front_end_host_;
  std::unordered_map<std::string_view, HostId> full_;
  std::unordered_map<std::string_view, std::vector<HostId>> short_;
};

Plan make_plan(tree::Topology topology, const std::vector<HostId>& hosts) {
  Plan plan{std::move(topology), {}, {}, std::nullopt};
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
  return unexpected(Code::kInvalidArgument,
                    "placement policy '" + std::string(text) + "' is not known; write even");
}

std::string to_text(Policy policy) {
  CHECK(policy == Policy::kEven);
  return "even";
}

Result<Plan> plan_tree(std::span<const tree::Host> hosts, const tree::Shape& shape, Policy policy,
                       const std::string& front_end_host) {
  CHECK(policy == Policy::kEven);
  if (shape.kind == tree::Shape::Kind::kFile) {
    const auto file = tree::read_topology_file(shape.path);
    if (!file) return unexpected(file.error());
    return plan_tree(hosts, *file, front_end_host);
  }
  std::size_t back_ends = 0;
  std::vector<std::uint64_t> occupied;
  for (const tree::Host& host : hosts) {
    back_ends += host.back_ends;
    occupied.push_back(host.processes);
  }
  auto skeleton = tree::grow(shape, back_ends);
  if (!skeleton) return unexpected(std::move(skeleton.error()));
  auto even = place_evenly(occupied, skeleton->comm_processes());
  if (!even) return unexpected(std::move(even.error()));
  const auto order = fill_order(occupied, *even);

  std::unordered_map<std::string_view, std::uint32_t> next_instance{{front_end_host, 1}};
  std::vector<tree::Process> processes{{front_end_host, 0}};
  for (HostId host : order) {
    const std::string& name = hosts[raw(host)].name;
    processes.push_back({name, next_instance[name]++});
  }
  auto topology = tree::Topology::make(*std::move(skeleton), std::move(processes));
  if (!topology) return unexpected(std::move(topology.error()));
  Plan plan = make_plan(*std::move(topology), order);
  plan.even = *std::move(even);
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
  } else {
    text = "the topology file says where communication processes run\n";
  }
  append_tree(text, plan);
  append_attachment(text, plan, hosts);
  return text;
}

}  // namespace xylem::placement
