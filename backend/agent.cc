#include "backend/agent.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "net/link_report.h"

namespace xylem::backend {
namespace {

constexpr Nanos kFirstRetry = 100 * kMillisecond;
constexpr Nanos kLongestRetry = 2 * kSecond;
constexpr Nanos kReportInterval = 1 * kSecond;
// A planned change of parent: what went by the old way is acknowledged by it soon, or never.
constexpr Nanos kOldWayPatience = 1 * kSecond;
// Something due at once, but not in the same turn of the loop.
constexpr Nanos kSoon = 1 * kMillisecond;
constexpr std::size_t kLongestQueue = 16u << 20;

}  // namespace

Agent::Agent(AgentOptions options, Journal& journal, ProcessSource& source, ProcessStarter& starter)
    : options_(std::move(options)),
      journal_(journal),
      source_(source),
      starter_(starter),
      collector_(options_.collector, journal),
      outbox_(options_.outbox, journal) {}

void Agent::on_start(net::Network& network, Nanos now) {
  network_ = &network;
  quiet_since_ = now;
  orphan_since_ = now;
  interval_ = options_.busy_interval;
  parents_ = {wire::Parent{kFrontEndNode, options_.front_end}};
  if (const Memo memo = journal_.memo(); memo.known != 0) {
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
  for (const PacketKey& key : journal_.keys()) outbox_.add_recovered(key);
  if (options_.terminate_fd >= 0) network_->watch(options_.terminate_fd);
  take_from_source(now);
  schedule(now);
}

// ---- processes ----

void Agent::take_from_source(Nanos now) {
  for (;;) {
    SourceEvent event = source_.take();
    if (event.kind == SourceEvent::Kind::kNothing) break;
    if (event.kind == SourceEvent::Kind::kProcess) {
      add_process(std::move(event.process), now);
    } else if (event.kind == SourceEvent::Kind::kReady && phase_ == Phase::kRecovering) {
      phase_ = Phase::kWatching;
      connect_next(now);
    } else if (event.kind == SourceEvent::Kind::kClosed) {
      door_closed(now);
    } else if (event.kind == SourceEvent::Kind::kOpen) {
      door_open(now);
    }
  }
  if (source_.fd() == source_fd_) return;
  if (source_fd_ >= 0) network_->unwatch(source_fd_);
  source_fd_ = source_.fd();
  if (source_fd_ >= 0) network_->watch(source_fd_);
}

void Agent::add_process(NewProcess process, Nanos now) {
  auto segment = Segment::map(process.segment);
  if (!segment) {
    log(Level::kError, "a process cannot be watched",
        {{"pid", process.pid}, {"why", segment.error().message}});
    source_.forget(process.lane);
    return;
  }
  ++processes_seen_;
  quiet_since_ = now;
  next_drain_ = now;
  collector_.add(process.lane, *std::move(segment), !process.pidfd, now);
  if (process.pidfd) {
    const int fd = process.pidfd.get();
    pidfds_.emplace(fd, std::pair(process.lane, std::move(process.pidfd)));
    network_->watch(fd);
  }
  forget_finished();
}

void Agent::process_gone(int pidfd, Nanos now) {
  const auto it = pidfds_.find(pidfd);
  if (it == pidfds_.end()) return;
  quiet_since_ = now;
  collector_.process_ended(it->second.first);
  network_->unwatch(pidfd);
  pidfds_.erase(it);
}

void Agent::forget_finished() {
  for (const Lane lane : collector_.take_finished()) {
    for (auto it = pidfds_.begin(); it != pidfds_.end();) {
      const bool is_it = it->second.first == lane;
      if (is_it) network_->unwatch(it->first);
      it = is_it ? pidfds_.erase(it) : std::next(it);
    }
    source_.forget(lane);
  }
}

// ---- links ----

void Agent::connect_next(Nanos now) {
  retry_at_ = 0;
  if (connecting_ || phase_ == Phase::kDone) return;
  if (parents_.empty()) parents_ = {wire::Parent{kFrontEndNode, options_.front_end}};
  next_parent_ %= parents_.size();
  wire::Hello hello;
  hello.role = wire::Role::kBackEnd;
  hello.node = node_;
  hello.leaf = leaf_;
  hello.level = level_;
  hello.control_version = control_ ? control_->version : 0;
  hello.host_key = options_.host.host_key;
  connecting_ = true;
  connecting_to_ = parents_[next_parent_].node;
  network_->connect(parents_[next_parent_], hello);
  schedule(now);
}

void Agent::retry_later(Nanos now) {
  retry_pause_ = std::clamp(2 * retry_pause_, kFirstRetry, kLongestRetry);
  retry_at_ = now + retry_pause_;
}

void Agent::choose_next_parent() { next_parent_ = (next_parent_ + 1) % parents_.size(); }

void Agent::on_link_up(net::LinkId link, const net::Peer& peer, Nanos now) {
  if (peer.accepted || phase_ == Phase::kDone) return network_->close(link, "a leaf takes nobody");
  connecting_ = false;
  retry_pause_ = 0;
  if (std::exchange(assigned_meanwhile_, false) && connecting_to_ != parents_.front().node) {
    network_->close(link, "the place in the tree has changed");
    next_parent_ = 0;
    return connect_next(now);
  }
  if (!assigned_ && connecting_to_ == kFrontEndNode) {
    front_end_ = link;
    network_->set_upward(link);
    report_host(link);
  } else {
    adopt_parent(link, connecting_to_, now);
  }
  schedule(now);
}

void Agent::report_host(net::LinkId link) {
  wire::HostReport report = options_.host;
  report.pid = static_cast<std::uint32_t>(::getpid());
  report.load = options_.load();
  report.processes = static_cast<std::uint32_t>(collector_.processes());
  network_->send(link, std::move(report));
}

void Agent::adopt_parent(net::LinkId link, NodeId node, Nanos now) {
  const std::optional<net::LinkId> former_parent = std::exchange(parent_, link);
  const std::optional<net::LinkId> former_front_end = std::exchange(front_end_, std::nullopt);
  parent_node_ = node;
  orphan_since_ = 0;
  network_->set_upward(link);
  network_->send(link, wire::Attached{node_, node});
  network_->send(link, wire::LeafSet{IntervalSet::of(raw(leaf_)), {}});
  outbox_.resend_everything(former_parent ? now + kOldWayPatience : 0);
  for (const auto& former : {former_parent, former_front_end}) {
    if (former && *former != link) network_->close(*former, "attached to another parent");
  }
  next_report_ = now;
  send_due(now);
}

void Agent::on_connect_failed(NodeId node, const Error& why, Nanos now) {
  connecting_ = false;
  log(Level::kDebug, "parent not reached", {{"parent", node}, {"why", why.message}});
  if (std::exchange(assigned_meanwhile_, false)) {
    next_parent_ = 0;
  } else {
    choose_next_parent();
    // A better parent was tried in vain: the present one will do.
    if (parent_ && parents_[next_parent_].node == parent_node_) return schedule(now);
  }
  retry_later(now);
  schedule(now);
}

void Agent::on_link_down(net::LinkId link, const Error& why, Nanos now) {
  const bool was_parent = parent_ == link;
  if (was_parent) parent_.reset();
  if (front_end_ == link) front_end_.reset();
  if (upward() || phase_ == Phase::kDone) return;
  log(Level::kInfo, "parent lost", {{"why", why.message}});
  orphan_since_ = now;
  if (was_parent) choose_next_parent();
  // At once to another one; to the same one after a pause.
  if (was_parent && parents_[next_parent_].node != parent_node_) {
    connect_next(now);
  } else if (!connecting_) {
    retry_later(now);
  }
  schedule(now);
}

void Agent::on_message(net::LinkId, wire::Message message, Nanos now) {
  if (const auto* acknowledged = std::get_if<wire::Acknowledgement>(&message)) {
    take_acknowledgement(*acknowledged);
    send_due(now);
    advance_life(now);
  } else if (const auto* control = std::get_if<wire::Control>(&message)) {
    take_control(*control);
    if (control->finish && finish_at_ == 0) finish_at_ = now;
    start_encoding(now);
    advance_life(now);
  } else if (const auto* assignment = std::get_if<wire::Assignment>(&message)) {
    take_assignment(*assignment, now);
    start_encoding(now);
  } else if (const auto* order = std::get_if<wire::StartCommProcess>(&message)) {
    start_comm_process(*order);
  }
  schedule(now);
}

void Agent::take_assignment(const wire::Assignment& assignment, Nanos now) {
  assigned_ = true;
  node_ = assignment.node;
  leaf_ = assignment.leaf;
  level_ = assignment.level;
  remember();
  parents_ = assignment.parents;
  if (parents_.empty()) parents_ = {wire::Parent{kFrontEndNode, options_.front_end}};
  next_parent_ = 0;
  if (connecting_) {
    assigned_meanwhile_ = true;
  } else if (parent_ && parent_node_ == parents_.front().node) {
    // There already.
  } else if (front_end_ && parents_.front().node == kFrontEndNode) {
    adopt_parent(*front_end_, kFrontEndNode, now);
  } else {
    connect_next(now);
  }
}

void Agent::take_control(const wire::Control& control) {
  if (control_ && control.version < control_->version) return;
  control_ = control;
  remember();
  if (encoding_) collector_.configure(leaf_, control);
}

void Agent::take_acknowledgement(const wire::Acknowledgement& acknowledgement) {
  const auto is_ours = [this](const wire::PacketId& id) { return id.sources.contains(raw(leaf_)); };
  for (const wire::PacketId& id : acknowledgement.stored) {
    if (is_ours(id)) outbox_.acknowledge(id);
  }
  for (const wire::PacketId& id : acknowledgement.resend) {
    if (is_ours(id)) outbox_.resend(id);
  }
  collector_.resume();
}

// ---- communication processes ----

void Agent::start_comm_process(const wire::StartCommProcess& order) {
  auto started = starter_.start(order.node, order.level);
  if (!started) {
    wire::CommProcessReport report;
    report.node = order.node;
    report.failure = started.error().message;
    if (const auto link = upward()) network_->send(*link, std::move(report));
    return;
  }
  const int fd = started->pidfd.get();
  if (fd < 0) return;  // Its end will not be seen; the system collects it with us.
  children_.emplace(fd, std::pair(order.node, *std::move(started)));
  network_->watch(fd);
}

void Agent::collect_child(int pidfd) {
  const auto it = children_.find(pidfd);
  if (it == children_.end()) return;
  wire::CommProcessReport report;
  report.node = it->second.first;
  report.failure = starter_.collect(it->second.second.pid);
  network_->unwatch(pidfd);
  children_.erase(it);
  if (report.failure.empty()) return;
  log(Level::kWarn, "communication process ended", {{"why", report.failure}});
  if (const auto link = upward()) network_->send(*link, std::move(report));
}

// ---- work ----

void Agent::start_encoding(Nanos now) {
  if (encoding_ || leaf_ == wire::kNoLeaf || !control_ || phase_ == Phase::kRecovering) return;
  if (encode_at_ == 0) encode_at_ = now + options_.clock_patience;
  if (!clock_known_ && now < encode_at_ && finish_at_ == 0) return;
  if (!clock_known_) log(Level::kWarn, "front end's clock not known, this host's is taken");
  encoding_ = true;
  collector_.set_offset(offset_ns_);
  collector_.configure(leaf_, *control_);
  next_drain_ = now;
}

void Agent::remember() {
  Memo memo;
  if (leaf_ == wire::kNoLeaf || !control_) return;
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

void Agent::drain(Nanos now) {
  next_drain_ = now + options_.idle_interval;
  // After the last window there is none.
  if (phase_ == Phase::kClosing || phase_ == Phase::kDelivering) return;
  if (const auto link = upward()) {
    const net::LinkStatus status = network_->status(*link);
    if (status.clock_known && (!clock_known_ || status.offset_ns != offset_ns_)) {
      clock_known_ = true;
      offset_ns_ = status.offset_ns;
      collector_.set_offset(offset_ns_);
      remember();
    }
  }
  start_encoding(now);
  const bool reads_out = phase_ == Phase::kFinishing;
  const DrainOutcome outcome = reads_out ? collector_.flush(now) : collector_.drain(now);
  for (const PacketKey& key : collector_.take_appended()) outbox_.add(key);
  forget_finished();

  interval_ = interval_for(outcome.fill, now);
  last_drain_ = now;
  next_drain_ = now + interval_;
  if (outcome.next_due != 0) next_drain_ = std::min(next_drain_, outcome.next_due);
  next_drain_ = std::max(next_drain_, outcome.unfinished ? now : now + kSoon);
}

// Shorter at once, longer by doubling: bursts come in groups.
Nanos Agent::interval_for(double fill, Nanos now) const {
  if (collector_.is_anybody_starting(now)) return options_.busy_interval;
  const Nanos longest = std::clamp(2 * interval_, options_.busy_interval, options_.idle_interval);
  const double wanted =
      static_cast<double>(now - last_drain_) * options_.wanted_fill / std::max(fill, 1e-9);
  if (wanted >= static_cast<double>(longest)) return longest;
  return std::max(options_.busy_interval, static_cast<Nanos>(wanted));
}

void Agent::send_due(Nanos now) {
  if (!parent_ || network_->status(*parent_).queue_bytes > kLongestQueue) return;
  for (wire::Packet& packet : outbox_.take_due(now)) network_->send(*parent_, std::move(packet));
}

void Agent::report_link(Nanos now) {
  if (!parent_ || now < next_report_) return;
  next_report_ = now + kReportInterval;
  network_->send(*parent_, net::make_link_report(node_, *network_, *parent_));
}

void Agent::on_timer(Nanos now) {
  if (phase_ == Phase::kRecovering || phase_ == Phase::kDone) return schedule(now);
  if (retry_at_ != 0 && now >= retry_at_) connect_next(now);
  if (now >= next_drain_) drain(now);
  send_due(now);
  report_link(now);
  advance_life(now);
  schedule(now);
}

void Agent::on_readable(int fd, Nanos now) {
  if (fd == source_fd_) {
    take_from_source(now);
  } else if (fd == options_.terminate_fd) {
    network_->unwatch(fd);
    if (finish_at_ == 0) finish_at_ = now;
  } else {
    process_gone(fd, now);
    collect_child(fd);
  }
  if (phase_ == Phase::kWatching || phase_ == Phase::kFinishing) next_drain_ = now;
  schedule(now);
}

// ---- end ----

bool Agent::wants_to_end(Nanos now) const {
  const std::size_t living = collector_.living();
  if (finish_at_ != 0) return living == 0 || now >= finish_at_ + options_.finish_patience;
  if (living != 0) return false;
  return now >= quiet_since_ + (processes_seen_ == 0 ? options_.first_linger : options_.linger);
}

void Agent::advance_life(Nanos now) {
  if (phase_ == Phase::kRecovering || phase_ == Phase::kDone) return;
  // A front end that has said that the run is over does not come back.
  const Nanos patience = finish_at_ != 0 ? options_.finish_orphan_limit : options_.orphan_limit;
  if (!upward() && now >= orphan_since_ + patience) return give_up(now);
  if (phase_ == Phase::kWatching && encoding_ && wants_to_end(now)) {
    // Whoever lives on is counted as it stands, so it must stand still.
    if (finish_at_ != 0) collector_.stop_capture();
    phase_ = Phase::kFinishing;
    next_drain_ = now;
  } else if (phase_ == Phase::kFinishing && collector_.is_idle()) {
    phase_ = Phase::kClosing;
    source_.close();
    take_from_source(now);
  } else if (phase_ == Phase::kClosing && door_is_closed_) {
    deliver_last(now);
  } else if (phase_ == Phase::kDelivering && outbox_.packets() == 0) {
    end(0, "all is stored");
  }
}

// From here on the folder is of no use; a job that starts while the rest is delivered gets an agent
// of its own.
void Agent::door_closed(Nanos now) {
  if (phase_ != Phase::kClosing) return;
  door_is_closed_ = true;
  source_.remove_folder();
  deliver_last(now);
}

// While the journal is full it is tried again, after acknowledgements and from time to time.
void Agent::deliver_last(Nanos now) {
  if (!collector_.seal_last(now)) return;
  for (const PacketKey& key : collector_.take_appended()) outbox_.add(key);
  phase_ = Phase::kDelivering;
  send_due(now);
}

void Agent::door_open(Nanos now) {
  phase_ = Phase::kWatching;
  quiet_since_ = now;
  if (finish_at_ != 0) finish_at_ = now;  // Who just came has time to end, too.
  next_drain_ = now;
}

void Agent::give_up(Nanos) {
  std::uint64_t calls = 0;
  for (const PacketKey& key : journal_.keys()) {
    if (key.stream == wire::kWindowStream) calls += journal_.calls_in(key);
  }
  log(Level::kError, "no front end, what is left here is lost",
      {{"packets", journal_.keys().size()},
       {"calls", calls},
       {"processes", collector_.processes()}});
  end(kGaveUp, "no front end");
}

void Agent::end(int code, const std::string& why) {
  phase_ = Phase::kDone;
  if (const auto link = upward()) network_->send(*link, wire::Goodbye{why});
  source_.remove_folder();
  network_->stop(code);
}

void Agent::schedule(Nanos now) {
  if (phase_ == Phase::kRecovering || phase_ == Phase::kDone) return;
  Nanos next = next_drain_ == 0 ? now : next_drain_;
  if (retry_at_ != 0) next = std::min(next, retry_at_);
  if (const Nanos due = outbox_.next_due(); parent_ && due != 0) next = std::min(next, due);
  network_->set_timer(std::max(next, now));
}

}  // namespace xylem::backend
