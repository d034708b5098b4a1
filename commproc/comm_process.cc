#include "commproc/comm_process.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "filters/profile_merge.h"
#include "net/link_report.h"

namespace xylem::commproc {
namespace {

constexpr Nanos kFirstRetry = 50 * kMillisecond;
constexpr Nanos kLongestRetry = 2 * kSecond;
constexpr Nanos kReportInterval = 1 * kSecond;
constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

}  // namespace

CommProcess::CommProcess(CommProcessOptions options)
    : options_(std::move(options)),
      windows_(filters::merge_window_packets, {.time_out = options_.wave_time_out}) {
  parents_.push_back({kFrontEndNode, options_.front_end});
}

void CommProcess::on_start(net::Network& network, Nanos now) {
  network_ = &network;
  orphan_since_ = now;
  next_report_ = now + kReportInterval;
  connect_next(now);
  schedule(now);
}

void CommProcess::connect_next(Nanos now) {
  if (connecting_ || parent_ || stopping_) return;
  wire::Hello hello;
  hello.role = wire::Role::kCommProcess;
  hello.node = options_.node;
  hello.level = options_.level;
  hello.control_version = control_ ? control_->version : 0;
  connecting_ = true;
  retry_at_ = 0;
  network_->connect(parents_[next_parent_ % parents_.size()], hello);
  schedule(now);
}

void CommProcess::on_link_up(net::LinkId link, const net::Peer& peer, Nanos now) {
  if (peer.accepted) {
    accept_child(link, peer);
    return;
  }
  connecting_ = false;
  retry_pause_ = 0;
  if (std::exchange(assigned_meanwhile_, false) && peer.node != parents_.front().node) {
    network_->close(link, "the place in the tree has changed");
    orphan_since_ = now;
    connect_next(now);
    return;
  }
  const bool reporting = parents_.size() == 1 && !parent_;
  if (reporting && peer.node == kFrontEndNode && !front_end_) {
    front_end_ = link;
    network_->set_upward(link);
    wire::CommProcessReport report;
    report.node = options_.node;
    report.addresses = network_->addresses();
    report.pid = static_cast<std::uint32_t>(::getpid());
    network_->send(link, std::move(report));
    return;
  }
  adopt_parent(link, peer.node);
  schedule(now);
}

void CommProcess::accept_child(net::LinkId link, const net::Peer& peer) {
  // Levels grow towards the leaves; this alone makes a cycle impossible.
  if (peer.level <= options_.level) {
    network_->close(link, "level " + std::to_string(peer.level) + " cannot be a child of level " +
                              std::to_string(options_.level));
    return;
  }
  children_.emplace(link, peer.node);
  if (peer.leaf != wire::kNoLeaf) {
    router_.set_leaves(link, {IntervalSet::of(raw(peer.leaf)), {}});
    tell_leaves();
  }
  if (control_) network_->send(link, *control_);
}

void CommProcess::adopt_parent(net::LinkId link, NodeId node) {
  parent_ = link;
  parent_node_ = node;
  network_->set_upward(link);
  if (front_end_ && *front_end_ != link) {
    network_->close(*front_end_, "attached to node " + std::to_string(raw(node)));
    front_end_.reset();
  }
  network_->send(link, wire::Attached{options_.node, node});
  tell_leaves();
  if (lost_a_parent_) ask_subtree_to_resend();
  log(Level::kInfo, "attached", {{"node", options_.node}, {"parent", node}});
}

// A communication process keeps nothing that it has sent, so what was on its way is sent again by
// those who have it: the journals of the leaves.
void CommProcess::ask_subtree_to_resend() {
  lost_a_parent_ = false;
  wire::PacketId everything;
  everything.stream = wire::kEveryStream;
  everything.wave_end = 1;
  everything.sources = router_.below().leaves;
  wire::Acknowledgement request;
  request.resend.push_back(std::move(everything));
  for (auto& [child, part] : router_.split(request)) network_->send(child, std::move(part));
}

void CommProcess::on_connect_failed(NodeId node, const Error& why, Nanos now) {
  connecting_ = false;
  // A new line of parents came in meanwhile: it starts with its first.
  if (!std::exchange(assigned_meanwhile_, false)) ++next_parent_;
  retry_pause_ = std::clamp(2 * retry_pause_, kFirstRetry, kLongestRetry);
  retry_at_ = now + retry_pause_;
  log(Level::kDebug, "parent not reached", {{"parent", node}, {"why", why.message}});
  schedule(now);
}

void CommProcess::on_message(net::LinkId link, wire::Message message, Nanos now) {
  if (children_.contains(link)) {
    from_child(link, std::move(message), now);
  } else {
    from_parent(std::move(message), now);
  }
  send_ready(now);
  end_if_done(now);
}

void CommProcess::from_child(net::LinkId link, wire::Message message, Nanos now) {
  if (auto* packet = std::get_if<wire::Packet>(&message)) {
    if (packet->id.stream == wire::kWindowStream) {
      windows_.add(std::move(*packet), now);
    } else {
      send_up(std::move(message));
    }
  } else if (const auto* leaves = std::get_if<wire::LeafSet>(&message)) {
    router_.set_leaves(link, *leaves);
    tell_leaves();
  } else if (std::holds_alternative<wire::Goodbye>(message)) {
    // Whoever says goodbye has had everything acknowledged: its leaves have ended.
    wire::LeafSet left;
    left.leaves = router_.leaves_of(link);
    left.ended = left.leaves;
    router_.set_leaves(link, left);
    tell_leaves();
  } else if (std::holds_alternative<wire::Attached>(message) ||
             std::holds_alternative<wire::LinkReport>(message) ||
             std::holds_alternative<wire::HostReport>(message) ||
             std::holds_alternative<wire::CommProcessReport>(message)) {
    send_up(std::move(message));
  }
}

void CommProcess::from_parent(wire::Message message, Nanos now) {
  if (const auto* assignment = std::get_if<wire::Assignment>(&message)) {
    take_assignment(*assignment, now);
  } else if (const auto* ack = std::get_if<wire::Acknowledgement>(&message)) {
    for (auto& [child, part] : router_.split(*ack)) network_->send(child, std::move(part));
  } else if (const auto* control = std::get_if<wire::Control>(&message)) {
    take_control(*control);
  }
}

void CommProcess::take_assignment(const wire::Assignment& assignment, Nanos now) {
  if (assignment.parents.empty()) return;
  options_.level = assignment.level;
  parents_ = assignment.parents;
  next_parent_ = 0;
  if (connecting_) {
    assigned_meanwhile_ = true;
    return;
  }
  if (parent_ && parent_node_ == parents_.front().node) return;
  if (parents_.front().node == kFrontEndNode && front_end_) {
    adopt_parent(*front_end_, kFrontEndNode);
    front_end_.reset();
    return;
  }
  if (parent_) {
    network_->close(*parent_, "moved");
    parent_.reset();
    lost_a_parent_ = true;
  }
  orphan_since_ = now;
  connect_next(now);
}

void CommProcess::take_control(const wire::Control& control) {
  if (control_ && control.version <= control_->version) return;
  control_ = control;
  for (const auto& [child, node] : children_) network_->send(child, control);
}

void CommProcess::send_up(wire::Message message) {
  // Without a parent a packet is dropped: its leaf has it in the journal and is asked to resend.
  if (parent_) network_->send(*parent_, std::move(message));
}

void CommProcess::send_ready(Nanos now) {
  windows_.set_expected(router_.expected());
  for (wire::Packet& packet : windows_.take_ready(now)) send_up(std::move(packet));
  schedule(now);
}

void CommProcess::tell_leaves() {
  if (parent_) network_->send(*parent_, router_.below());
}

void CommProcess::on_link_down(net::LinkId link, const Error& why, Nanos now) {
  if (children_.erase(link) > 0) {
    // Leaves that ended here stay ended; others are looked for elsewhere.
    router_.remove_living(link);
    tell_leaves();
    send_ready(now);
    end_if_done(now);
    return;
  }
  if (front_end_ == link) front_end_.reset();
  if (parent_ == link) {
    parent_.reset();
    lost_a_parent_ = true;
    ++next_parent_;
    log(Level::kWarn, "parent lost", {{"node", options_.node}, {"why", why.message}});
  }
  if (!parent_ && !front_end_) {
    orphan_since_ = now;
    retry_at_ = now;
    schedule(now);
  }
}

void CommProcess::on_timer(Nanos now) {
  if (retry_at_ != 0 && now >= retry_at_) connect_next(now);
  if (now >= next_report_) report_links(now);
  send_ready(now);
  end_if_done(now);
}

void CommProcess::on_readable(int, Nanos) {}

void CommProcess::report_links(Nanos now) {
  next_report_ = now + kReportInterval;
  if (!parent_) return;
  network_->send(*parent_, net::make_link_report(options_.node, *network_, *parent_));
}

void CommProcess::end_if_done(Nanos now) {
  if (stopping_) return;
  const bool orphan = !parent_ && !front_end_ && now - orphan_since_ > options_.orphan_limit;
  const bool finished = control_ && control_->finish && children_.empty();
  if (!orphan && !finished) return;
  stopping_ = true;
  if (finished) {
    for (wire::Packet& packet : windows_.flush()) send_up(std::move(packet));
    if (parent_) network_->send(*parent_, wire::Goodbye{"the run is over"});
  } else {
    log(Level::kWarn, "no parent for too long, giving up", {{"node", options_.node}});
  }
  network_->stop(orphan ? 1 : 0);
}

void CommProcess::schedule(Nanos now) {
  Nanos next = std::min(next_report_, windows_.next_deadline());
  if (retry_at_ != 0) next = std::min(next, retry_at_);
  if (!parent_ && !front_end_) next = std::min(next, orphan_since_ + options_.orphan_limit + 1);
  network_->set_timer(std::max(next, now));
}

}  // namespace xylem::commproc
