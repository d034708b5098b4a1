#include "frontend/session.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "placement/facts.h"
#include "wire/registration.h"
#include "wire/tombstone.h"

namespace xylem::frontend {
namespace {

constexpr Nanos kRetryCommit = 1 * kSecond;
// At the end all nodes wait for the store, so the pause is short. A full store is not retried for
// long.
constexpr Nanos kRetryAtEnd = 200 * kMillisecond;
constexpr const char* kNoRoom = "there was no room left on the disk of the store";
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

bool is_sample(const storage::Row& row) {
  return std::holds_alternative<storage::LinkRow>(row) ||
         std::holds_alternative<storage::ClockRow>(row) ||
         std::holds_alternative<storage::HostFactsRow>(row) ||
         std::holds_alternative<storage::NoticeRow>(row);
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
      gathering_(options_.plan.gathering) {}

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
  root_.start(network, control, now);
  if (options_.past) recall_processes(now);
  last_progress_ = now;
  next_commit_ = now + options_.commit_interval;
  if (options_.control_fd >= 0) network.watch(options_.control_fd);
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
  keep(std::move(row));
}

// The tree waits for hosts, not for programs.
void Session::on_joined(LeafId leaf, Nanos now) {
  if (root_.overlay().find(leaf)->is_host()) gathering_.host_joined(leaf, now);
}

void Session::on_lost(const OverlayNode& leaf) {
  const std::string who = leaf.is_host() ? "host " + leaf.host : "the program on " + leaf.host;
  keep(storage::HostLost{leaf.leaf, who + " was not heard of any more"});
  note(leaf, leaf.is_host() ? Level::kError : Level::kWarn, "not heard of any more");
}

void Session::on_found(const OverlayNode& leaf) {
  keep(storage::HostLost{leaf.leaf, ""});
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
  keep(storage::NoticeRow{std::move(notice), at_ns});
}

void Session::on_link_report(const wire::LinkReport& report, Nanos now) {
  keep(storage::LinkRow{report, run_time(now)});
  const OverlayNode* node = root_.overlay().find(report.node);
  if (node == nullptr || !node->is_host() || report.error_ns < 0) return;
  storage::ClockRow clock;
  clock.leaf = node->leaf;
  clock.at_ns = run_time(now);
  clock.offset_ns = report.offset_ns;
  clock.error_ns = report.error_ns;
  keep(clock);
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
  keep(storage::HostFactsRow{std::move(known), windows * options_.plan.window});
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
  keep(storage::NoticeRow{notice, std::max<Nanos>(0, run_time(now) - notice.age_ns)});
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
    keep(storage::HostFactsRow{std::move(judged), run_time(now)});
  }
}

// ---- store ----

// If the store is too slow for the data, samples about the tree are dropped.
void Session::keep(storage::Row row) {
  if (is_sample(row) && (gives_up_ || waiting_bytes_ > options_.waiting_bytes)) return;
  const auto* packet = std::get_if<wire::Packet>(&row);
  waiting_bytes_ += sizeof row + (packet != nullptr ? packet->payload.size() : 0);
  waiting_.rows.push_back(std::move(row));
}

void Session::note_store_trouble(const Error& error) {
  if (store_trouble_ == error.message) return;
  store_trouble_ = error.message;
  log(Level::kError, "the store does not take data, the hosts keep it for now",
      {{"why", error.message}});
}

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
  if (waiting_bytes_ > options_.waiting_bytes) {
    if (!std::exchange(told_slow_, true)) {
      log(Level::kWarn, "the store is too slow; the hosts keep the data that waits");
    }
    refused_.insert(packet.id.sources);
    return;
  }
  if (gives_up_) {
    wire::Acknowledgement answer;
    if (wire::is_end(packet)) last_progress_ = now;
    give_up(std::move(packet), answer);
    return root_.acknowledge(answer);
  }
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
  if (!registration->processes.empty()) note_record();
}

void Session::note_record() {
  if (!std::exchange(outcome_.holds_something, true)) options_.on_first_record();
}

void Session::record(Nanos now) {
  if (recording_ || is_over_ || gives_up_) return;
  // At the end of the run all nodes wait for acknowledgements. So the next commit begins at once,
  // with all data that came during the last commit.
  next_commit_ = root_.control().finish ? now : now + options_.commit_interval;
  storage::Batch batch = std::exchange(failed_, {});
  if (batch.rows.empty()) {
    batch = std::exchange(waiting_, {});
    recording_bytes_ = std::exchange(waiting_bytes_, 0);
  }
  if (batch.rows.empty()) return;
  recording_since_ = now;
  if (batch.at_ns == 0) batch.at_ns = run_time(now);
  recording_ = true;
  recorder_.record(std::move(batch));
  take_recorded(now);
}

void Session::take_recorded(Nanos now) {
  auto done = recorder_.take();
  if (!done) return;
  recording_ = false;
  longest_commit_ns_ = std::max(longest_commit_ns_, now - recording_since_);
  if (end_is_recorded_) return ended(*std::move(done));
  acknowledge(*std::move(done), now);
  if (is_over_ && !is_replaced_) record_end(now);
}

void Session::acknowledge(storage::Recorded done, Nanos now) {
  if (done.failure && done.failure->code == Code::kSuperseded) return give_way(*done.failure);
  if (done.failure) {
    note_store_trouble(*done.failure);
    failed_ = std::move(done.batch);
    next_commit_ = now + (root_.control().finish ? kRetryAtEnd : kRetryCommit);
    is_full_ = done.failure->code == Code::kExhausted;
    give_up_when_full(now);
    return;
  }
  is_full_ = false;
  for (const std::string& sentence : done.refused) {
    log(Level::kError, "a packet was not taken", {{"why", sentence}});
  }
  if (!store_trouble_.empty()) log(Level::kWarn, "the store takes data again");
  store_trouble_.clear();
  stored_packets_ += done.stored.size();
  stored_bytes_ += recording_bytes_;
  root_.ended(done.ended);
  if (!done.stored.empty()) last_progress_ = now;
  wire::Acknowledgement answer{std::move(done.stored), std::move(done.missing)};
  ask_for_refused(answer);
  root_.acknowledge(answer);
}

// Without a request, hosts would resend the dropped packets, but after longer and longer pauses.
void Session::ask_for_refused(wire::Acknowledgement& answer) {
  if (refused_.empty() || waiting_bytes_ > options_.waiting_bytes / 2) return;
  wire::PacketId everything;
  everything.stream = wire::kEveryStream;
  everything.wave_end = 1;
  everything.sources = std::exchange(refused_, {});
  answer.resend.push_back(std::move(everything));
}

// Gives up all waiting and all later packets. The tombstones are stored together with the end of
// the run, because each transaction needs space.
void Session::give_up_when_full(Nanos now) {
  if (gives_up_ || !is_full_ || recording_ || is_over_ || !root_.control().finish) return;
  if (now - finishing_since_ < options_.full_limit) return;
  gives_up_ = true;
  log(Level::kError, "the store is full: data that is not stored is counted as lost");
  storage::Batch batch = std::exchange(failed_, {});
  std::ranges::move(std::exchange(waiting_, {}).rows, std::back_inserter(batch.rows));
  waiting_bytes_ = 0;
  wire::Acknowledgement answer;
  for (storage::Row& row : batch.rows) {
    if (auto* packet = std::get_if<wire::Packet>(&row)) {
      give_up(std::move(*packet), answer);
    } else {
      keep(std::move(row));
    }
  }
  last_progress_ = now;
  ask_for_refused(answer);
  root_.acknowledge(answer);
}

void Session::give_up(wire::Packet packet, wire::Acknowledgement& answer) {
  answer.stored.push_back(packet.id);
  if (wire::is_end(packet)) root_.ended(packet.id.sources);
  if (wire::may_be_given_up(packet)) packet = wire::make_tombstone(packet, kNoRoom);
  keep(std::move(packet));
}

void Session::give_way(const Error& why) {
  log(Level::kError, "this front end ends", {{"why", why.message}});
  is_over_ = true;
  is_replaced_ = true;
  outcome_.trouble = why.message;
  network_->stop(kReplaced);
}

// The root has no parent; its "link" is the writing to the store.
void Session::report_itself(Nanos now) {
  next_report_ = now + kReportInterval;
  wire::LinkReport report;
  report.node = kFrontEndNode;
  report.queue_bytes = waiting_bytes_ + (recording_ ? recording_bytes_ : 0);
  report.sent_bytes = stored_bytes_;
  report.sent_packets = stored_packets_;
  const Nanos under_way = recording_ ? now - recording_since_ : 0;
  report.round_trip_ns = std::max(std::exchange(longest_commit_ns_, 0), under_way);
  report.refused = network_->refused();
  keep(storage::LinkRow{report, run_time(now)});
}

// ---- end ----

void Session::on_readable(int fd, Nanos now) {
  now_ = now;
  if (fd == recorder_.fd()) {
    take_recorded(now);
    if (waiting_bytes_ >= options_.commit_bytes && failed_.rows.empty()) record(now);
    end_when_done(now);
    schedule(now);
  } else if (fd == options_.control_fd) {
    read_control(now);
  } else if (const auto heard =
                 options_.launcher == nullptr ? std::nullopt : options_.launcher->hear(fd)) {
    if (heard->is_over) network_->unwatch(fd);
    if (heard->ended && !heard->why.empty()) root_.comm_process_ended(*heard->ended, heard->why);
    schedule(now);
  }
}

void Session::read_control(Nanos now) {
  std::array<char, 256> piece;
  const ssize_t size = ::read(options_.control_fd, piece.data(), piece.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    // The process that has started this front end is gone. So nobody waits for the job any more.
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
    if (line == "abandon") {
      outcome_.abandoned = true;
      finish(code, now);
    }
    if (!line.starts_with(kFinish)) continue;
    std::from_chars(line.data() + kFinish.size(), line.data() + line.size(), code);
    finish(code, now);
  }
}

void Session::show_life(Nanos now) {
  if (!exit_code_ || options_.control_fd < 0 || now < next_sign_of_life_) return;
  if (recording_ && now - recording_since_ > kSignOfLife) return;
  next_sign_of_life_ = now + kSignOfLife;
  constexpr std::string_view kAlive = "alive\n";
  // If nobody reads the message, nobody waits for it.
  [[maybe_unused]] const ssize_t sent =
      ::send(options_.control_fd, kAlive.data(), kAlive.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Session::finish(int exit_code, Nanos now) {
  if (exit_code_) return;
  exit_code_ = exit_code;
  finishing_since_ = now;
  last_progress_ = now;
  next_commit_ = std::min(next_commit_, now + kRetryAtEnd);
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
  next_commit_ = std::min(next_commit_, now);
}

void Session::end_when_done(Nanos now) {
  if (!exit_code_ || is_over_) return;
  broadcast_finish_when_ready(now);
  give_up_when_full(now);
  if (!root_.control().finish) return;
  const IntervalSet open = root_.open_leaves();
  if (open.empty() && !root_.has_links() && !root_.awaits_return()) {
    end(now, "");
    return;
  }
  if (now - std::max(last_progress_, root_.last_change()) < options_.finish_limit) return;
  std::string trouble;
  for (const auto& run : open.intervals()) {
    for (auto number = run.first; number < run.end; ++number) {
      const LeafId leaf{static_cast<std::uint32_t>(number)};
      const OverlayNode& node = *root_.overlay().find(leaf);
      trouble += (trouble.empty() ? "no end was heard from " : ", ") +
                 ((node.is_host() ? "host " : "a program on ") + node.host);
      root_.give_up(leaf);
    }
  }
  end(now, trouble);
}

void Session::end(Nanos now, std::string trouble) {
  is_over_ = true;
  tell_refused();
  report_itself(now);
  root_.close(now);
  outcome_.trouble = std::move(trouble);
  record_end(now);
}

// If the store works on a batch, the end comes after it: take_recorded() then calls this function
// again.
void Session::record_end(Nanos now) {
  if (recording_) return;
  storage::Batch batch = std::exchange(failed_, {});
  std::move(waiting_.rows.begin(), waiting_.rows.end(), std::back_inserter(batch.rows));
  waiting_ = {};
  batch.gives_up = gives_up_;
  batch.at_ns = run_time(now);
  batch.end = storage::RunEnd{*exit_code_, realtime_now()};
  recording_ = true;
  end_is_recorded_ = true;
  recorder_.record(std::move(batch));
  take_recorded(now);
}

void Session::ended(storage::Recorded done) {
  outcome_.hosts = root_.overlay().host_count();
  outcome_.ranks = gathering_.ranks();
  outcome_.account = std::move(done.account);
  if (done.failure && done.failure->code == Code::kSuperseded) return give_way(*done.failure);
  if (!done.account_is_stored) {
    outcome_.unstored = done.failure->message;
    done.failure.reset();
    done.end_failure.reset();
  }
  if (done.failure) outcome_.trouble = done.failure->message;
  if (done.end_failure) outcome_.trouble = done.end_failure->message;
  if (outcome_.trouble.empty() && gathering_.worlds() > 0 && !gathering_.worlds_complete()) {
    outcome_.trouble = gathering_.missing_ranks();
  }
  if (outcome_.trouble.empty()) outcome_.trouble = gathering_.unwatched_ranks();
  network_->stop(0);
}

void Session::on_timer(Nanos now) {
  now_ = now;
  if (now >= next_commit_) record(now);
  root_.on_timer(now);
  place_when_gathered(now);
  if (now >= next_report_) report_itself(now);
  show_life(now);
  end_when_done(now);
  schedule(now);
}

void Session::schedule(Nanos now) {
  if (is_over_) return;
  Nanos next = now + kLookInterval;
  const bool something_waits = !waiting_.rows.empty() || !failed_.rows.empty();
  if (something_waits && !recording_ && !gives_up_) next = std::min(next, next_commit_);
  if (!root_.is_placed() && gathering_.anyone()) {
    next = std::min(next, facts_deadline_ == 0 ? gathering_.complete_at() : facts_deadline_);
  }
  network_->set_timer(std::max(next, now + kMillisecond));
}

}  // namespace xylem::frontend
