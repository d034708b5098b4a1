#include "frontend/overlay.h"

#include <algorithm>
#include <array>

#include "base/named.h"
#include "placement/attach.h"
#include "tree/host_name.h"
#include "tree/observed.h"

namespace xylem::frontend {

const char* node_state_name(NodeState state) {
  switch (state) {
    case NodeState::kStarting:
      return "starting";
    case NodeState::kStarted:
      return "started";
    case NodeState::kAttached:
      return "attached";
    case NodeState::kLeft:
      return "left";
    case NodeState::kLost:
      return "lost";
  }
  return "lost";
}

NodeState parse_node_state(std::string_view name) {
  constexpr std::array kStates = {NodeState::kStarting, NodeState::kStarted, NodeState::kAttached,
                                  NodeState::kLeft};
  return find_named(kStates, node_state_name, name).value_or(NodeState::kLost);
}

Overlay::Overlay(std::string host, std::uint32_t pid, std::uint32_t ids_from)
    : next_node_(ids_from + 1), next_leaf_(ids_from + 1) {
  OverlayNode front_end;
  front_end.id = kFrontEndNode;
  front_end.role = wire::Role::kFrontEnd;
  front_end.host = std::move(host);
  front_end.pid = pid;
  front_end.state = NodeState::kAttached;
  nodes_.emplace(kFrontEndNode, std::move(front_end));
}

void Overlay::set_front_end_addresses(std::vector<wire::Address> addresses) {
  nodes_.at(kFrontEndNode).addresses = std::move(addresses);
}

NodeId Overlay::add(OverlayNode node) {
  node.id = NodeId{next_node_++};
  const NodeId id = node.id;
  nodes_.emplace(id, std::move(node));
  return id;
}

OverlayNode& Overlay::join(const wire::HostReport& report, wire::Role role) {
  const auto known = by_host_key_.find(report.host_key);
  if (known != by_host_key_.end()) {
    OverlayNode& node = nodes_.at(known->second);
    node.pid = report.pid;
    return node;
  }
  OverlayNode node;
  node.role = role;
  node.host = report.name;
  node.host_key = report.host_key;
  node.pid = report.pid;
  node.cores = report.cores;
  node.level = 1;
  node.leaf = LeafId{next_leaf_++};
  leaves_.insert(raw(node.leaf));
  const NodeId id = add(std::move(node));
  by_host_key_.emplace(report.host_key, id);
  by_leaf_.emplace(nodes_.at(id).leaf, id);
  if (nodes_.at(id).is_host()) hosts_.push_back(id);
  return nodes_.at(id);
}

void Overlay::restore(OverlayNode node) {
  const NodeId id = node.id;
  const auto [it, is_new] = nodes_.emplace(id, std::move(node));
  if (!is_new || it->second.leaf == wire::kNoLeaf) return;
  if (it->second.is_host()) hosts_.push_back(id);
  // A program that comes back without a report has not sent its host key.
  if (!it->second.host_key.empty()) by_host_key_.insert_or_assign(it->second.host_key, id);
  by_leaf_.insert_or_assign(it->second.leaf, id);
  leaves_.insert(raw(it->second.leaf));
}

// The hosts of back ends come first, in the order of `hosts_`.
std::vector<tree::Host> Overlay::hosts_to_choose_from(const std::map<LeafId, KnownHost>& known,
                                                      const HostChoice& choice) const {
  std::vector<tree::Host> hosts;
  tree::HostNameSet names;
  for (const NodeId id : hosts_) {
    const OverlayNode& node = nodes_.at(id);
    tree::Host host;
    host.name = node.host;
    names.add(host.name);
    if (const auto it = known.find(node.leaf); it != known.end()) {
      host.processes = it->second.processes;
    }
    hosts.push_back(std::move(host));
  }
  for (const std::string& name : choice.extra_hosts) {
    if (names.add(name)) continue;  // The job turned out to use it.
    tree::Host host;
    host.name = name;
    host.back_ends = 0;
    hosts.push_back(std::move(host));
  }
  return hosts;
}

// Sets the number of cores of the hosts if it limits the placement.
Result<placement::Choice> Overlay::make_choice(std::vector<tree::Host>& hosts,
                                               const std::map<LeafId, KnownHost>& known,
                                               const HostChoice& choice) const {
  using placement::Fact;
  const bool reserves = choice.room.reserved_cores > 0 || choice.room.reserve_for_processes;
  std::vector<placement::FactValues> measured(hosts.size());
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const OverlayNode& node = nodes_.at(hosts_[i]);
    if (const auto it = known.find(node.leaf); it != known.end()) measured[i] = it->second.facts;
    const bool counts = reserves || choice.policy == placement::Policy::kFuzzy;
    if (const auto cores = measured[i][Fact::kCores]; counts && cores) {
      hosts[i].cores = placement::whole_cores(*cores);
    } else if (reserves) {
      hosts[i].cores = node.cores;
    }
  }
  placement::Choice made;
  made.policy = choice.policy;
  made.rules = choice.rules;
  made.facts = placement::facts_of(hosts);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    for (const Fact fact : placement::kAllFacts) {
      if (fact == Fact::kProcesses || !measured[i][fact]) continue;
      made.facts[i].set(fact, *measured[i][fact]);
    }
  }
  auto room = placement::room_of(hosts, choice.room);
  if (!room) return unexpected(std::move(room.error()));
  made.room = *std::move(room);
  return made;
}

Result<std::vector<NodeId>> Overlay::place(const tree::Shape& shape,
                                           const std::map<LeafId, KnownHost>& known,
                                           bool may_launch, const HostChoice& choice) {
  std::vector<tree::Host> hosts = hosts_to_choose_from(known, choice);
  const std::string& here = nodes_.at(kFrontEndNode).host;
  if (may_launch && shape.kind == tree::Shape::Kind::kFile) {
    const auto file = tree::read_topology_file(shape.path);
    if (!file) return unexpected(file.error());
    placement::add_foreign_hosts(hosts, *file, here);
  }
  const auto made = make_choice(hosts, known, choice);
  if (!made) return unexpected(made.error());
  auto plan = placement::plan_tree(hosts, shape, *made, here);
  if (!plan) return unexpected(std::move(plan.error()));
  plan_ = *std::move(plan);
  for (const tree::Host& host : hosts) {
    const HostId id{static_cast<std::uint32_t>(planned_hosts_.size())};
    planned_hosts_.push_back(host.name);
    planned_by_short_name_[std::string(tree::short_name(host.name))].push_back(id);
  }
  planned_ = {kFrontEndNode};
  planned_loads_.assign(plan_->comm_processes.size() + 1, 0);
  std::vector<NodeId> to_start;
  for (const placement::PlannedCommProcess& process : plan_->comm_processes) {
    OverlayNode node;
    node.role = wire::Role::kCommProcess;
    node.host = hosts[raw(process.host)].name;
    if (raw(process.host) < hosts_.size()) {
      node.host_key = nodes_.at(hosts_[raw(process.host)]).host_key;
    }
    node.parent = planned_.at(raw(process.parent));
    node.level = process.level;
    node.reason = placement::reason_of(*plan_, process, hosts);
    planned_.push_back(add(std::move(node)));
    plan_parent(planned_.back(), process.parent);
    to_start.push_back(planned_.back());
  }
  attach_back_ends();
  attach_programs();
  return to_start;
}

void Overlay::attach_back_ends() {
  std::vector<HostId> on;
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    on.push_back(HostId{static_cast<std::uint32_t>(host)});
  }
  attach_all(hosts_, on);
}

// Attaches all programs together, because there may be one for each rank.
void Overlay::attach_programs() {
  std::vector<NodeId> programs;
  std::vector<HostId> on;
  for (const auto& [id, node] : nodes_) {
    if (node.role != wire::Role::kProgram) continue;
    programs.push_back(id);
    on.push_back(host_of(node));
  }
  attach_all(programs, on);
}

void Overlay::attach_all(const std::vector<NodeId>& nodes, const std::vector<HostId>& on) {
  const auto leaves = placement::attach(on, plan_->internal_leaves);
  CHECK(leaves.has_value());  // A plan always has an internal leaf.
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    placement::InternalLeaf& leaf = plan_->internal_leaves[(*leaves)[i]];
    ++leaf.back_ends;
    set_parent(nodes_.at(nodes[i]), leaf.node);
  }
}

// A node that joined after the placement can only be matched by its host's name.
HostId Overlay::host_of(const OverlayNode& late) const {
  const auto alike = planned_by_short_name_.find(std::string(tree::short_name(late.host)));
  if (alike == planned_by_short_name_.end()) return tree::kNoHost;
  for (const HostId host : alike->second) {
    if (tree::may_be_one_host(planned_hosts_[raw(host)], late.host)) return host;
  }
  return tree::kNoHost;
}

void Overlay::attach_late(NodeId late) {
  OverlayNode& node = nodes_.at(late);
  if (!plan_ || planned_parent_.contains(late)) return;
  std::vector<placement::InternalLeaf> living;
  for (const placement::InternalLeaf& leaf : plan_->internal_leaves) {
    if (is_living(node_of_plan(leaf.node))) living.push_back(leaf);
  }
  if (living.empty()) return;  // The front end has it already.
  const auto leaf = placement::attach_one(host_of(node), living);
  CHECK(leaf.has_value());
  for (placement::InternalLeaf& it : plan_->internal_leaves) {
    if (it.node == living[*leaf].node) ++it.back_ends;
  }
  set_parent(node, living[*leaf].node);
}

void Overlay::set_parent(OverlayNode& node, NodeId planned) {
  plan_parent(node.id, planned);
  node.parent = node_of_plan(planned);
  node.level = nodes_.at(node.parent).level + 1;
}

void Overlay::plan_parent(NodeId node, NodeId planned) {
  const auto [it, is_new] = planned_parent_.try_emplace(node, planned);
  if (!is_new) --planned_loads_[raw(std::exchange(it->second, planned))];
  ++planned_loads_[raw(planned)];
}

NodeId Overlay::node_of_plan(NodeId planned) const { return planned_.at(raw(planned)); }

bool Overlay::is_living(NodeId node) const {
  const NodeState state = nodes_.at(node).state;
  return state != NodeState::kLeft && state != NodeState::kLost;
}

std::optional<NodeId> Overlay::starter_of(NodeId comm_process) const {
  const auto starter = by_host_key_.find(nodes_.at(comm_process).host_key);
  if (starter == by_host_key_.end()) return std::nullopt;
  return starter->second;
}

void Overlay::started(NodeId comm_process, std::vector<wire::Address> addresses,
                      std::uint32_t pid) {
  OverlayNode& node = nodes_.at(comm_process);
  node.addresses = std::move(addresses);
  node.pid = pid;
  if (node.state != NodeState::kAttached) node.state = NodeState::kStarted;
}

std::vector<NodeId> Overlay::remove(NodeId comm_process, NodeState state) {
  nodes_.at(comm_process).state = state;
  std::vector<NodeId> moved;
  for (auto& [id, node] : nodes_) {
    if (id == kFrontEndNode || node.parent != comm_process) continue;
    node.parent = line_of(node).front();
    moved.push_back(id);
  }
  return moved;
}

bool Overlay::all_started() const {
  return std::none_of(nodes_.begin(), nodes_.end(), [](const auto& entry) {
    return entry.second.role == wire::Role::kCommProcess &&
           entry.second.state == NodeState::kStarting;
  });
}

std::vector<NodeId> Overlay::line_of(const OverlayNode& node) const {
  std::vector<NodeId> line;
  const auto planned = planned_parent_.find(node.id);
  if (planned != planned_parent_.end()) {
    const auto all =
        placement::parent_line(plan_->topology.skeleton(), planned->second, planned_loads_);
    for (const NodeId candidate : all) {
      const NodeId here = node_of_plan(candidate);
      if (here != kFrontEndNode && is_living(here)) line.push_back(here);
    }
  } else {
    // The level must decrease at each step, so the loop ends even if nodes have reported wrong
    // parents.
    const OverlayNode* below = &node;
    for (auto up = nodes_.find(node.parent);
         up != nodes_.end() && up->first != kFrontEndNode && up->second.level < below->level;
         up = nodes_.find(below->parent)) {
      below = &up->second;
      if (is_living(up->first) && !below->addresses.empty()) line.push_back(up->first);
    }
  }
  line.push_back(kFrontEndNode);
  return line;
}

wire::Assignment Overlay::assignment(NodeId id) const {
  const OverlayNode& node = nodes_.at(id);
  wire::Assignment assignment;
  assignment.node = id;
  assignment.leaf = node.leaf;
  assignment.level = node.level;
  for (const NodeId parent : line_of(node)) {
    assignment.parents.push_back({parent, nodes_.at(parent).addresses});
  }
  return assignment;
}

Result<tree::Topology> Overlay::topology() const {
  std::vector<tree::ObservedProcess> inner;
  for (const auto& [id, node] : nodes_) {
    if (node.leaf != wire::kNoLeaf || node.state == NodeState::kLost) continue;
    inner.push_back({id, node.parent, node.host});
  }
  return tree::topology_of(inner);
}

OverlayNode* Overlay::find(NodeId node) {
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? nullptr : &it->second;
}

const OverlayNode* Overlay::find(NodeId node) const {
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? nullptr : &it->second;
}

const OverlayNode* Overlay::find_host(const std::string& host_key) const {
  const auto it = by_host_key_.find(host_key);
  return it == by_host_key_.end() ? nullptr : &nodes_.at(it->second);
}

const OverlayNode* Overlay::find(LeafId leaf) const {
  const auto it = by_leaf_.find(leaf);
  return it == by_leaf_.end() ? nullptr : find(it->second);
}

}  // namespace xylem::frontend
