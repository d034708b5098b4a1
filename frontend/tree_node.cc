#include "frontend/tree_node.h"

#include <algorithm>
#include <utility>

#include "filters/stream_filter.h"
#include "wire/waves.h"

namespace xylem::frontend {
namespace {

constexpr std::size_t kMaxEvents = 4096;
constexpr Nanos kLookInterval = 500 * kMillisecond;
// Space in a frame for everything except payload and leaves, also for later versions.
constexpr std::size_t kFrameHead = 1024;

}  // namespace

TreeNode::TreeNode(TreeNodeOptions options)
    : options_(std::move(options)),
      root_(options_.root, *this),
      gathering_(options_.gathering),
      next_stream_(raw(wire::kFirstToolStream)) {}

// ---- the program's calls ----

Result<StreamId> TreeNode::open(wire::StreamSpec spec) {
  for (const auto& [id, open] : streams_) {
    if (open.inbox.spec().name == spec.name) {
      return unexpected(Code::kAlreadyExists, "a stream named '" + spec.name + "' is open already");
    }
  }
  auto aggregation = filters::aggregation_of(spec);
  if (!aggregation) return unexpected(std::move(aggregation.error()));
  auto narrowing = filters::narrowing_of(spec);
  if (!narrowing) return unexpected(std::move(narrowing.error()));
  spec.id = StreamId{next_stream_++};
  Open open(Inbox(spec, *std::move(aggregation), options_.queue_bytes), *std::move(narrowing));
  open.inbox.set_expected(expected());
  Open& stream = streams_.emplace(spec.id, std::move(open)).first->second;
  stream.version = root_.set_streams(specs());
  return spec.id;
}

Result<bool> TreeNode::is_open(StreamId stream) const {
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return unexpected(Code::kUnavailable, "the stream is closed");
  if (it->second.refused) return unexpected(*it->second.refused);
  return taken_version_ >= it->second.version;
}

// If a stream was never open, because a node refused it or did not answer, there is no event.
void TreeNode::close(StreamId stream) {
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return;
  const auto asked = is_open(stream);
  const bool was_open = asked && *asked;
  const std::string name = it->second.inbox.spec().name;
  recent_.forget(stream);
  streams_.erase(it);
  if (network_ != nullptr) root_.set_streams(specs());
  if (was_open) tell_closed("stream '" + name + "' was closed");
}

void TreeNode::tell_closed(std::string text) {
  tell(TreeEvent::Kind::kClosed, wire::kNoLeaf, root_.overlay().find(kFrontEndNode)->host,
       std::move(text));
}

void TreeNode::end_events(std::string text) {
  tell_closed(std::move(text));
  has_last_event_ = true;
}

std::vector<wire::StreamSpec> TreeNode::specs() const {
  std::vector<wire::StreamSpec> specs;
  for (const auto& [id, open] : streams_) specs.push_back(open.inbox.spec());
  return specs;
}

// A child may report leaves that do not exist, so unknown leaves are left out.
IntervalSet TreeNode::expected() const {
  return root_.expected().intersection(root_.overlay().leaves());
}

// Returns the recipients to write into a multicast: empty if every leaf of the stream gets the
// whole multicast. A narrowing needs the list of recipients, and the list must be the same on every
// node.
Result<IntervalSet> TreeNode::addressees(const Open& open, const IntervalSet& to) const {
  const wire::StreamSpec& spec = open.inbox.spec();
  const IntervalSet& members = spec.leaves.empty() ? root_.overlay().leaves() : spec.leaves;
  if (const IntervalSet strange = to.difference(members); !strange.empty()) {
    return unexpected(Code::kInvalidArgument,
                      "stream '" + spec.name + "' has no leaf " + strange.to_string() +
                          "; a multicast goes to leaves of its stream, which are " +
                          members.to_string());
  }
  if (!to.empty() || *open.narrowing == nullptr) return to;
  return root_.open_leaves().intersection(members);
}

Result<wire::Multicast> TreeNode::next_multicast(StreamId stream, const wire::Fields& fields,
                                                 const IntervalSet& to) {
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return unexpected(Code::kUnavailable, "the stream is closed");
  Open& open = it->second;
  auto addressed = addressees(open, to);
  if (!addressed) return unexpected(std::move(addressed.error()));
  wire::Multicast whole{stream, 0, open.inbox.spec().leaves, wire::encode_fields(fields),
                        *std::move(addressed)};
  const std::size_t intervals = whole.leaves.intervals().size() + whole.to.intervals().size();
  const std::size_t bytes =
      whole.payload.size() + intervals * sizeof(IntervalSet::Interval) + kFrameHead;
  if (bytes > wire::kMaxFrameBytes) {
    return unexpected(Code::kInvalidArgument,
                      "a multicast of " + std::to_string(bytes) + " bytes with the " +
                          std::to_string(intervals) + " runs of leaves that it names: " +
                          std::to_string(wire::kMaxFrameBytes) + " are the most");
  }
  if (*open.narrowing != nullptr && !whole.to.empty()) {
    const LeafId first{static_cast<std::uint32_t>(whole.to.intervals().front().first)};
    const filters::Place place{first, 0, static_cast<std::size_t>(whole.to.count())};
    const auto tried = (*open.narrowing)->narrow(place, fields);
    if (!tried) return unexpected(tried.error());
  }
  whole.number = ++open.multicasts;
  return whole;
}

void TreeNode::multicast(const wire::Multicast& whole) {
  const auto it = streams_.find(whole.stream);
  if (it == streams_.end()) return;
  recent_.keep(whole);
  filters::MulticastCut cut(it->second.narrowing, whole);
  root_.multicast(whole, [&](LeafId leaf) { return share_of(it->second, cut, leaf); });
}

std::optional<wire::Multicast> TreeNode::share_of(Open& open, filters::MulticastCut& cut,
                                                  LeafId leaf) {
  auto share = cut.for_leaf(leaf);
  if (cut.failure() && !std::exchange(open.failure_is_told, true)) {
    note(root_.overlay().find(kFrontEndNode)->host,
         "stream '" + open.inbox.spec().name + "': " + cut.failure()->message);
  }
  return share;
}

void TreeNode::finish() { root_.finish(); }

Inbox* TreeNode::inbox(StreamId stream) {
  const auto it = streams_.find(stream);
  return it == streams_.end() ? nullptr : &it->second.inbox;
}

std::optional<TreeEvent> TreeNode::take_event() {
  if (events_.empty()) return std::nullopt;
  TreeEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

std::size_t TreeNode::attached_leaves() const {
  std::size_t count = 0;
  for (const auto& [id, node] : root_.overlay().nodes()) {
    count += node.leaf != wire::kNoLeaf && node.state == NodeState::kAttached ? 1 : 0;
  }
  return count;
}

std::string TreeNode::what_is_missing(std::size_t leaves) const {
  const std::size_t attached = attached_leaves();
  if (attached < leaves) {
    return std::to_string(attached) + " of " + std::to_string(leaves) + " back ends were there";
  }
  std::string nodes;
  for (const NodeId node : root_.out_of_place()) nodes += " " + std::to_string(raw(node));
  return nodes.empty() ? "all back ends were there, but the tree was not placed"
                       : "all back ends were there, but not all nodes (" + nodes.substr(1) +
                             ") found their places";
}

void TreeNode::note(const std::string& host, std::string text) {
  tell(TreeEvent::Kind::kNotice, wire::kNoLeaf, host, std::move(text));
}

// ---- Node ----

void TreeNode::on_start(overlay::Network& network, Nanos now) {
  network_ = &network;
  wire::Control control;
  control.epoch_ns = now;
  root_.start(network, std::move(control), now);
  after_event(now);
}

void TreeNode::on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) {
  root_.on_link_up(link, peer, now);
  // A new node has missed nothing.
  const bool is_leaf = root_.leaf_of(link) != wire::kNoLeaf;
  const bool is_comm_process = peer.role == wire::Role::kCommProcess;
  if (peer.node != wire::kNoNode && (is_leaf || is_comm_process)) replay(link, recent_.all());
  after_event(now);
}

// A communication process gets the whole multicast, and a leaf gets its share.
void TreeNode::replay(overlay::LinkId link, const std::vector<const wire::Multicast*>& missed) {
  const LeafId leaf = root_.leaf_of(link);
  for (const wire::Multicast* whole : missed) {
    const auto it = streams_.find(whole->stream);
    if (leaf == wire::kNoLeaf || it == streams_.end()) {
      network_->send(link, *whole);
      continue;
    }
    filters::MulticastCut cut(it->second.narrowing, *whole);
    if (auto share = share_of(it->second, cut, leaf)) network_->send(link, *std::move(share));
  }
}

void TreeNode::on_leaves_below(overlay::LinkId link, const IntervalSet& before,
                               const IntervalSet& now) {
  replay(link, recent_.new_to(before, now));
}

void TreeNode::on_connect_failed(NodeId, const Error&, Nanos) {}  // The root connects to nobody.

void TreeNode::on_link_down(overlay::LinkId link, const Error& why, Nanos now) {
  root_.on_link_down(link, why, now);
  after_event(now);
}

void TreeNode::on_message(overlay::LinkId link, wire::Message message, Nanos now) {
  const bool is_packet = std::holds_alternative<wire::Packet>(message);
  root_.on_message(link, std::move(message), now);
  // Many packets arrive together. They are handled and acknowledged together.
  is_packet ? network_->set_timer(now) : after_event(now);
}

void TreeNode::on_timer(Nanos now) {
  root_.on_timer(now);
  for (auto& [id, open] : streams_) open.inbox.on_timer(now);
  after_event(now);
}

void TreeNode::on_readable(int, Nanos) {}

void TreeNode::after_event(Nanos now) {
  place_when_gathered(now);
  send_acknowledgements(now);
  Nanos next = now + kLookInterval;
  const IntervalSet expected = streams_.empty() ? IntervalSet() : this->expected();
  for (auto& [id, open] : streams_) {
    const IntervalSet& members = open.inbox.spec().leaves;
    open.inbox.set_expected(members.empty() ? expected : expected.intersection(members));
    next = std::min(next, open.inbox.next_deadline());
    next = std::min(next, open.inbox.acknowledgement_due().value_or(next));
  }
  if (!root_.is_placed()) next = std::min(next, gathering_.complete_at());
  network_->set_timer(std::max(next, now + kMillisecond));
}

void TreeNode::place_when_gathered(Nanos now) {
  if (root_.is_placed() || !gathering_.complete(now)) return;
  const IntervalSet leaves = root_.overlay().leaves();
  std::map<LeafId, KnownHost> known;
  for (const auto& run : leaves.intervals()) {
    for (auto leaf = run.first; leaf < run.end; ++leaf) {
      known[LeafId{static_cast<std::uint32_t>(leaf)}].processes = 1;
    }
  }
  root_.place(known, now);
}

void TreeNode::send_acknowledgements(Nanos now) {
  for (auto& [id, open] : streams_) {
    const auto due = open.inbox.acknowledgement_due();
    if (due && *due <= now) root_.acknowledge(open.inbox.take_acknowledgement());
  }
}

// ---- RootOwner ----

void TreeNode::on_packet(wire::Packet packet, Nanos now) {
  const auto it = streams_.find(packet.id.stream);
  if (it == streams_.end()) {
    // The stream was closed, so the leaves need not keep the packet.
    root_.acknowledge({{std::move(packet.id)}, {}});
    return;
  }
  // This front end gives all leaf ids, so an unknown source is an error. It is not enough to accept
  // only the leaves below the packet's link: a leaf that moves may send before its new parent has
  // reported it.
  Inbox& inbox = it->second.inbox;
  const IntervalSet& sources = packet.id.sources;
  if (!sources.empty() && root_.overlay().leaves().contains(sources)) {
    inbox.take(std::move(packet), now);
  } else if (inbox.refuse()) {
    note(root_.overlay().find(kFrontEndNode)->host,
         "stream '" + inbox.spec().name + "': a packet of leaves that never joined was dropped");
  }
}

void TreeNode::on_node(const OverlayNode& node) {
  if (node.leaf == wire::kNoLeaf || node.state != NodeState::kLeft) return;
  const auto [state, is_new] = states_.try_emplace(node.leaf, node.state);
  if (is_new) tell(TreeEvent::Kind::kLeft, node.leaf, node.host, "left");
}

void TreeNode::on_joined(LeafId leaf, Nanos now) {
  gathering_.host_joined(leaf, now);
  states_.erase(leaf);
  tell(TreeEvent::Kind::kJoined, leaf, root_.overlay().find(leaf)->host, "joined");
}

void TreeNode::on_lost(const OverlayNode& back_end) {
  tell(TreeEvent::Kind::kLost, back_end.leaf, back_end.host, "is silent");
}

void TreeNode::on_found(const OverlayNode& back_end) {
  tell(TreeEvent::Kind::kFound, back_end.leaf, back_end.host, "was heard of again");
}

void TreeNode::on_link_report(const wire::LinkReport&, Nanos) {}

void TreeNode::on_notice(const wire::Notice& notice, Nanos) {
  tell(TreeEvent::Kind::kNotice, wire::kNoLeaf, notice.host, notice.text);
}

void TreeNode::on_healed(const OverlayNode& node) {
  const OverlayNode* parent = root_.overlay().find(node.parent);
  tell(TreeEvent::Kind::kHealed, node.leaf, node.host,
       "node " + std::to_string(raw(node.id)) + " is now below node " +
           std::to_string(raw(node.parent)) + (parent ? " on " + parent->host : ""));
}

void TreeNode::on_multicast_gap(const wire::MulticastGap& gap) {
  const OverlayNode* back_end = root_.overlay().find(gap.leaf);
  const auto stream = streams_.find(gap.stream);
  if (back_end == nullptr || stream == streams_.end() || gap.first >= gap.end) return;
  IntervalSet& known = stream->second.missed[gap.leaf];
  const IntervalSet added = IntervalSet::range(gap.first, gap.end).difference(known);
  known.insert(added);
  for (const auto& run : added.intervals()) {
    tell(TreeEvent::Kind::kGap, gap.leaf, back_end->host,
         "missed multicasts " + std::to_string(run.first) + " to " + std::to_string(run.end - 1) +
             " of '" + stream->second.inbox.spec().name + "'");
  }
}

void TreeNode::on_stream_refused(const wire::StreamRefused& refused) {
  const auto it = streams_.find(refused.stream);
  if (it == streams_.end()) return;
  Open& open = it->second;
  if (taken_version_ >= open.version) {
    // The stream is open. A node has joined later, or its narrowing of a multicast has failed.
    note(refused.host, "stream '" + open.inbox.spec().name + "': " + refused.reason);
  } else if (!open.refused) {
    open.refused = Error{Code::kCorrupt, "host " + refused.host + ": " + refused.reason};
  }
}

void TreeNode::tell(TreeEvent::Kind kind, LeafId leaf, const std::string& host, std::string text) {
  if (has_last_event_) return;
  if (events_.size() >= kMaxEvents) events_.pop_front();
  events_.push_back({kind, leaf, host, std::move(text)});
}

}  // namespace xylem::frontend
