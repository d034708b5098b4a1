#include "frontend/session.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "placement/facts.h"
#include "wire/registration.h"

namespace xylem::frontend {
namespace {

// The same interval as for all other nodes.
constexpr Nanos kReportInterval = 1 * kSecond;
constexpr Nanos kLookInterval = 500 * kMillisecond;
// Interval of `alive` messages at the end of a run. No message is sent while the store works on one
// batch for longer than this.
constexpr Nanos kSignOfLife = 1 * kSecond;
// Maximum length of a list of leaves in a sentence.
constexpr std::size_t kMaxSources = 40;

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
  row.host_key = node.host_key;
  row.addresses = node.addresses;
  row.reason = node.reason;
  return row;
}

OverlayNode node_of(storage::NodeRow row) {
  OverlayNode node;
  node.id = row.id;
  node.role = row.role;
  node.host = std::move(row.host);
  node.parent = row.parent;
  node.level = row.level;
  node.pid = row.pid;
  node.leaf = row.leaf;
  node.state = parse_node_state(row.state);
  node.host_key = std::move(row.host_key);
  node.addresses = std::move(row.addresses);
  node.reason = std::move(row.reason);
  return node;
}

RootOptions root_options(const SessionOptions& options) {
  RootOptions root;
  root.shape = options.plan.shape;
  root.may_launch = options.launcher != nullptr;
  root.choice = options.plan.choice;
  root.start_limit = options.start_limit;
  root.lost_limit = options.lost_limit;
  root.has_programs = true;
  if (!options.past) return root;
  root.front_ends = options.past->front_ends;
  for (const storage::NodeRow& row : options.past->nodes) root.nodes.push_back(node_of(row));
  root.ended = options.past->ended;
  return root;
}

}  // namespace

Session::Session(SessionOptions options, storage::Recorder& recorder)
    : options_(std::move(options)),
      recorder_(recorder),
      root_(root_options(options_), *this),
      gathering_(options_.plan.gathering),
      rows_(options_.queue, recorder, *this),
      control_(options_.control_fd) {}

void Session::on_start(overlay::Network& network, Nanos now) {
  now_ = now;
  network_ = &network;
  epoch_ = options_.past ? options_.past->epoch_ns : now;
  wire::Control control;
  control.enabled = true;
  control.chunks = options_.plan.chunks;
  control.window_ns = options_.plan.window;
  control.epoch_ns = epoch_;
  control.facts_ns = options_.plan.facts_every;
  control.services = options_.plan.services;
  control.streams = options_.streams;
  control.streams_fixed = true;
  control.facts_at_once = options_.plan.choice.policy == placement::Policy::kFuzzy;
  rows_.start(epoch_, now);
  root_.start(network, control, now);
  if (options_.past) recall_processes(now);
  if (control_.fd() >= 0) network.watch(control_.fd());
  if (recorder_.fd() >= 0) network.watch(recorder_.fd());
  schedule(now);
}

void Session::recall_processes(Nanos now) {
  for (const storage::PastProcess& past : options_.past->processes) {
    wire::ProcessRow row;
    row.lane = past.lane;
    row.initialised = past.initialised;
    row.world_key = past.world_key;
    row.world_size = past.world_size;
    row.rank = past.rank;
    gathering_.process_seen(past.leaf, row, now);
  }
  if (!options_.past->processes.empty()) note_record();
}

// ---- the tree ----

void Session::on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) {
  now_ = now;
  root_.on_link_up(link, peer, now);
}

void Session::on_connect_failed(NodeId, const Error&, Nanos) {}  // The root connects to nobody.

void Session::on_link_down(overlay::LinkId link, const Error& why, Nanos now) {
  now_ = now;
  root_.on_link_down(link, why, now);
  end_when_done(now);
  schedule(now);
}

void Session::on_message(overlay::LinkId link, wire::Message message, Nanos now) {
  now_ = now;
  root_.on_message(link, std::move(message), now);
  place_when_gathered(now);
  end_when_done(now);
  schedule(now);
}

void Session::on_node(const OverlayNode& node) {
  storage::NodeRow row = row_of(node);
  row.at_ns = run_time(now_);
  rows_.add(std::move(row));
}

// The tree waits for hosts, not for programs.
void Session::on_joined(LeafId leaf, Nanos now) {
  if (root_.overlay().find(leaf)->is_host()) gathering_.host_joined(leaf, now);
}

void Session::on_lost(const OverlayNode& leaf) {
  const std::string who = leaf.is_host() ? "host " + leaf.host : "the program on " + leaf.host;
  rows_.add(storage::HostLost{leaf.leaf, who + " was silent"});
  note(leaf, leaf.is_host() ? Level::kError : Level::kWarn, "is silent");
}

void Session::on_found(const OverlayNode& leaf) {
  rows_.add(storage::HostLost{leaf.leaf, ""});
  note(leaf, Level::kWarn, "heard of again");
}

void Session::on_launch(const OverlayNode& comm_process) {
  const NodeId id = comm_process.id;
  auto fds =
      options_.launcher->start(id, comm_process.level, comm_process.host, network_->addresses());
  if (!fds) return root_.comm_process_ended(id, fds.error().message);
  for (const int fd : *fds) network_->watch(fd);
}

void Session::on_comm_process_lost(const OverlayNode& node, const std::string& why) {
  note(node, Level::kError, "lost: " + why);
}

void Session::on_healed(const OverlayNode& node) {
  note(node, Level::kWarn, "found another parent");
}

// Stores the root's own notices about a node together with the node's notices.
void Session::note(const OverlayNode& about, Level level, const std::string& text) {
  wire::Notice notice;
  notice.role = about.role;
  notice.host = about.host;
  notice.pid = about.pid;
  notice.error = level == Level::kError;
  notice.text = text;
  const Nanos at_ns = run_time(now_);
  rows_.add(storage::NoticeRow{std::move(notice), at_ns});
}

void Session::on_link_report(const wire::LinkReport& report, Nanos now) {
  rows_.add(storage::LinkRow{report, run_time(now)});
  const OverlayNode* node = root_.overlay().find(report.node);
  if (node == nullptr || !node->is_host() || report.error_ns < 0) return;
  storage::ClockRow clock;
  clock.leaf = node->leaf;
  clock.at_ns = run_time(now);
  clock.offset_ns = report.offset_ns;
  clock.error_ns = report.error_ns;
  rows_.add(clock);
}

// Stored with the end of the window in which the message came. Names and values are not trusted.
void Session::on_host_facts(const wire::HostFacts& host, Nanos now) {
  const OverlayNode* node = root_.overlay().find(host.leaf);
  if (node == nullptr || !node->is_host()) return;
  wire::HostFacts known;
  known.leaf = host.leaf;
  for (const wire::HostFact& it : host.facts) {
    const auto fact = placement::find_fact(it.name);
    if (!fact || *fact == placement::Fact::kProcesses) continue;
    if (!placement::is_possible(*fact, it.value)) continue;
    known.facts.push_back(it);
    if (!root_.is_placed()) facts_[host.leaf].set(*fact, it.value);
  }
  const Nanos windows = (run_time(now) + options_.plan.window - 1) / options_.plan.window;
  rows_.add(storage::HostFactsRow{std::move(known), windows * options_.plan.window});
}

void Session::on_notice(const wire::Notice& notice, Nanos now) {
  const std::string from = std::string(wire::role_name(notice.role)) + " " +
                           std::to_string(notice.pid) + " on " + notice.host;
  const Level level = notice.error ? Level::kError : Level::kWarn;
  if (notice.dropped == 0) {
    log(level, notice.text, {{"from", from}});
  } else {
    log(level, notice.text, {{"from", from}, {"dropped_before", notice.dropped}});
  }
  // An age above the run's duration is wrong, and a negative time would be sorted before the run's
  // start.
  rows_.add(storage::NoticeRow{notice, std::max<Nanos>(0, run_time(now) - notice.age_ns)});
}

// The node forwards the waves unmerged, so no data is lost.
void Session::on_stream_refused(const wire::StreamRefused& refused) {
  const auto named = std::ranges::find(options_.streams, refused.stream, &wire::StreamSpec::id);
  const std::string name = named == options_.streams.end() ? "?" : named->name;
  log(Level::kError, "a host cannot take part in a stream",
      {{"stream", name}, {"host", refused.host}, {"why", refused.reason}});
  const OverlayNode* node = root_.overlay().find(refused.node);
  if (node == nullptr) return;
  note(*node, Level::kError, "cannot take part in the stream " + name + ": " + refused.reason);
}

void Session::place_when_gathered(Nanos now) {
  if (root_.is_placed() || exit_code_ || !gathering_.complete(now)) return;
  if (root_.awaits_return()) return;
  if (facts_are_awaited(now)) return;
  std::map<LeafId, KnownHost> known;
  for (const auto& [id, node] : root_.overlay().nodes()) {
    if (node.is_host()) known[node.leaf] = {gathering_.processes_on(node.leaf), facts_[node.leaf]};
  }
  if (options_.plan.choice.policy == placement::Policy::kFuzzy) note_placement(known, now);
  facts_.clear();
  root_.place(known, now);
}

// Even placement waits for nothing.
bool Session::facts_are_awaited(Nanos now) {
  if (options_.plan.choice.policy != placement::Policy::kFuzzy) return false;
  if (facts_deadline_ == 0) facts_deadline_ = now + options_.facts_patience;
  if (now >= facts_deadline_) return false;
  const auto& nodes = root_.overlay().nodes();
  return std::any_of(nodes.begin(), nodes.end(), [this](const auto& entry) {
    const OverlayNode& node = entry.second;
    return node.is_host() && node.state == NodeState::kAttached && !facts_.contains(node.leaf);
  });
}

// Stores the facts that the placement uses with one common time, together with the numbers of
// processes. `xylem place --recorded` finds the facts by these numbers.
void Session::note_placement(const std::map<LeafId, KnownHost>& known, Nanos now) {
  using placement::Fact;
  for (const auto& [leaf, host] : known) {
    wire::HostFacts judged;
    judged.leaf = leaf;
    for (const Fact fact : placement::kAllFacts) {
      const auto value = host.facts[fact];
      if (value) judged.facts.push_back({std::string(to_text(fact)), *value});
    }
    if (judged.facts.empty()) {
      log(Level::kWarn,
          "the host has not measured itself in time; it is placed without measurements",
          {{"host", root_.overlay().find(leaf)->host}});
      note(*root_.overlay().find(leaf), Level::kWarn,
           "had not measured its host when the tree was placed");
    }
    judged.facts.push_back(
        {std::string(to_text(Fact::kProcesses)), static_cast<double>(host.processes)});
    rows_.add(storage::HostFactsRow{std::move(judged), run_time(now)});
  }
}

// ---- store ----

// A front end gives each leaf its id. If a front end died before it stored an id, a child reports
// the leaf below itself.
bool Session::is_of_this_run(const wire::PacketId& id) const {
  const bool is_of_program = raw(id.stream) >= raw(wire::kFirstToolStream);
  const auto& streams = options_.streams;
  if (is_of_program &&
      std::ranges::find(streams, id.stream, &wire::StreamSpec::id) == streams.end()) {
    return false;
  }
  return !id.sources.empty() && root_.knows(id.sources);
}

void Session::refuse(const wire::PacketId& id) {
  if (++strange_packets_ > 1) return;
  const std::string leaves = id.sources.to_string().substr(0, kMaxSources);
  log(Level::kWarn, "a packet is not stored: this run has no such stream or leaf",
      {{"stream", id.stream}, {"leaves", leaves}});
  note(*root_.overlay().find(kFrontEndNode), Level::kWarn,
       "a packet of stream " + std::to_string(raw(id.stream)) + ", leaves " + leaves +
           ", is not of this run and not stored");
}

void Session::tell_refused() {
  if (strange_packets_ <= 1) return;
  log(Level::kWarn, "packets were not stored: this run has no such streams or leaves",
      {{"packets", strange_packets_}});
  note(*root_.overlay().find(kFrontEndNode), Level::kWarn,
       std::to_string(strange_packets_) + " packets were not of this run and not stored");
}

void Session::on_packet(wire::Packet packet, Nanos now) {
  if (!is_of_this_run(packet.id)) return refuse(packet.id);
  if (packet.id.stream == wire::kRegistrationStream) note_registration(packet, now);
  const bool is_of_program = raw(packet.id.stream) >= raw(wire::kFirstToolStream);
  if (is_of_program || packet.id.stream == wire::kSeriesStream) note_record();
  rows_.add_packet(std::move(packet), now);
}

void Session::note_registration(const wire::Packet& packet, Nanos now) {
  auto registration = wire::decode_registration(packet.payload);
  if (!registration || packet.id.sources.count() != 1) return;
  const LeafId leaf{static_cast<std::uint32_t>(packet.id.sources.intervals().front().first)};
  for (const wire::ProcessRow& process : registration->processes) {
    gathering_.process_seen(leaf, process, now);
  }
  if (!registration->processes.empty()) note_record();
}

void Session::note_record() {
  if (!std::exchange(outcome_.holds_something, true)) options_.on_first_record();
}

void Session::on_settled(const wire::Acknowledgement& answer, const IntervalSet& ended) {
  root_.ended(ended);
  root_.acknowledge(answer);
}

void Session::on_superseded(const Error& why) {
  log(Level::kError, "this front end ends", {{"why", why.message}});
  is_over_ = true;
  outcome_.trouble = why.message;
  network_->stop(kReplaced);
}

// The root has no parent; its "link" is the writing to the store.
void Session::report_itself(Nanos now) {
  next_report_ = now + kReportInterval;
  wire::LinkReport report = rows_.take_report(now);
  report.node = kFrontEndNode;
  report.refused = network_->refused();
  rows_.add(storage::LinkRow{report, run_time(now)});
}

// ---- end ----

void Session::on_readable(int fd, Nanos now) {
  now_ = now;
  if (fd == recorder_.fd()) {
    rows_.on_recorded(now);
    end_when_done(now);
    schedule(now);
  } else if (fd == control_.fd()) {
    read_control(now);
  } else if (const auto heard =
                 options_.launcher == nullptr ? std::nullopt : options_.launcher->hear(fd)) {
    if (heard->is_over) network_->unwatch(fd);
    if (heard->ended && !heard->why.empty()) root_.comm_process_ended(*heard->ended, heard->why);
    schedule(now);
  }
}

void Session::read_control(Nanos now) {
  const auto commands = control_.read();
  if (control_.is_closed()) network_->unwatch(control_.fd());
  for (const ControlChannel::Command& command : commands) {
    if (command.abandons) outcome_.abandoned = true;
    finish(command.exit_code, now);
  }
}

void Session::show_life(Nanos now) {
  if (!exit_code_ || control_.fd() < 0 || now < next_sign_of_life_) return;
  if (rows_.writing_for(now) > kSignOfLife) return;
  next_sign_of_life_ = now + kSignOfLife;
  control_.send_alive();
}

void Session::finish(int exit_code, Nanos now) {
  if (exit_code_) return;
  exit_code_ = exit_code;
  finishing_since_ = now;
  rows_.begin_end(now);
  broadcast_finish_when_ready(now);
  end_when_done(now);
  schedule(now);
}

// A short job may end before its agent has connected. So the session waits for agents that are
// expected, and no data of a short job is missing. A successor without stored data does not know
// which agents to expect. Agents of the dead front end retry at growing intervals, even if their
// processes and folders are gone. The successor waits for these agents as long as for a host
// without a link.
void Session::broadcast_finish_when_ready(Nanos now) {
  if (!exit_code_ || root_.control().finish) return;
  const bool is_successor = options_.past && options_.past->front_ends > 1;
  const bool knows_nobody = is_successor && root_.overlay().leaves().empty();
  const bool somebody_is_missing =
      gathering_.anyone() ? gathering_.worlds() > 0 && !gathering_.worlds_complete()
                          : options_.agent_expected() || options_.remote || knows_nobody;
  const Nanos patience = is_successor ? std::max(gathering_.newcomer_limit(), options_.lost_limit)
                                      : gathering_.newcomer_limit();
  const bool waited = now - finishing_since_ >= patience;
  if (somebody_is_missing && !waited && !outcome_.abandoned) return;
  root_.finish();
  rows_.drain(now);
}

void Session::end_when_done(Nanos now) {
  if (!exit_code_ || is_over_) return;
  broadcast_finish_when_ready(now);
  rows_.give_up_if_full(now);
  if (!root_.control().finish) return;
  const IntervalSet open = root_.open_leaves();
  if (open.empty() && !root_.has_links() && !root_.awaits_return()) {
    end(now, "");
    return;
  }
  const Nanos progress = std::max({finishing_since_, rows_.last_progress(), root_.last_change()});
  if (now - progress < options_.finish_limit) return;
  std::string trouble;
  for (const auto& run : open.intervals()) {
    for (auto number = run.first; number < run.end; ++number) {
      const LeafId leaf{static_cast<std::uint32_t>(number)};
      const OverlayNode& node = *root_.overlay().find(leaf);
      trouble += (trouble.empty() ? "" : ", ") +
                 ((node.is_host() ? "host " : "a program on ") + node.host);
      root_.give_up(leaf);
    }
  }
  if (!trouble.empty()) trouble += " did not report its end";
  end(now, trouble);
}

void Session::end(Nanos now, std::string trouble) {
  is_over_ = true;
  tell_refused();
  report_itself(now);
  root_.close(now);
  outcome_.trouble = std::move(trouble);
  outcome_.exit_code = *exit_code_;
  rows_.end(*exit_code_, now);
}

void Session::on_end_recorded(storage::Recorded done) {
  outcome_.hosts = root_.overlay().host_count();
  outcome_.ranks = gathering_.ranks();
  outcome_.account = std::move(done.account);
  if (done.failure && done.failure->code == Code::kSuperseded) return on_superseded(*done.failure);
  if (!done.account_is_stored) {
    outcome_.unstored = done.failure->message;
    done.failure.reset();
    done.end_failure.reset();
  }
  if (done.failure) outcome_.trouble = done.failure->message;
  if (done.end_failure) outcome_.trouble = done.end_failure->message;
  if (outcome_.trouble.empty()) outcome_.trouble = late_leaves();
  if (outcome_.trouble.empty() && gathering_.worlds() > 0 && !gathering_.worlds_complete()) {
    outcome_.trouble = gathering_.missing_ranks();
  }
  if (outcome_.trouble.empty()) outcome_.trouble = gathering_.unwatched_ranks();
  network_->stop(0);
}

// No leaf was open when the session ended the run. Leaves that are open now have joined while the
// store was writing the end.
std::string Session::late_leaves() const {
  std::string text;
  const IntervalSet open = root_.open_leaves();
  for (const auto& run : open.intervals()) {
    for (auto number = run.first; number < run.end; ++number) {
      const OverlayNode& node = *root_.overlay().find(LeafId{static_cast<std::uint32_t>(number)});
      text +=
          (text.empty() ? "joined after the end of the run, so its data is not stored: " : ", ") +
          ((node.is_host() ? "host " : "a program on ") + node.host);
    }
  }
  return text;
}

void Session::on_timer(Nanos now) {
  now_ = now;
  rows_.on_timer(now);
  root_.on_timer(now);
  place_when_gathered(now);
  if (now >= next_report_) report_itself(now);
  show_life(now);
  end_when_done(now);
  schedule(now);
}

void Session::schedule(Nanos now) {
  if (is_over_) return;
  Nanos next = std::min(now + kLookInterval, rows_.next_write());
  if (!root_.is_placed() && gathering_.anyone()) {
    next = std::min(next, facts_deadline_ == 0 ? gathering_.complete_at() : facts_deadline_);
  }
  network_->set_timer(std::max(next, now + kMillisecond));
}

}  // namespace xylem::frontend
