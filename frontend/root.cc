#include "frontend/root.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/this_host.h"

namespace xylem::frontend {
namespace {

constexpr unsigned kIdBits = 20;       // A million hosts for each front end of a run.
constexpr unsigned kControlBits = 32;  // Versions of control.

// Reports come each second; a link is lost after three of silence.
constexpr Nanos kReportPatience = 5 * kSecond;

}  // namespace

Root::Root(RootOptions options, RootOwner& owner)
    : options_(std::move(options)),
      owner_(owner),
      overlay_(this_host_name(), static_cast<std::uint32_t>(::getpid()),
               static_cast<std::uint32_t>((options_.front_ends - 1) << kIdBits)) {}

void Root::start(overlay::Network& network, wire::Control control, Nanos now) {
  network_ = &network;
  control_ = std::move(control);
  control_.version = ((options_.front_ends - 1) << kControlBits) + 1;
  last_change_ = now;
  overlay_.set_front_end_addresses(network.addresses());
  tell(kFrontEndNode);
  restore(now);
}

// Children of the former front end reconnect by themselves; all other nodes stay where they are. A
// tree that was already placed is not placed again. A node that was not yet moved to its place
// stays where it is.
void Root::restore(Nanos now) {
  ended_ = options_.ended;
  for (OverlayNode& node : std::exchange(options_.nodes, {})) {
    if (node.id == kFrontEndNode) continue;
    const bool is_comm_process = node.role == wire::Role::kCommProcess;
    if (is_comm_process) placed_ = true;
    if (is_comm_process && node.state == NodeState::kAttached) heard_[node.id] = now;
    const bool is_gone = node.state == NodeState::kLeft || node.state == NodeState::kLost;
    if (node.parent == kFrontEndNode && !is_gone) returning_.insert(node.id);
    if (!is_comm_process && node.state == NodeState::kLeft) ended_.insert(raw(node.leaf));
    if (!is_comm_process && node.state == NodeState::kLost) given_up_.insert(node.leaf);
    const LeafId leaf = node.leaf;
    overlay_.restore(std::move(node));
    if (!is_comm_process) owner_.on_joined(leaf, now);
  }
  assigned_ = placed_ && overlay_.all_started();
  start_deadline_ = now + options_.start_limit;
  return_deadline_ = now + options_.return_limit;
}

// A former front end gave this node its place, but died before it stored this.
void Root::recall(const overlay::Peer& peer, wire::Role role) {
  if (options_.front_ends == 1 || peer.node == wire::kNoNode || overlay_.find(peer.node)) return;
  const bool may_be_leaf = role == wire::Role::kBackEnd || role == wire::Role::kProgram;
  const bool is_leaf = may_be_leaf && peer.leaf != wire::kNoLeaf;
  if (!is_leaf && role != wire::Role::kCommProcess) return;
  OverlayNode node;
  node.id = peer.node;
  node.role = role;
  node.host = peer.address;
  node.host_key = peer.host_key;
  node.level = peer.level;
  node.leaf = is_leaf ? peer.leaf : wire::kNoLeaf;
  node.state = NodeState::kAttached;
  overlay_.restore(std::move(node));
  tell(peer.node);
}

// ---- links ----

wire::Role Root::role_of(const overlay::Peer& peer) const {
  const bool is_one_of_all = peer.role == wire::Role::kProgram && !options_.has_programs;
  return is_one_of_all ? wire::Role::kBackEnd : peer.role;
}

void Root::on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) {
  const wire::Role role = role_of(peer);
  links_.emplace(link, role);
  returning_.erase(peer.node);
  network_->send(link, control_);
  // A node that comes back has its id in the hello. A new node gets its id after its report.
  recall(peer, role);
  const OverlayNode* known = overlay_.find(peer.node);
  if (known == nullptr || known->role != role) return;
  bind(peer.node, link);
  if (known->leaf != wire::kNoLeaf && known->leaf == peer.leaf) {
    router_.set_leaves(link, {IntervalSet::of(raw(known->leaf)), {}});
    take_back(known->leaf);
  }
  last_change_ = now;
}

void Root::bind(NodeId node, overlay::LinkId link) {
  link_of_node_[node] = link;
  // The node got the streams when it connected. It answers as soon as it has its id.
  if (node_of_link_.insert_or_assign(link, node).second) not_taken_.insert(link);
}

void Root::on_link_down(overlay::LinkId link, const Error& why, Nanos now) {
  links_.erase(link);
  not_taken_.erase(link);
  router_.remove_living(link);
  const auto it = node_of_link_.find(link);
  if (it != node_of_link_.end()) {
    const NodeId id = it->second;
    node_of_link_.erase(it);
    // The node may have had a newer link, which is already closed.
    const auto present = link_of_node_.find(id);
    if (present != link_of_node_.end() && present->second == link) link_of_node_.erase(present);
    log(Level::kDebug, "link down", {{"node", id}, {"why", why.message}});
  }
  tell_streams_taken();  // This may have been the last missing answer.
  last_change_ = now;
  look_for_lost_hosts(now);
}

void Root::on_message(overlay::LinkId link, wire::Message message, Nanos now) {
  if (auto* packet = std::get_if<wire::Packet>(&message)) {
    owner_.on_packet(std::move(*packet), now);
  } else if (const auto* host = std::get_if<wire::HostReport>(&message)) {
    on_host_report(link, *host, now);
  } else if (const auto* started = std::get_if<wire::CommProcessReport>(&message)) {
    on_comm_process_report(link, *started);
  } else if (const auto* attached = std::get_if<wire::Attached>(&message)) {
    on_attached(*attached, now);
  } else if (const auto* leaves = std::get_if<wire::LeafSet>(&message)) {
    on_leaves(link, *leaves, now);
  } else if (const auto* notice = std::get_if<wire::Notice>(&message)) {
    if (notices_.add(*notice)) owner_.on_notice(*notice, now);
  } else if (const auto* report = std::get_if<wire::LinkReport>(&message)) {
    hear_of(report->node, now);
    owner_.on_link_report(*report, now);
  } else if (const auto* facts = std::get_if<wire::HostFacts>(&message)) {
    owner_.on_host_facts(*facts, now);
  } else if (const auto* taken = std::get_if<wire::StreamsTaken>(&message)) {
    on_taken(link, taken->version);
  } else if (const auto* refused = std::get_if<wire::StreamRefused>(&message)) {
    owner_.on_stream_refused(*refused);
  } else if (const auto* gap = std::get_if<wire::MulticastGap>(&message)) {
    owner_.on_multicast_gap(*gap);
  } else if (std::holds_alternative<wire::Goodbye>(message)) {
    on_goodbye(link);
    last_change_ = now;
  }
  assign_when_started(now);
}

void Root::on_timer(Nanos now) {
  if (now >= return_deadline_) returning_.clear();
  assign_when_started(now);
  look_for_lost_hosts(now);
  look_for_lost_comm_processes(now, options_.lost_limit);
}

void Root::refuse(overlay::LinkId link, const std::string& host, const std::string& why) {
  log(Level::kWarn, "a process is refused as a leaf", {{"host", host}, {"why", why}});
  network_->close(link, why);
}

// Any process with the run's key may report as a host. But a link may report only one host;
// otherwise a process could let the tree grow without limit. And only one process may report for a
// host that is present. This process may report again on a new link before the root has noticed the
// loss of the old link.
std::string Root::why_not(overlay::LinkId link, const wire::HostReport& report,
                          wire::Role role) const {
  const OverlayNode* known = overlay_.find_host(report.host_key);
  if (known != nullptr && known->role != role)
    return "its host key belongs to a process with another role";
  const auto bound = node_of_link_.find(link);
  if (bound != node_of_link_.end()) {
    return known != nullptr && known->id == bound->second
               ? ""
               : "its link already reports for another host";
  }
  if (known == nullptr || known->pid == report.pid || !link_of_node_.contains(known->id)) return "";
  return "another process already reports for this host";
}

void Root::on_host_report(overlay::LinkId link, const wire::HostReport& report, Nanos now) {
  const auto up = links_.find(link);
  const bool is_program = up != links_.end() && up->second == wire::Role::kProgram;
  const wire::Role role = is_program ? wire::Role::kProgram : wire::Role::kBackEnd;
  if (const std::string why = why_not(link, report, role); !why.empty()) {
    return refuse(link, report.name, why);
  }
  OverlayNode& node = overlay_.join(report, role);
  node.state = NodeState::kAttached;
  take_back(node.leaf);
  bind(node.id, link);
  router_.set_leaves(link, {IntervalSet::of(raw(node.leaf)), {}});
  owner_.on_joined(node.leaf, now);
  last_change_ = now;
  if (assigned_) overlay_.attach_late(node.id);
  tell(node.id);
  send_assignment(node.id);
}

void Root::on_comm_process_report(overlay::LinkId link, const wire::CommProcessReport& report) {
  const OverlayNode* node = overlay_.find(report.node);
  if (node == nullptr || node->role != wire::Role::kCommProcess) return;
  if (!report.failure.empty()) {
    const bool ran = node->state != NodeState::kStarting;
    log(Level::kWarn, ran ? "communication process ended" : "communication process not started",
        {{"node", report.node}, {"host", node->host}, {"why", report.failure}});
    give_up_comm_process(report.node, report.failure);
    return;
  }
  overlay_.started(report.node, report.addresses, report.pid);
  bind(report.node, link);
  tell(report.node);
  if (assigned_) send_assignment(report.node);
}

void Root::on_attached(const wire::Attached& attached, Nanos now) {
  OverlayNode* node = overlay_.find(attached.node);
  const OverlayNode* parent = overlay_.find(attached.parent);
  if (node == nullptr || parent == nullptr || attached.node == kFrontEndNode) return;
  hear_of(attached.node, now);
  // A node knows its place before it attaches for the first time. Later, the place does not show
  // whether the node has reconnected: the root may learn of the death of a communication process
  // before or after its children.
  const auto [at, is_first] = attached_to_.try_emplace(attached.node, node->parent);
  const bool healed = assigned_ && at->second != attached.parent;
  at->second = attached.parent;
  // The message may be old. A host that was given up counts as present only if its leaf is below
  // the root.
  if (!given_up_.contains(node->leaf)) node->state = NodeState::kAttached;
  node->parent = attached.parent;
  node->level = std::max(node->level, parent->level + 1);
  tell(attached.node);
  if (healed) owner_.on_healed(*node);
}

void Root::on_leaves(overlay::LinkId link, const wire::LeafSet& leaves, Nanos now) {
  const IntervalSet before = router_.leaves_of(link);
  router_.set_leaves(link, leaves);
  owner_.on_leaves_below(link, before, leaves.leaves);
  for (const LeafId leaf : std::set(given_up_)) {
    if (leaves.leaves.contains(raw(leaf))) take_back(leaf);
  }
  // These leaves have sent their goodbye to a communication process.
  const IntervalSet ended = leaves.ended.intersection(overlay_.leaves());
  for (const auto& run : ended.intervals()) {
    for (auto number = run.first; number < run.end; ++number) {
      const OverlayNode* node = overlay_.find(LeafId{static_cast<std::uint32_t>(number)});
      if (node == nullptr || node->state != NodeState::kAttached) continue;
      overlay_.find(node->id)->state = NodeState::kLeft;
      tell(node->id);
    }
  }
  look_for_lost_hosts(now);
}

void Root::on_goodbye(overlay::LinkId link) {
  const auto it = node_of_link_.find(link);
  if (it == node_of_link_.end()) return;
  OverlayNode* node = overlay_.find(it->second);
  node->state = NodeState::kLeft;
  if (node->leaf != wire::kNoLeaf) {
    const IntervalSet self = IntervalSet::of(raw(node->leaf));
    router_.set_leaves(link, {self, self});
  }
  tell(node->id);
}

// ---- placement ----

void Root::place(const std::map<LeafId, KnownHost>& known, Nanos now) {
  if (std::exchange(placed_, true)) return;
  auto started = overlay_.place(options_.shape, known, options_.may_launch, options_.choice);
  if (!started) {
    log(Level::kError,
        "the requested tree cannot be built; back ends report to the front end directly",
        {{"why", started.error().message}});
    assigned_ = true;
    return;
  }
  start_deadline_ = now + options_.start_limit;
  for (const NodeId node : *started) {
    const auto starter = overlay_.starter_of(node);
    if (!starter) {
      tell(node);
      owner_.on_launch(*overlay_.find(node));
      continue;
    }
    const auto link = link_of_node_.find(*starter);
    if (link == link_of_node_.end()) {
      give_up_comm_process(node, "the host that was to start it is not there any more");
      continue;
    }
    network_->send(link->second, wire::StartCommProcess{node, overlay_.find(node)->level});
    tell(node);
  }
}

void Root::comm_process_ended(NodeId id, const std::string& why) {
  const OverlayNode* node = overlay_.find(id);
  if (node == nullptr || node->state == NodeState::kLost || node->state == NodeState::kLeft) return;
  log(Level::kWarn, "communication process ended",
      {{"node", id}, {"host", node->host}, {"why", why}});
  give_up_comm_process(id, why);
}

bool Root::is_out_of_place(const OverlayNode& node) const {
  const bool is_there = node.state == NodeState::kAttached || node.state == NodeState::kStarted;
  if (node.id == kFrontEndNode || !is_there) return false;
  const auto at = attached_to_.find(node.id);
  return at == attached_to_.end() || at->second != node.parent;
}

// Called after each event. So the search begins at the node at which the last search ended.
bool Root::all_in_place() {
  if (!assigned_) return false;
  const auto& nodes = overlay_.nodes();
  const auto first = nodes.lower_bound(search_from_);
  const auto is_bad = [this](const auto& entry) { return is_out_of_place(entry.second); };
  auto bad = std::find_if(first, nodes.end(), is_bad);
  if (bad == nodes.end()) bad = std::find_if(nodes.begin(), first, is_bad);
  if (bad == first && (first == nodes.end() || !is_bad(*first))) return true;
  search_from_ = bad->first;
  return false;
}

std::vector<NodeId> Root::out_of_place() const {
  std::vector<NodeId> nodes;
  for (const auto& [id, node] : overlay_.nodes()) {
    if (is_out_of_place(node)) nodes.push_back(id);
  }
  return nodes;
}

std::size_t Root::longest_queue() const {
  std::size_t longest = 0;
  for (const auto& [link, role] : links_) {
    longest = std::max(longest, network_->status(link).queue_bytes);
  }
  return longest;
}

void Root::assign_when_started(Nanos now) {
  if (!placed_ || assigned_) return;
  if (!overlay_.all_started() && now < start_deadline_) return;
  assigned_ = true;
  for (const auto& [id, node] : std::map(overlay_.nodes())) {
    if (node.role == wire::Role::kCommProcess && node.state == NodeState::kStarting) {
      log(Level::kWarn, "communication process did not report in time", {{"node", id}});
      give_up_comm_process(id, "it did not report in time");
    }
  }
  for (const auto& [id, node] : overlay_.nodes()) {
    if (id == kFrontEndNode) continue;
    // The leaf may have joined while the tree was being started.
    if (node.leaf != wire::kNoLeaf) overlay_.attach_late(id);
    // A node that must move to another parent has not lost its parent, so this move does not count
    // as a reconnection.
    const NodeId told = overlay_.assignment(id).parents.front().node;
    if (const auto at = attached_to_.find(id); at != attached_to_.end() && at->second != told) {
      attached_to_.erase(at);
      overlay_.find(id)->parent = told;
    }
    send_assignment(id);
    tell(id);
  }
}

void Root::give_up_comm_process(NodeId id, const std::string& why) {
  const std::vector<NodeId> moved = overlay_.remove(id, NodeState::kLost);
  tell(id);
  owner_.on_comm_process_lost(*overlay_.find(id), why);
  for (const NodeId child : moved) {
    tell(child);
    if (assigned_) send_assignment(child);
  }
}

void Root::send_assignment(NodeId id) {
  const auto link = link_of_node_.find(id);
  if (link != link_of_node_.end()) network_->send(link->second, overlay_.assignment(id));
}

// Every node with a parent reports about its link each second. So a report shows that the node is
// attached, even if its Attached message went to a front end that has died.
void Root::hear_of(NodeId id, Nanos now) {
  OverlayNode* node = overlay_.find(id);
  if (node == nullptr || node->role != wire::Role::kCommProcess) return;
  heard_[id] = now;
  if (node->state != NodeState::kLost && node->state != NodeState::kStarted) return;
  node->state = NodeState::kAttached;
  tell(id);
}

void Root::look_for_lost_comm_processes(Nanos now, Nanos limit) {
  for (const auto& [id, heard] : std::map(heard_)) {
    const OverlayNode* node = overlay_.find(id);
    if (node->state != NodeState::kAttached || now - heard < limit) continue;
    log(Level::kWarn, "communication process is silent", {{"node", id}, {"host", node->host}});
    give_up_comm_process(id, "it is silent");
  }
}

void Root::look_for_lost_hosts(Nanos now) {
  // Leaves whose last packet is stored may leave. They send nothing more.
  const IntervalSet missing =
      overlay_.leaves().difference(router_.below().leaves).difference(ended_);
  for (auto it = missing_since_.begin(); it != missing_since_.end();) {
    it = missing.contains(raw(it->first)) ? std::next(it) : missing_since_.erase(it);
  }
  for (const auto& run : missing.intervals()) {
    for (auto number = run.first; number < run.end; ++number) {
      const LeafId leaf{static_cast<std::uint32_t>(number)};
      if (given_up_.contains(leaf)) continue;
      const Nanos since = missing_since_.try_emplace(leaf, now).first->second;
      if (now - since >= lost_limit_of(leaf, now)) give_up(leaf);
    }
  }
}

// Leaves of the former front end may still be reconnecting.
Nanos Root::lost_limit_of(LeafId leaf, Nanos now) const {
  const bool just_taken_over = options_.front_ends > 1 && now < return_deadline_;
  const bool holds_up_the_end = control_.finish && !overlay_.find(leaf)->is_host();
  return holds_up_the_end && !just_taken_over ? options_.program_lost_limit : options_.lost_limit;
}

void Root::give_up(LeafId leaf) {
  given_up_.insert(leaf);
  missing_since_.erase(leaf);
  const OverlayNode* node = overlay_.find(leaf);
  overlay_.find(node->id)->state = NodeState::kLost;
  tell(node->id);
  owner_.on_lost(*node);
  log(node->is_host() ? Level::kError : Level::kWarn,
      node->is_host() ? "host lost" : "program lost", {{"host", node->host}, {"leaf", leaf}});
}

void Root::take_back(LeafId leaf) {
  missing_since_.erase(leaf);
  if (given_up_.erase(leaf) == 0) return;
  const OverlayNode* node = overlay_.find(leaf);
  overlay_.find(node->id)->state = NodeState::kAttached;
  tell(node->id);
  owner_.on_found(*node);
  log(Level::kWarn, node->is_host() ? "host heard of again" : "program heard of again",
      {{"host", node->host}, {"leaf", leaf}});
}

// ---- down ----

void Root::acknowledge(const wire::Acknowledgement& all) {
  for (auto& [link, part] : router_.split(all)) network_->send(link, std::move(part));
}

void Root::send_control() {
  ++control_.version;
  for (const auto& [link, role] : links_) network_->send(link, control_);
  for (const auto& [link, node] : node_of_link_) not_taken_.insert(link);
}

std::uint64_t Root::set_streams(std::vector<wire::StreamSpec> streams) {
  control_.streams = std::move(streams);
  send_control();
  tell_streams_taken();  // If there is no other node, there is no answer to wait for.
  return control_.version;
}

void Root::on_taken(overlay::LinkId link, std::uint64_t version) {
  if (version < control_.version) return;
  not_taken_.erase(link);
  tell_streams_taken();
}

void Root::tell_streams_taken() {
  if (!not_taken_.empty() || taken_told_ == control_.version) return;
  taken_told_ = control_.version;
  owner_.on_streams_taken(taken_told_);
}

bool Root::knows(const IntervalSet& leaves) const {
  if (overlay_.leaves().contains(leaves)) return true;
  if (options_.front_ends == 1) return false;
  return router_.below().leaves.contains(leaves.difference(overlay_.leaves()));
}

LeafId Root::leaf_of(overlay::LinkId link) const {
  const auto it = node_of_link_.find(link);
  return it == node_of_link_.end() ? wire::kNoLeaf : overlay_.find(it->second)->leaf;
}

void Root::multicast(const wire::Multicast& whole, const ShareOf& share_of) {
  for (const auto& [link, node] : node_of_link_) {
    const LeafId leaf = overlay_.find(node)->leaf;
    if (leaf != wire::kNoLeaf) {
      if (auto share = share_of(leaf)) network_->send(link, *std::move(share));
    } else if (whole.leaves.empty() || router_.leaves_of(link).intersects(whole.leaves)) {
      network_->send(link, whole);
    }
  }
}

// ---- end ----

void Root::finish() {
  control_.finish = true;
  send_control();
}

IntervalSet Root::open_leaves() const {
  IntervalSet open = overlay_.leaves().difference(router_.below().ended).difference(ended_);
  for (const LeafId leaf : given_up_) open.erase(raw(leaf), raw(leaf) + 1);
  return open;
}

void Root::close(Nanos now) {
  look_for_lost_comm_processes(now, kReportPatience);
  IntervalSet ended = router_.below().ended;
  ended.insert(ended_);
  for (const auto& [id, node] : std::map(overlay_.nodes())) {
    const bool was_there = node.state == NodeState::kAttached || node.state == NodeState::kStarted;
    const bool gone = node.leaf == wire::kNoLeaf ? was_there : ended.contains(raw(node.leaf));
    if (!gone) continue;
    overlay_.find(id)->state = NodeState::kLeft;
    tell(id);
  }
}

}  // namespace xylem::frontend
