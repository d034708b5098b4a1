#include "backend/leaf/delivery.h"

#include <algorithm>
#include <utility>

#include "overlay/link_report.h"

namespace xylem::backend {
namespace {

constexpr Nanos kReportInterval = 1 * kSecond;
// After a planned change of parent, packets sent to the old parent are acknowledged soon, or not at
// all.
constexpr Nanos kOldWayPatience = 1 * kSecond;
constexpr std::size_t kMaxHeld = 64;
constexpr std::size_t kLongestQueue = 16u << 20;

}  // namespace

Delivery::Delivery(DeliveryOptions options, Journal& journal)
    : options_(std::move(options)),
      journal_(journal),
      outbox_(options_.outbox, journal),
      uplink_({.front_end = options_.front_end, .hello = [this] { return hello(); }}) {}

wire::Hello Delivery::hello() const {
  wire::Hello hello;
  hello.role = options_.role;
  hello.node = node_;
  hello.leaf = leaf_;
  hello.level = level_;
  hello.control_version = control_ ? control_->version : 0;
  hello.host_key = options_.host_key;
  return hello;
}

void Delivery::start(overlay::Network& network, Nanos now) {
  network_ = &network;
  uplink_.start(network, now);
  recall();
  for (const PacketKey& key : journal_.keys()) outbox_.add_recovered(key);
}

void Delivery::connect(Nanos now) { react(uplink_.connect(), now); }

// ---- links ----

void Delivery::on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) {
  if (peer.accepted) return network_->close(link, "a leaf takes nobody");
  react(uplink_.on_link_up(link), now);
}

void Delivery::on_connect_failed(const Error& why, Nanos now) {
  react(uplink_.on_connect_failed(why, now), now);
}

void Delivery::on_link_down(overlay::LinkId link, const Error& why, Nanos now) {
  react(uplink_.on_link_down(link, why, now), now);
}

void Delivery::react(overlay::Uplink::Change change, Nanos now) {
  if (change == overlay::Uplink::Change::kReporting) {
    network_->send(*uplink_.link(), options_.report());
  } else if (change == overlay::Uplink::Change::kAdopted) {
    network_->send(*uplink_.parent(), wire::LeafSet{IntervalSet::of(raw(leaf_)), {}});
    const bool moved = uplink_.former() == overlay::Uplink::Former::kMoved;
    for (wire::Message& message : std::exchange(held_, {})) {
      network_->send(*uplink_.parent(), std::move(message));
    }
    outbox_.resend_everything(moved ? now + kOldWayPatience : 0);
    next_report_ = now;
    send_due(now);
  }
}

// ---- messages ----

Delivery::News Delivery::on_message(const wire::Message& message, Nanos now) {
  if (const auto* acknowledged = std::get_if<wire::Acknowledgement>(&message)) {
    take_acknowledgement(*acknowledged);
    send_due(now);
    return News::kAcknowledged;
  }
  if (const auto* control = std::get_if<wire::Control>(&message)) {
    return take_control(*control) ? News::kControl : News::kNothing;
  }
  if (const auto* assignment = std::get_if<wire::Assignment>(&message)) {
    take_assignment(*assignment, now);
    return News::kPlace;
  }
  return News::kNotOurs;
}

void Delivery::take_assignment(const wire::Assignment& assignment, Nanos now) {
  node_ = assignment.node;
  leaf_ = assignment.leaf;
  level_ = assignment.level;
  remember();
  react(uplink_.assign(assignment), now);
}

bool Delivery::take_control(const wire::Control& control) {
  if (control_ && control.version < control_->version) return false;
  control_ = control;
  remember();
  return true;
}

void Delivery::take_acknowledgement(const wire::Acknowledgement& acknowledgement) {
  const auto is_ours = [this](const wire::PacketId& id) { return id.sources.contains(raw(leaf_)); };
  for (const wire::PacketId& id : acknowledgement.stored) {
    if (is_ours(id)) outbox_.acknowledge(id);
  }
  for (const wire::PacketId& id : acknowledgement.resend) {
    if (is_ours(id)) outbox_.resend(id);
  }
}

// ---- sending ----

void Delivery::send_due(Nanos now) {
  const auto parent = may_send();
  if (!parent) return;
  for (wire::Packet& packet : outbox_.take_due(now)) network_->send(*parent, std::move(packet));
}

std::optional<overlay::LinkId> Delivery::may_send() const {
  const auto parent = uplink_.parent();
  const bool is_full = parent && network_->status(*parent).queue_bytes > kLongestQueue;
  return is_full ? std::nullopt : parent;
}

// If the packet can be sent now, it need not be read from the journal.
void Delivery::add(wire::Packet packet, Nanos now) {
  send_due(now);
  const auto parent = may_send();
  if (!parent) {
    outbox_.add(key_of(packet.id));
  } else if (outbox_.add_and_send(packet, now)) {
    network_->send(*parent, std::move(packet));
  }
}

void Delivery::send_up(wire::Message message) {
  if (const auto link = uplink_.link()) {
    network_->send(*link, std::move(message));
  } else if (held_.size() < kMaxHeld) {
    held_.push_back(std::move(message));
  }
}

void Delivery::report_link(Nanos now) {
  if (!uplink_.parent() || now < next_report_) return;
  // The next report is due a second after the time when this one was due, even if this one was sent
  // later.
  next_report_ = std::max(next_report_ + kReportInterval, now + kReportInterval / 2);
  network_->send(*uplink_.parent(), overlay::make_link_report(node_, *network_, *uplink_.parent()));
}

void Delivery::on_timer(Nanos now) {
  react(uplink_.on_timer(now), now);
  send_due(now);
  report_link(now);
}

Nanos Delivery::next_due() const {
  if (!uplink_.parent()) return uplink_.next_due();
  Nanos next = next_report_ + options_.report_slack;
  for (const Nanos due : {uplink_.next_due(), outbox_.next_due()}) {
    if (due != 0) next = std::min(next, due);
  }
  return next;
}

void Delivery::end(const std::string& why) {
  send_up(wire::Goodbye{why});
  uplink_.stop();
}

// ---- what a successor must know ----

bool Delivery::follow_clock() {
  if (!uplink_.link()) return false;
  const overlay::LinkStatus status = network_->status(*uplink_.link());
  if (!status.clock_known || (clock_known_ && status.offset_ns == offset_ns_)) return false;
  clock_known_ = true;
  offset_ns_ = status.offset_ns;
  remember();
  return true;
}

void Delivery::recall() {
  const Memo memo = journal_.memo();
  if (memo.known == 0) return;
  leaf_ = LeafId{memo.leaf};
  node_ = NodeId{memo.node};
  level_ = memo.level;
  wire::Control control;
  control.epoch_ns = memo.epoch_ns;
  control.window_ns = memo.window_ns;
  control.chunks = memo.chunks != 0;
  control.enabled = memo.enabled != 0;
  control_ = control;
  offset_ns_ = memo.offset_ns;
  clock_known_ = memo.clock_known != 0;
}

void Delivery::remember() {
  if (leaf_ == wire::kNoLeaf || !control_) return;
  Memo memo;
  memo.known = 1;
  memo.leaf = raw(leaf_);
  memo.node = raw(node_);
  memo.level = level_;
  memo.epoch_ns = control_->epoch_ns;
  memo.window_ns = control_->window_ns;
  memo.chunks = control_->chunks ? 1 : 0;
  memo.enabled = control_->enabled ? 1 : 0;
  memo.offset_ns = offset_ns_;
  memo.clock_known = clock_known_ ? 1 : 0;
  journal_.remember(memo);
}

}  // namespace xylem::backend
