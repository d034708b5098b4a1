#include "frontend/session.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <limits>

#include "base/log.h"
#include "wire/registration.h"

namespace xylem::frontend {
namespace {

constexpr Nanos kRetryCommit = 1 * kSecond;
constexpr Nanos kLookInterval = 500 * kMillisecond;

std::string local_host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

storage::NodeRow row_of(const OverlayNode& node) {
  storage::NodeRow row;
  row.id = node.id;
  row.role = node.role;
  row.host = node.host;
  row.parent = node.parent;
  row.level = node.level;
  row.pid = node.pid;
  row.leaf = node.leaf;
  row.state = node_state_name(node.state);
  return row;
}

}  // namespace

Session::Session(SessionOptions options, storage::Recorder& recorder)
    : options_(std::move(options)),
      recorder_(recorder),
      gathering_(options_.settle),
      overlay_(local_host_name(), static_cast<std::uint32_t>(::getpid())) {}

void Session::on_start(net::Network& network, Nanos now) {
  network_ = &network;
  epoch_ = now;
  control_.version = 1;
  control_.enabled = true;
  control_.chunks = options_.chunks;
  control_.window_ns = options_.window;
  control_.epoch_ns = epoch_;
  overlay_.set_front_end_addresses(network.addresses());
  put_node(kFrontEndNode);
  last_progress_ = now;
  next_commit_ = now + options_.commit_interval;
  if (options_.control_fd >= 0) network.watch(options_.control_fd);
  if (recorder_.fd() >= 0) network.watch(recorder_.fd());
  schedule(now);
}

// ---- links ----

void Session::on_link_up(net::LinkId link, const net::Peer& peer, Nanos now) {
  links_.insert(link);
  network_->send(link, control_);
  // A node that comes back names itself; a new one gets its number after its report.
  const OverlayNode* known = overlay_.find(peer.node);
  if (known == nullptr || known->role != peer.role) return;
  link_of_node_[peer.node] = link;
  node_of_link_[link] = peer.node;
  if (known->leaf != wire::kNoLeaf && known->leaf == peer.leaf) {
    router_.set_leaves(link, {IntervalSet::of(raw(known->leaf)), {}});
    take_back_host(known->leaf);
  }
  last_progress_ = now;
}

void Session::on_connect_failed(NodeId, const Error&, Nanos) {}  // The root connects to nobody.

void Session::on_link_down(net::LinkId link, const Error& why, Nanos now) {
  links_.erase(link);
  router_.remove_living(link);
  const auto it = node_of_link_.find(link);
  if (it != node_of_link_.end()) {
    const NodeId id = it->second;
    node_of_link_.erase(it);
    if (link_of_node_[id] == link) link_of_node_.erase(id);
    log(Level::kDebug, "link down", {{"node", id}, {"why", why.message}});
  }
  last_progress_ = now;
  look_for_lost_hosts(now);
  end_when_done(now);
  schedule(now);
}

void Session::on_message(net::LinkId link, wire::Message message, Nanos now) {
  if (auto* packet = std::get_if<wire::Packet>(&message)) {
    on_packet(std::move(*packet), now);
  } else if (const auto* host = std::get_if<wire::HostReport>(&message)) {
    on_host_report(link, *host, now);
  } else if (const auto* started = std::get_if<wire::CommProcessReport>(&message)) {
    on_comm_process_report(link, *started);
  } else if (const auto* attached = std::get_if<wire::Attached>(&message)) {
    on_attached(*attached);
  } else if (const auto* leaves = std::get_if<wire::LeafSet>(&message)) {
    router_.set_leaves(link, *leaves);
    for (const LeafId leaf : std::set(given_up_)) {
      if (leaves->leaves.contains(raw(leaf))) take_back_host(leaf);
    }
    look_for_lost_hosts(now);
  } else if (const auto* report = std::get_if<wire::LinkReport>(&message)) {
    on_link_report(*report, now);
  } else if (std::holds_alternative<wire::Goodbye>(message)) {
    on_goodbye(link);
    last_progress_ = now;
  }
  place_when_gathered(now);
  assign_when_started(now);
  end_when_done(now);
  schedule(now);
}

void Session::on_host_report(net::LinkId link, const wire::HostReport& report, Nanos now) {
  OverlayNode& node = overlay_.join(report);
  node.state = NodeState::kAttached;
  take_back_host(node.leaf);
  link_of_node_[node.id] = link;
  node_of_link_[link] = node.id;
  router_.set_leaves(link, {IntervalSet::of(raw(node.leaf)), {}});
  gathering_.host_joined(node.leaf, now);
  last_progress_ = now;
  if (assigned_) overlay_.attach_late(node.id);
  put_node(node.id);
  send_assignment(node.id);
}

void Session::on_comm_process_report(net::LinkId link, const wire::CommProcessReport& report) {
  const OverlayNode* node = overlay_.find(report.node);
  if (node == nullptr || node->role != wire::Role::kCommProcess) return;
  if (!report.failure.empty()) {
    log(Level::kWarn, "communication process not started",
        {{"node", report.node}, {"why", report.failure}});
    give_up_comm_process(report.node, NodeState::kLost);
    return;
  }
  overlay_.started(report.node, report.addresses, report.pid);
  link_of_node_[report.node] = link;
  node_of_link_[link] = report.node;
  put_node(report.node);
  if (assigned_) send_assignment(report.node);
}

void Session::on_attached(const wire::Attached& attached) {
  OverlayNode* node = overlay_.find(attached.node);
  const OverlayNode* parent = overlay_.find(attached.parent);
  if (node == nullptr || parent == nullptr || attached.node == kFrontEndNode) return;
  node->state = NodeState::kAttached;
  node->parent = attached.parent;
  node->level = std::max(node->level, parent->level + 1);
  put_node(attached.node);
}

void Session::on_goodbye(net::LinkId link) {
  const auto it = node_of_link_.find(link);
  if (it == node_of_link_.end()) return;
  OverlayNode* node = overlay_.find(it->second);
  node->state = NodeState::kLeft;
  if (node->leaf != wire::kNoLeaf) {
    const IntervalSet self = IntervalSet::of(raw(node->leaf));
    router_.set_leaves(link, {self, self});
  }
  put_node(node->id);
}

void Session::on_link_report(const wire::LinkReport& report, Nanos now) {
  keep(storage::LinkRow{report, run_time(now)});
  const OverlayNode* node = overlay_.find(report.node);
  if (node == nullptr || node->leaf == wire::kNoLeaf) return;
  storage::ClockRow clock;
  clock.leaf = node->leaf;
  clock.at_ns = run_time(now);
  clock.offset_ns = report.offset_ns;
  clock.error_ns = report.error_ns;
  keep(clock);
}

void Session::put_node(NodeId id) { keep(row_of(*overlay_.find(id))); }

// ---- placement ----

void Session::place_when_gathered(Nanos now) {
  if (placed_ || exit_code_ || !gathering_.complete(now)) return;
  placed_ = true;
  std::map<LeafId, std::size_t> processes;
  const IntervalSet leaves = overlay_.leaves();
  for (const auto& run : leaves.intervals()) {
    for (auto leaf = run.first; leaf < run.end; ++leaf) {
      const LeafId id{static_cast<std::uint32_t>(leaf)};
      processes[id] = gathering_.processes_on(id);
    }
  }
  auto started = overlay_.place(options_.shape, processes);
  if (!started) {
    log(Level::kError, "no tree as asked for, back ends report to the front end directly",
        {{"why", started.error().message}});
    assigned_ = true;
    return;
  }
  start_deadline_ = now + options_.start_limit;
  for (const NodeId node : *started) {
    const auto link = link_of_node_.find(overlay_.starter_of(node));
    if (link == link_of_node_.end()) {
      give_up_comm_process(node, NodeState::kLost);
      continue;
    }
    network_->send(link->second, wire::StartCommProcess{node, overlay_.find(node)->level});
    put_node(node);
  }
}

void Session::assign_when_started(Nanos now) {
  if (!placed_ || assigned_) return;
  if (!overlay_.all_started() && now < start_deadline_) return;
  assigned_ = true;
  for (const auto& [id, node] : std::map(overlay_.nodes())) {
    if (node.role == wire::Role::kCommProcess && node.state == NodeState::kStarting) {
      log(Level::kWarn, "communication process did not report in time", {{"node", id}});
      give_up_comm_process(id, NodeState::kLost);
    }
  }
  for (const auto& [id, node] : overlay_.nodes()) {
    if (id == kFrontEndNode) continue;
    send_assignment(id);
    put_node(id);
  }
}

void Session::give_up_comm_process(NodeId id, NodeState state) {
  const std::vector<NodeId> moved = overlay_.remove(id, state);
  put_node(id);
  for (const NodeId child : moved) {
    put_node(child);
    if (assigned_) send_assignment(child);
  }
}

void Session::send_assignment(NodeId id) {
  const auto link = link_of_node_.find(id);
  if (link != link_of_node_.end()) network_->send(link->second, overlay_.assignment(id));
}

// ---- store ----

void Session::keep(storage::Row row) { waiting_.rows.push_back(std::move(row)); }

void Session::note_store_trouble(const Error& error) {
  if (store_trouble_ == error.message) return;
  store_trouble_ = error.message;
  log(Level::kError, "the store does not take data, the hosts keep it for now",
      {{"why", error.message}});
}

void Session::on_packet(wire::Packet packet, Nanos now) {
  if (packet.id.stream == wire::kRegistrationStream) note_registration(packet, now);
  if (waiting_bytes_ > options_.waiting_bytes) {
    if (!std::exchange(told_slow_, true)) {
      log(Level::kWarn,
          "the store is slower than the data, the hosts keep what it cannot take yet");
    }
    return;
  }
  waiting_bytes_ += packet.payload.size();
  keep(std::move(packet));
  if (waiting_bytes_ >= options_.commit_bytes && failed_.rows.empty()) record(now);
}

void Session::note_registration(const wire::Packet& packet, Nanos now) {
  auto registration = wire::decode_registration(packet.payload);
  if (!registration || packet.id.sources.count() != 1) return;
  const LeafId leaf{static_cast<std::uint32_t>(packet.id.sources.intervals().front().first)};
  for (const wire::ProcessRow& process : registration->processes) {
    gathering_.process_seen(leaf, process, now);
  }
}

void Session::record(Nanos now) {
  if (recording_ || is_over_) return;
  next_commit_ = now + options_.commit_interval;
  storage::Batch batch = std::exchange(failed_, {});
  if (batch.rows.empty()) {
    batch = std::exchange(waiting_, {});
    waiting_bytes_ = 0;
  }
  if (batch.rows.empty()) return;
  batch.dissolving = control_.finish;
  recording_ = true;
  recorder_.record(std::move(batch));
  take_recorded(now);
}

void Session::take_recorded(Nanos now) {
  auto done = recorder_.take();
  if (!done) return;
  recording_ = false;
  if (end_is_recorded_) return ended(*std::move(done));
  acknowledge(*std::move(done), now);
  if (is_over_) record_end(now);
}

void Session::acknowledge(storage::Recorded done, Nanos now) {
  if (done.failure) {
    note_store_trouble(*done.failure);
    failed_ = std::move(done.batch);
    next_commit_ = now + kRetryCommit;
    return;
  }
  for (const std::string& sentence : done.refused) {
    log(Level::kError, "a packet was not taken", {{"why", sentence}});
  }
  if (!store_trouble_.empty()) log(Level::kWarn, "the store takes data again");
  store_trouble_.clear();
  ended_.insert(done.ended);
  if (!done.stored.empty()) last_progress_ = now;
  const wire::Acknowledgement all{std::move(done.stored), std::move(done.missing)};
  for (auto& [link, part] : router_.split(all)) network_->send(link, std::move(part));
}

void Session::look_for_lost_hosts(Nanos now) {
  const IntervalSet missing = overlay_.leaves().difference(router_.below().leaves);
  for (auto it = missing_since_.begin(); it != missing_since_.end();) {
    it = missing.contains(raw(it->first)) ? std::next(it) : missing_since_.erase(it);
  }
  for (const auto& run : missing.intervals()) {
    for (auto number = run.first; number < run.end; ++number) {
      const LeafId leaf{static_cast<std::uint32_t>(number)};
      if (given_up_.contains(leaf)) continue;
      const Nanos since = missing_since_.try_emplace(leaf, now).first->second;
      if (now - since < options_.lost_limit) continue;
      give_up_host(leaf);
    }
  }
}

void Session::give_up_host(LeafId leaf) {
  given_up_.insert(leaf);
  missing_since_.erase(leaf);
  const OverlayNode* node = overlay_.find(leaf);
  overlay_.find(node->id)->state = NodeState::kLost;
  put_node(node->id);
  keep(storage::HostLost{leaf, "host " + node->host + " was not heard of any more"});
  log(Level::kError, "host lost", {{"host", node->host}, {"leaf", leaf}});
}

void Session::take_back_host(LeafId leaf) {
  missing_since_.erase(leaf);
  if (given_up_.erase(leaf) == 0) return;
  const OverlayNode* node = overlay_.find(leaf);
  overlay_.find(node->id)->state = NodeState::kAttached;
  put_node(node->id);
  keep(storage::HostLost{leaf, ""});
  log(Level::kWarn, "host heard of again", {{"host", node->host}, {"leaf", leaf}});
}

// The root has no link upwards that would be reported, but it is the one that strangers find.
void Session::report_refusals(Nanos now) {
  if (network_->refused() == refused_told_) return;
  refused_told_ = network_->refused();
  wire::LinkReport report;
  report.node = kFrontEndNode;
  report.refused = refused_told_;
  keep(storage::LinkRow{report, run_time(now)});
}

// ---- end ----

void Session::on_readable(int fd, Nanos now) {
  if (fd == recorder_.fd()) {
    take_recorded(now);
    if (waiting_bytes_ >= options_.commit_bytes && failed_.rows.empty()) record(now);
    end_when_done(now);
    schedule(now);
  } else if (fd == options_.control_fd) {
    read_control(now);
  }
}

void Session::read_control(Nanos now) {
  std::array<char, 256> piece;
  const ssize_t size = ::read(options_.control_fd, piece.data(), piece.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    // Whoever started us is gone; so is the job, or it is nobody's.
    network_->unwatch(options_.control_fd);
    finish(-1, now);
    return;
  }
  control_text_.append(piece.data(), static_cast<std::size_t>(size));
  for (std::size_t end; (end = control_text_.find('\n')) != std::string::npos;) {
    const std::string line = control_text_.substr(0, end);
    control_text_.erase(0, end + 1);
    constexpr std::string_view kFinish = "finish ";
    int code = -1;
    if (!line.starts_with(kFinish)) continue;
    std::from_chars(line.data() + kFinish.size(), line.data() + line.size(), code);
    finish(code, now);
  }
}

void Session::finish(int exit_code, Nanos now) {
  if (exit_code_) return;
  exit_code_ = exit_code;
  finishing_since_ = now;
  last_progress_ = now;
  broadcast_finish_when_ready(now);
  end_when_done(now);
  schedule(now);
}

// A short job may be over before its agent has reached us: agents of which we can know are waited
// for, so that nothing of a short job is missing.
void Session::broadcast_finish_when_ready(Nanos now) {
  if (!exit_code_ || control_.finish) return;
  const bool waited = now - finishing_since_ >= options_.settle;
  const bool somebody_is_missing = gathering_.anyone()
                                       ? gathering_.worlds() > 0 && !gathering_.worlds_complete()
                                       : options_.agent_expected() || options_.remote;
  if (somebody_is_missing && !waited) return;
  control_.finish = true;
  ++control_.version;
  for (const net::LinkId link : links_) network_->send(link, control_);
}

void Session::end_when_done(Nanos now) {
  if (!exit_code_ || is_over_) return;
  broadcast_finish_when_ready(now);
  if (!control_.finish) return;
  IntervalSet open = overlay_.leaves().difference(router_.below().ended).difference(ended_);
  for (const LeafId leaf : given_up_) open.erase(raw(leaf), raw(leaf) + 1);
  const bool hosts_left = open.empty();
  if (hosts_left && links_.empty()) {
    end(now, "");
    return;
  }
  if (now - last_progress_ < options_.finish_limit) return;
  std::string trouble;
  for (const auto& run : open.intervals()) {
    for (auto number = run.first; number < run.end; ++number) {
      const LeafId leaf{static_cast<std::uint32_t>(number)};
      trouble +=
          (trouble.empty() ? "no end was heard from host " : ", ") + overlay_.find(leaf)->host;
      give_up_host(leaf);
    }
  }
  end(now, trouble);
}

void Session::end(Nanos now, std::string trouble) {
  is_over_ = true;
  report_refusals(now);
  IntervalSet ended = router_.below().ended;
  ended.insert(ended_);
  for (const auto& [id, node] : std::map(overlay_.nodes())) {
    const bool gone = node.role == wire::Role::kCommProcess
                          ? node.state == NodeState::kAttached
                          : node.leaf != wire::kNoLeaf && ended.contains(raw(node.leaf));
    if (!gone) continue;
    overlay_.find(id)->state = NodeState::kLeft;
    put_node(id);
  }
  outcome_.trouble = std::move(trouble);
  record_end(now);
}

// After the batch that is under way, if one is: take_recorded() comes back here then.
void Session::record_end(Nanos now) {
  if (recording_) return;
  storage::Batch batch = std::exchange(failed_, {});
  std::move(waiting_.rows.begin(), waiting_.rows.end(), std::back_inserter(batch.rows));
  waiting_ = {};
  batch.dissolving = true;
  batch.end = storage::RunEnd{*exit_code_, realtime_now()};
  recording_ = true;
  end_is_recorded_ = true;
  recorder_.record(std::move(batch));
  take_recorded(now);
}

void Session::ended(storage::Recorded done) {
  outcome_.hosts = overlay_.leaves().count();
  outcome_.ranks = gathering_.ranks();
  outcome_.account = std::move(done.account);
  if (done.failure) outcome_.trouble = done.failure->message;
  if (done.end_failure) outcome_.trouble = done.end_failure->message;
  if (outcome_.trouble.empty() && gathering_.worlds() > 0 && !gathering_.worlds_complete()) {
    outcome_.trouble = gathering_.missing_ranks();
  }
  network_->stop(0);
}

void Session::on_timer(Nanos now) {
  if (now >= next_commit_) record(now);
  place_when_gathered(now);
  assign_when_started(now);
  report_refusals(now);
  look_for_lost_hosts(now);
  end_when_done(now);
  schedule(now);
}

void Session::schedule(Nanos now) {
  if (is_over_) return;
  Nanos next = now + kLookInterval;
  const bool something_waits = !waiting_.rows.empty() || !failed_.rows.empty();
  if (something_waits && !recording_) next = std::min(next, next_commit_);
  if (!placed_ && gathering_.anyone()) next = std::min(next, gathering_.settled_at());
  network_->set_timer(std::max(next, now + kMillisecond));
}

}  // namespace xylem::frontend
