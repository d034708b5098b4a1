#include "overlay/uplink.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace xylem::overlay {

Uplink::Uplink(UplinkOptions options) : options_(std::move(options)) {
  line_ = {wire::Parent{kFrontEndNode, options_.front_end}};
}

void Uplink::start(Network& network, Nanos now) {
  network_ = &network;
  orphan_since_ = now;
}

Uplink::Change Uplink::connect() {
  retry_at_ = 0;
  if (connecting_to_ || stopped_) return Change::kNone;
  const wire::Parent& parent = line_[next_];
  if (parent.node == kFrontEndNode && front_end_ && placed_) {
    return adopt(*front_end_, kFrontEndNode);
  }
  connecting_to_ = parent.node;
  network_->connect(parent, options_.hello());
  return Change::kNone;
}

void Uplink::retry_later(Nanos now) {
  retry_pause_ = std::clamp(2 * retry_pause_, options_.first_retry, options_.longest_retry);
  retry_at_ = now + retry_pause_;
  failed_ = 0;
}

void Uplink::choose_next() { next_ = (next_ + 1) % line_.size(); }

Uplink::Change Uplink::on_link_up(LinkId link) {
  const NodeId node = std::exchange(connecting_to_, std::nullopt).value_or(wire::kNoNode);
  if (stopped_) {
    network_->close(link, "this process is ending");
    return Change::kNone;
  }
  retry_pause_ = 0;
  failed_ = 0;
  if (std::exchange(placed_meanwhile_, false) && node != line_.front().node) {
    network_->close(link, "the place in the tree has changed");
    next_ = 0;
    return connect();
  }
  if (placed_) return adopt(link, node);
  front_end_ = link;
  network_->set_upward(link);
  return Change::kReporting;
}

Uplink::Change Uplink::adopt(LinkId link, NodeId node) {
  const std::optional<LinkId> former_parent = std::exchange(parent_, link);
  const std::optional<LinkId> former_front_end = std::exchange(front_end_, std::nullopt);
  former_ = former_parent                     ? Former::kMoved
            : std::exchange(lost_one_, false) ? Former::kLost
                                              : Former::kNone;
  parent_node_ = node;
  network_->set_upward(link);
  const NodeId self = options_.hello().node;
  network_->send(link, wire::Attached{self, node});
  for (const auto& former : {former_parent, former_front_end}) {
    if (former && *former != link) network_->close(*former, "attached to another parent");
  }
  log(Level::kDebug, "attached", {{"node", self}, {"parent", node}});
  return Change::kAdopted;
}

Uplink::Change Uplink::on_connect_failed(const Error& why, Nanos now) {
  const NodeId node = std::exchange(connecting_to_, std::nullopt).value_or(wire::kNoNode);
  log(Level::kDebug, "parent not reached", {{"parent", node}, {"why", why.message}});
  if (std::exchange(placed_meanwhile_, false)) {
    next_ = 0;
  } else {
    choose_next();
    // No better parent has answered: keep the present parent.
    if (parent_ && line_[next_].node == parent_node_) return Change::kNone;
  }
  if (++failed_ < line_.size()) return connect();
  retry_later(now);
  return Change::kNone;
}

Uplink::Change Uplink::on_link_down(LinkId link, const Error& why, Nanos now) {
  const bool was_parent = parent_ == link;
  if (!was_parent && front_end_ != link) return Change::kNone;
  (was_parent ? parent_ : front_end_).reset();
  lost_one_ = lost_one_ || was_parent;
  if (this->link() || stopped_) return Change::kNone;
  log(Level::kInfo, "parent lost", {{"why", why.message}});
  orphan_since_ = now;
  if (was_parent) choose_next();
  // Connects to another parent at once, but to the same parent only after a pause.
  if (was_parent && line_[next_].node != parent_node_) {
    connect();
  } else if (!connecting_to_) {
    retry_later(now);
  }
  return Change::kLost;
}

Uplink::Change Uplink::assign(const wire::Assignment& assignment) {
  placed_ = true;
  line_ = assignment.parents;
  if (line_.empty()) line_ = {wire::Parent{kFrontEndNode, options_.front_end}};
  next_ = 0;
  failed_ = 0;
  if (connecting_to_) {
    placed_meanwhile_ = true;
    return Change::kNone;
  }
  if (parent_ && parent_node_ == line_.front().node) return Change::kNone;
  return connect();
}

Uplink::Change Uplink::on_timer(Nanos now) {
  if (retry_at_ == 0 || now < retry_at_) return Change::kNone;
  return connect();
}

}  // namespace xylem::overlay
