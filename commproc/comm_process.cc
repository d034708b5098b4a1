#include "commproc/comm_process.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "filters/profile_merge.h"
#include "overlay/link_report.h"

namespace xylem::commproc {
namespace {

constexpr Nanos kReportInterval = 1 * kSecond;
// Usually there is one report for each node below. If there are more, the oldest are dropped.
constexpr std::size_t kMaxReports = 4096;

}  // namespace

CommProcess::CommProcess(CommProcessOptions options)
    : options_(std::move(options)),
      windows_(filters::merge_window_packets, options_.windows),
      streams_({options_.node, options_.host}),
      uplink_({.front_end = options_.front_end, .hello = [this] { return hello(); }}) {}

wire::Hello CommProcess::hello() const {
  wire::Hello hello;
  hello.role = wire::Role::kCommProcess;
  hello.node = options_.node;
  hello.level = options_.level;
  hello.control_version = control_ ? control_->version : 0;
  return hello;
}

void CommProcess::on_start(overlay::Network& network, Nanos now) {
  network_ = &network;
  next_report_ = now + kReportInterval;
  uplink_.start(network, now);
  react(uplink_.connect());
  schedule(now);
}

void CommProcess::on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) {
  if (peer.accepted) {
    accept_child(link, peer);
  } else {
    react(uplink_.on_link_up(link));
  }
  schedule(now);
}

void CommProcess::react(overlay::Uplink::Change change) {
  if (change == overlay::Uplink::Change::kReporting) {
    wire::CommProcessReport report;
    report.node = options_.node;
    report.addresses = network_->addresses();
    report.pid = static_cast<std::uint32_t>(::getpid());
    network_->send(*uplink_.link(), std::move(report));
  } else if (change == overlay::Uplink::Change::kAdopted) {
    tell_leaves();
    for (wire::Message& report : std::exchange(reports_, {})) send_up(std::move(report));
    taken_told_ = 0;
    tell_streams_taken();
    if (uplink_.former() != overlay::Uplink::Former::kNone) ask_subtree_to_resend();
  }
}

void CommProcess::accept_child(overlay::LinkId link, const overlay::Peer& peer) {
  // Levels grow towards the leaves; this alone makes a cycle impossible.
  if (peer.level <= options_.level) {
    network_->close(link, "level " + std::to_string(peer.level) + " cannot be a child of level " +
                              std::to_string(options_.level));
    return;
  }
  children_.emplace(link, peer.leaf);
  if (peer.leaf != wire::kNoLeaf) {
    router_.set_leaves(link, {IntervalSet::of(raw(peer.leaf)), {}});
    tell_leaves();
  }
  if (control_) network_->send(link, *control_);
  replay(link, streams_.recent().all());
}

// A communication process keeps no packet after sending it. So the leaves must resend the packets
// that were on their way: they have them in their journals.
void CommProcess::ask_subtree_to_resend() {
  wire::PacketId everything;
  everything.stream = wire::kEveryStream;
  everything.wave_end = 1;
  everything.sources = router_.below().leaves;
  wire::Acknowledgement request;
  request.resend.push_back(std::move(everything));
  for (auto& [child, part] : router_.split(request)) network_->send(child, std::move(part));
}

void CommProcess::on_connect_failed(NodeId, const Error& why, Nanos now) {
  react(uplink_.on_connect_failed(why, now));
  schedule(now);
}

void CommProcess::on_message(overlay::LinkId link, wire::Message message, Nanos now) {
  if (std::holds_alternative<wire::Packet>(message)) memory_ = Memory::kInUse;
  if (children_.contains(link)) {
    from_child(link, std::move(message), now);
  } else {
    from_parent(std::move(message));
  }
  // Many packets arrive together. After all of them are handled, the ready waves are sent together.
  is_work_waiting_ = true;
  schedule(now);
}

void CommProcess::from_child(overlay::LinkId link, wire::Message message, Nanos now) {
  if (auto* packet = std::get_if<wire::Packet>(&message)) {
    if (packet->id.stream == wire::kWindowStream) {
      windows_.add(std::move(*packet), now);
    } else if (raw(packet->id.stream) >= raw(wire::kFirstToolStream)) {
      streams_.add(std::move(*packet), now);
    } else {
      send_up(std::move(message));
    }
  } else if (const auto* leaves = std::get_if<wire::LeafSet>(&message)) {
    const IntervalSet before = router_.leaves_of(link);
    router_.set_leaves(link, *leaves);
    tell_leaves();
    replay(link, streams_.recent().new_to(before, leaves->leaves));
  } else if (std::holds_alternative<wire::Goodbye>(message)) {
    // A child says goodbye only after all its packets are acknowledged. So its leaves have ended.
    wire::LeafSet left;
    left.leaves = router_.leaves_of(link);
    left.ended = left.leaves;
    router_.set_leaves(link, left);
    tell_leaves();
  } else if (std::holds_alternative<wire::LinkReport>(message) ||
             std::holds_alternative<wire::HostFacts>(message)) {
    send_up(std::move(message));  // The next report comes soon.
  } else if (std::holds_alternative<wire::Attached>(message) ||
             std::holds_alternative<wire::HostReport>(message) ||
             std::holds_alternative<wire::CommProcessReport>(message) ||
             std::holds_alternative<wire::MulticastGap>(message) ||
             std::holds_alternative<wire::StreamRefused>(message)) {
    report_up(std::move(message));
  } else if (const auto* taken = std::get_if<wire::StreamsTaken>(&message)) {
    taken_[link] = taken->version;
    tell_streams_taken();
  }
}

void CommProcess::from_parent(wire::Message message) {
  if (const auto* assignment = std::get_if<wire::Assignment>(&message)) {
    options_.level = assignment->level;
    react(uplink_.assign(*assignment));
  } else if (const auto* ack = std::get_if<wire::Acknowledgement>(&message)) {
    for (auto& [child, part] : router_.split(*ack)) network_->send(child, std::move(part));
  } else if (const auto* control = std::get_if<wire::Control>(&message)) {
    take_control(*control);
  } else if (const auto* down = std::get_if<wire::Multicast>(&message)) {
    const bool is_whole = down->share == wire::MulticastShare::kWhole;
    if (is_whole && streams_.keep(*down)) multicast(*down);
  }
}

void CommProcess::multicast(const wire::Multicast& down) {
  auto cut = streams_.cut(down);
  for (const auto& [child, leaf] : children_) {
    const bool concerned = down.leaves.empty() || router_.leaves_of(child).intersects(down.leaves);
    if (concerned) send_share(child, leaf, down, cut);
  }
}

void CommProcess::replay(overlay::LinkId link,
                         const std::vector<const wire::Multicast*>& multicasts) {
  const LeafId leaf = children_.at(link);
  for (const wire::Multicast* whole : multicasts) {
    auto cut = streams_.cut(*whole);
    send_share(link, leaf, *whole, cut);
  }
}

// Nodes send each other the whole multicast, so that each node can replay it to any new child.
void CommProcess::send_share(overlay::LinkId link, LeafId leaf, const wire::Multicast& whole,
                             std::optional<filters::MulticastCut>& cut) {
  if (leaf == wire::kNoLeaf) return network_->send(link, whole);
  if (!cut) return;
  if (auto share = cut->for_leaf(leaf)) network_->send(link, *std::move(share));
  if (!cut->failure()) return;
  auto failed = streams_.narrowing_failed(whole.stream, *cut->failure());
  if (failed) report_up(*std::move(failed));
}

// Control goes down at once. The answers come from the leaves upwards. So this message means that
// all nodes below have accepted or refused the streams of that version.
void CommProcess::tell_streams_taken() {
  if (!control_ || !uplink_.parent()) return;
  std::uint64_t version = control_->version;
  for (const auto& [child, leaf] : children_) {
    const auto it = taken_.find(child);
    version = std::min(version, it == taken_.end() ? 0 : it->second);
  }
  if (version <= taken_told_) return;
  taken_told_ = version;
  send_up(wire::StreamsTaken{version});
}

void CommProcess::take_control(const wire::Control& control) {
  if (control_ && control.version <= control_->version) return;
  control_ = control;
  for (wire::StreamRefused& refused : streams_.open(control.streams)) report_up(std::move(refused));
  for (const auto& [child, leaf] : children_) network_->send(child, control);
  tell_streams_taken();
}

void CommProcess::send_up(wire::Message message) {
  // Without a parent, packets are dropped. Their leaves have them in their journals and will be
  // asked to resend.
  if (uplink_.parent()) network_->send(*uplink_.parent(), std::move(message));
}

// Messages that are sent only once wait for a parent. At the start, children are often faster than
// this process.
void CommProcess::report_up(wire::Message message) {
  if (uplink_.parent()) return send_up(std::move(message));
  if (reports_.size() >= kMaxReports) reports_.pop_front();
  reports_.push_back(std::move(message));
}

void CommProcess::send_ready(Nanos now) {
  windows_.set_expected(router_.expected());
  for (wire::Packet& packet : windows_.take_ready(now)) send_up(std::move(packet));
  streams_.set_expected(router_.expected());
  for (wire::Packet& packet : streams_.take_ready(now)) send_up(std::move(packet));
  schedule(now);
}

void CommProcess::tell_leaves() {
  if (uplink_.parent()) network_->send(*uplink_.parent(), router_.below());
}

void CommProcess::on_link_down(overlay::LinkId link, const Error& why, Nanos now) {
  if (children_.erase(link) > 0) {
    // Leaves that ended here stay ended. The other leaves are expected below another node.
    router_.remove_living(link);
    taken_.erase(link);
    tell_leaves();
    tell_streams_taken();
    send_ready(now);
    end_if_done(now);
    return;
  }
  react(uplink_.on_link_down(link, why, now));
  schedule(now);
}

void CommProcess::on_timer(Nanos now) {
  is_work_waiting_ = false;
  react(uplink_.on_timer(now));
  if (now >= next_report_) report_links(now);
  send_ready(now);
  end_if_done(now);
}

void CommProcess::on_readable(int, Nanos) {}

void CommProcess::report_links(Nanos now) {
  next_report_ = now + kReportInterval;
  give_back_memory();
  const auto parent = uplink_.parent();
  if (!parent) return;
  network_->send(*parent, overlay::make_link_report(options_.node, *network_, *parent));
}

// Returns the memory of a burst to the system, but not while data flows: it would be needed again
// at once.
void CommProcess::give_back_memory() {
  if (memory_ == Memory::kFreed) ::malloc_trim(0);
  memory_ = memory_ == Memory::kInUse ? Memory::kFreed : Memory::kGivenBack;
}

void CommProcess::end_if_done(Nanos now) {
  if (stopping_) return;
  const bool orphan = uplink_.orphan_for(now) > options_.orphan_limit;
  const bool finished = control_ && control_->finish && children_.empty();
  if (!orphan && !finished) return;
  stopping_ = true;
  report_links(now);  // The last report includes everything until now.
  uplink_.stop();
  if (finished) {
    for (wire::Packet& packet : windows_.flush()) send_up(std::move(packet));
    for (wire::Packet& packet : streams_.flush()) send_up(std::move(packet));
    send_up(wire::Goodbye{"the run is over"});
  } else {
    log(Level::kWarn, "no parent for too long, giving up", {{"node", options_.node}});
  }
  network_->stop(orphan ? 1 : 0);
}

void CommProcess::schedule(Nanos now) {
  if (is_work_waiting_) return network_->set_timer(now);
  Nanos next = std::min({next_report_, windows_.next_deadline(), streams_.next_deadline()});
  if (const Nanos retry = uplink_.next_due(); retry != 0) next = std::min(next, retry);
  if (!uplink_.link()) next = std::min(next, uplink_.orphan_since() + options_.orphan_limit + 1);
  network_->set_timer(std::max(next, now));
}

}  // namespace xylem::commproc
