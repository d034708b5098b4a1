#include "tests/model/simulation.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace xylem::model {
namespace {

constexpr Nanos kShortest = 20 * kMicrosecond;
constexpr Nanos kUsual = 500 * kMicrosecond;
constexpr Nanos kHandshakeLimit = 3 * kSecond;
constexpr std::uint32_t kWorld = 0xffffffff;

}  // namespace

struct Simulation::End {
  enum class State { kComing, kUp, kDown };
  std::uint32_t process = 0;
  State state = State::kComing;
  overlay::Peer peer;
  Nanos last_arrival = 0;          // Of what is under way to this end.
  Nanos silent_since = 0;          // Nothing can have arrived since; 0: pings come.
  bool deaf = false;               // What is sent to this end is lost, and it hears nothing.
  bool down_is_due = false;        // An event will say so.
  std::deque<std::uint32_t> held;  // Messages to this end, while the path is cut.
  std::size_t held_bytes = 0;
};

struct Simulation::Connection {
  End ends[2];  // 0 connected, 1 accepted.
};

// The process's face of the world.
class Simulation::ProcessNetwork final : public overlay::Network {
 public:
  ProcessNetwork(Simulation& world, std::uint32_t self) : world_(world), self_(self) {}

  void send(overlay::LinkId link, wire::Message message) override {
    world_.send(self_, link, std::move(message));
  }
  void connect(const wire::Parent& parent, const wire::Hello& hello) override {
    world_.connect(self_, parent, hello);
  }
  void close(overlay::LinkId link, const std::string&) override { world_.close(self_, link); }
  overlay::LinkStatus status(overlay::LinkId link) const override;
  void set_upward(overlay::LinkId) override {}
  void watch(int) override {}
  void unwatch(int) override {}
  void set_timer(Nanos when) override;
  std::vector<wire::Address> addresses() const override;
  std::uint64_t refused() const override { return 0; }
  void stop(int exit_code) override;

 private:
  Simulation& world_;
  std::uint32_t self_;
};

struct Simulation::Process {
  std::uint32_t number = 0;
  HostNumber host{};
  std::uint16_t port = 0;
  std::unique_ptr<overlay::Node> node;
  std::unique_ptr<ProcessNetwork> network;
  bool alive = true;
  bool frozen = false;
  std::optional<int> stopped;
  Nanos timer = 0;        // When it is due; 0: none.
  Nanos timer_event = 0;  // The earliest event that will look; 0: none.
  std::deque<Event> inbox;
  std::set<std::uint32_t> connections;
};

overlay::LinkStatus Simulation::ProcessNetwork::status(overlay::LinkId link) const {
  const auto number = static_cast<std::uint64_t>(link);
  const Connection& connection = *world_.connections_[number >> 1];
  overlay::LinkStatus status;
  status.clock_known = true;
  status.queue_bytes = connection.ends[1 - (number & 1)].held_bytes;
  return status;
}

void Simulation::ProcessNetwork::set_timer(Nanos when) {
  Process& process = *world_.processes_[self_];
  process.timer = std::max<Nanos>(when, 1);
  if (process.timer_event != 0 && process.timer_event <= process.timer) return;
  process.timer_event = std::max(process.timer, world_.now_);
  world_.push({.at = process.timer_event, .kind = Kind::kTimer, .process = self_});
}

std::vector<wire::Address> Simulation::ProcessNetwork::addresses() const {
  const Process& process = *world_.processes_[self_];
  if (process.port == 0) return {};
  return {address(process.host, process.port)};
}

void Simulation::ProcessNetwork::stop(int exit_code) {
  Process& process = *world_.processes_[self_];
  if (!process.stopped) process.stopped = exit_code;
}

Simulation::Simulation(std::uint64_t seed) : random_(seed) {}
Simulation::~Simulation() = default;

// ---- processes ----

wire::Address Simulation::address(HostNumber host, std::uint16_t port) {
  wire::Address address;
  address.host = std::to_string(static_cast<std::uint32_t>(host));
  address.port = port;
  return address;
}

ProcessId Simulation::start(HostNumber host, std::unique_ptr<overlay::Node> node,
                            std::uint16_t port) {
  const auto number = static_cast<std::uint32_t>(processes_.size());
  auto process = std::make_unique<Process>();
  process->number = number;
  process->host = host;
  process->port = port;
  process->node = std::move(node);
  process->network = std::make_unique<ProcessNetwork>(*this, number);
  processes_.push_back(std::move(process));
  if (port != 0) listeners_[port] = number;
  Process& started = *processes_.back();
  started.node->on_start(*started.network, now_);
  after_node(started);
  return ProcessId{number};
}

bool Simulation::is_alive(ProcessId process) const {
  return process != kNoProcess && processes_[static_cast<std::uint32_t>(process)]->alive;
}
bool Simulation::is_frozen(ProcessId process) const {
  return processes_[static_cast<std::uint32_t>(process)]->frozen;
}
HostNumber Simulation::host_of(ProcessId process) const {
  return processes_[static_cast<std::uint32_t>(process)]->host;
}
overlay::Node& Simulation::node(ProcessId process) {
  return *processes_[static_cast<std::uint32_t>(process)]->node;
}

void Simulation::inside(ProcessId process, std::function<void(Nanos)> what) {
  if (!is_alive(process)) return;
  push({.at = now_,
        .process = static_cast<std::uint32_t>(process),
        .slot = new_call([this, what = std::move(what)] { what(now_); })});
}

// A Node that asked to stop is let go when its call has returned.
void Simulation::after_node(Process& process) {
  if (!process.stopped || !process.alive) return;
  const int code = *process.stopped;
  const std::uint32_t number = process.number;
  for (const std::uint32_t connection : std::set(process.connections)) {
    const int end = connections_[connection]->ends[0].process == number ? 0 : 1;
    close(number, overlay::LinkId{std::uint64_t{connection} << 1 | static_cast<unsigned>(end)});
  }
  process.alive = false;
  process.node.reset();
  process.inbox.clear();
  if (on_exit) on_exit(ProcessId{number}, code);
}

// ---- faults ----

void Simulation::kill(ProcessId id) {
  const auto number = static_cast<std::uint32_t>(id);
  Process& process = *processes_[number];
  if (!process.alive) return;
  process.alive = false;
  process.frozen = false;
  process.node.reset();
  process.inbox.clear();
  for (const std::uint32_t connection : std::set(process.connections)) {
    Connection& it = *connections_[connection];
    const int end = it.ends[0].process == number ? 0 : 1;
    it.ends[end].state = End::State::kDown;
    // The reset overtakes some of what is under way.
    End& other = it.ends[1 - end];
    const Nanos last = std::max(other.last_arrival, now_ + kShortest);
    if (!is_cut(process.host, processes_[other.process]->host)) {
      end_link(connection, 1 - end, random_.between(now_ + kShortest, last + kUsual));
    }
    update_silence(connection);
    retire_if_over(connection);
  }
}

void Simulation::freeze(ProcessId id) {
  Process& process = *processes_[static_cast<std::uint32_t>(id)];
  if (!process.alive) return;
  process.frozen = true;
  for (const std::uint32_t connection : process.connections) update_silence(connection);
}

void Simulation::thaw(ProcessId id) {
  Process& process = *processes_[static_cast<std::uint32_t>(id)];
  if (!process.alive || !process.frozen) return;
  process.frozen = false;
  for (const std::uint32_t connection : std::set(process.connections)) update_silence(connection);
  for (Event event : std::exchange(process.inbox, {})) {
    event.at = now_;
    push(event);
  }
}

void Simulation::lose_host(HostNumber host) {
  lost_hosts_.insert(host);
  for (const auto& process : processes_) {
    if (process->host != host || !process->alive) continue;
    process->alive = false;
    process->node.reset();
    process->inbox.clear();
    for (const std::uint32_t connection : std::set(process->connections)) {
      Connection& it = *connections_[connection];
      const int end = processes_[it.ends[0].process] == process ? 0 : 1;
      it.ends[end].state = End::State::kDown;
      update_silence(connection);
      retire_if_over(connection);
    }
  }
}

bool Simulation::is_cut(HostNumber from, HostNumber to) const {
  if (lost_hosts_.empty() && cuts_.empty()) return false;
  return lost_hosts_.contains(from) || lost_hosts_.contains(to) || cuts_.contains({from, to});
}

void Simulation::cut(HostNumber from, HostNumber to) {
  if (from == to) return;
  cuts_.insert({from, to});
  update_silence_of_all();
}

void Simulation::heal(HostNumber from, HostNumber to) {
  if (cuts_.erase({from, to}) != 0) update_silence_of_all();
}

void Simulation::heal_everything() {
  cuts_.clear();
  slowness_ = 0;
  for (std::uint32_t process = 0; process < processes_.size(); ++process) {
    thaw(ProcessId{process});
  }
  update_silence_of_all();
}

bool Simulation::break_link(bool half_open) {
  if (open_connections_.empty()) return false;
  const std::uint32_t number = open_connections_[random_(open_connections_.size())];
  Connection& connection = *connections_[number];
  for (End& end : connection.ends) end.deaf = true;
  const int first = static_cast<int>(random_(2));
  end_link(number, first, now_ + draw_delay());
  if (!half_open) end_link(number, 1 - first, now_ + draw_delay());
  update_silence(number);
  return true;
}

// ---- silence ----

void Simulation::update_silence_of_all() {
  for (const std::uint32_t connection : std::vector(open_connections_)) update_silence(connection);
}

// An end hears nothing while the path to it is cut, its peer is frozen, or gone without a word.
void Simulation::update_silence(std::uint32_t number) {
  Connection& connection = *connections_[number];
  for (int i = 0; i < 2; ++i) {
    End& end = connection.ends[i];
    const End& other = connection.ends[1 - i];
    const Process& peer = *processes_[other.process];
    const bool path_is_cut = is_cut(peer.host, processes_[end.process]->host);
    const bool silent = path_is_cut || peer.frozen || end.deaf || other.state == End::State::kDown;
    if (!path_is_cut && !end.held.empty()) release_held(number, 1 - i);
    if (!silent) {
      end.silent_since = 0;
    } else if (end.silent_since == 0) {
      end.silent_since = now_;
      look_for_silence(number, i);
    }
  }
}

// The last ping came up to a second ago.
void Simulation::look_for_silence(std::uint32_t number, int i) {
  End& end = connections_[number]->ends[i];
  if (end.state == End::State::kDown) return;
  const Nanos since = end.silent_since;
  const Nanos limit =
      now_ + overlay::kSilenceLimit - random_.between(0, overlay::kHeartbeatInterval);
  push({.at = limit, .process = end.process, .slot = new_call([this, number, i, since] {
                                               const End& then = connections_[number]->ends[i];
                                               if (then.silent_since == since)
                                                 end_link(number, i, now_);
                                             })});
}

void Simulation::release_held(std::uint32_t number, int from) {
  End& to = connections_[number]->ends[1 - from];
  for (const std::uint32_t slot : std::exchange(to.held, {})) {
    to.last_arrival = std::max(to.last_arrival, now_ + draw_delay());
    push({.at = to.last_arrival,
          .kind = Kind::kMessage,
          .end = static_cast<std::uint8_t>(1 - from),
          .process = to.process,
          .connection = number,
          .slot = slot});
  }
  to.held_bytes = 0;
}

// ---- links ----

Nanos Simulation::draw_delay() {
  const Nanos delay = random_.between(kShortest, kUsual);
  if (slowness_ == 0 || random_.one_in(2)) return delay;
  return delay + random_.between(0, slowness_);
}

void Simulation::fail_connect(std::uint32_t process, NodeId node, Nanos when) {
  push({.at = when, .kind = Kind::kConnectFailed, .process = process, .connection = raw(node)});
}

void Simulation::connect(std::uint32_t process, const wire::Parent& parent,
                         const wire::Hello& hello) {
  const std::uint16_t port = parent.addresses.empty() ? 0 : parent.addresses.front().port;
  const NodeId node = parent.node;
  push({.at = now_ + 2 * draw_delay(),
        .process = kWorld,
        .slot =
            new_call([this, process, port, hello, node] { arrive(process, port, hello, node); })});
}

void Simulation::arrive(std::uint32_t from, std::uint16_t port, const wire::Hello& hello,
                        NodeId node) {
  const Process& child = *processes_[from];
  if (!child.alive) return;
  const auto listener = listeners_.find(port);
  if (listener == listeners_.end()) return fail_connect(from, node, now_ + draw_delay());
  Process& parent = *processes_[listener->second];
  const bool unreachable = is_cut(child.host, parent.host) || is_cut(parent.host, child.host);
  if (unreachable || (parent.alive && parent.frozen)) {
    return fail_connect(from, node, now_ + kHandshakeLimit);
  }
  if (!parent.alive) return fail_connect(from, node, now_ + draw_delay());
  const auto number = static_cast<std::uint32_t>(connections_.size());
  auto connection = std::make_unique<Connection>();
  End& lower = connection->ends[0];
  End& upper = connection->ends[1];
  lower.process = from;
  lower.peer.node = node;
  lower.peer.role = node == kFrontEndNode ? wire::Role::kFrontEnd : wire::Role::kCommProcess;
  upper.process = listener->second;
  upper.peer.accepted = true;
  upper.peer.role = hello.role;
  upper.peer.node = hello.node;
  upper.peer.leaf = hello.leaf;
  upper.peer.level = hello.level;
  upper.peer.control_version = hello.control_version;
  upper.peer.host_key = hello.host_key;
  lower.last_arrival = now_ + draw_delay();  // The welcome.
  connections_.push_back(std::move(connection));
  open_connections_.push_back(number);
  processes_[from]->connections.insert(number);
  parent.connections.insert(number);
  push({.at = now_,
        .kind = Kind::kLinkUp,
        .end = 1,
        .process = upper.process,
        .connection = number});
  push({.at = lower.last_arrival,
        .kind = Kind::kLinkUp,
        .end = 0,
        .process = from,
        .connection = number});
}

void Simulation::send(std::uint32_t process, overlay::LinkId link, wire::Message message) {
  const auto id = static_cast<std::uint64_t>(link);
  const auto number = static_cast<std::uint32_t>(id >> 1);
  const auto from = static_cast<int>(id & 1);
  Connection& connection = *connections_[number];
  End& to = connection.ends[1 - from];
  if (connection.ends[from].state != End::State::kUp || connection.ends[from].down_is_due) return;
  if (to.state == End::State::kDown || to.deaf) return;
  if (may_send && !may_send(ProcessId{process}, message)) return;
  if (is_cut(processes_[process]->host, processes_[to.process]->host)) {
    if (const auto* packet = std::get_if<wire::Packet>(&message)) {
      to.held_bytes += packet->payload.size();
    }
    to.held.push_back(new_message(std::move(message)));
    return;
  }
  to.last_arrival = std::max(to.last_arrival, now_ + draw_delay());
  push({.at = to.last_arrival,
        .kind = Kind::kMessage,
        .end = static_cast<std::uint8_t>(1 - from),
        .process = to.process,
        .connection = number,
        .slot = new_message(std::move(message))});
}

// An orderly end: the peer gets what was sent, then the end.
void Simulation::close(std::uint32_t, overlay::LinkId link) {
  const auto id = static_cast<std::uint64_t>(link);
  const auto number = static_cast<std::uint32_t>(id >> 1);
  const auto self = static_cast<int>(id & 1);
  Connection& connection = *connections_[number];
  if (connection.ends[self].state == End::State::kDown) return;
  end_link(number, self, now_ + 1);
}

// The end learns at `when`; its peer, if it does not know yet, after what is under way.
void Simulation::end_link(std::uint32_t number, int i, Nanos when) {
  End& end = connections_[number]->ends[i];
  if (end.state == End::State::kDown || end.down_is_due) return;
  end.down_is_due = true;
  push({.at = when,
        .kind = Kind::kLinkDown,
        .end = static_cast<std::uint8_t>(i),
        .process = end.process,
        .connection = number});
}

void Simulation::link_up(std::uint32_t number, int i) {
  Connection& connection = *connections_[number];
  End& end = connection.ends[i];
  Process& process = *processes_[end.process];
  if (!process.alive || end.state != End::State::kComing || end.down_is_due) return;
  if (i == 0 && connection.ends[1].state != End::State::kUp) return link_down(number, 0);
  end.state = End::State::kUp;
  const overlay::LinkId link{std::uint64_t{number} << 1 | static_cast<unsigned>(i)};
  process.node->on_link_up(link, end.peer, now_);
  after_node(process);
}

void Simulation::link_down(std::uint32_t number, int i) {
  Connection& connection = *connections_[number];
  End& end = connection.ends[i];
  End& other = connection.ends[1 - i];
  if (end.state == End::State::kDown) return;
  const bool was_up = std::exchange(end.state, End::State::kDown) == End::State::kUp;
  Process& process = *processes_[end.process];
  // The other end hears of it after what is under way, or by silence.
  const bool heard = !other.deaf && !is_cut(process.host, processes_[other.process]->host);
  if (heard) end_link(number, 1 - i, std::max(other.last_arrival, now_) + draw_delay());
  update_silence(number);
  retire_if_over(number);
  if (!process.alive) return;
  const Error why{Code::kUnavailable, "the link is gone"};
  if (was_up) {
    const overlay::LinkId link{std::uint64_t{number} << 1 | static_cast<unsigned>(i)};
    process.node->on_link_down(link, why, now_);
  } else if (i == 0) {
    process.node->on_connect_failed(end.peer.node, why, now_);
  }
  after_node(process);
}

void Simulation::retire_if_over(std::uint32_t number) {
  for (const End& end : connections_[number]->ends) {
    if (end.state != End::State::kDown) return;
  }
  for (const End& end : connections_[number]->ends) {
    processes_[end.process]->connections.erase(number);
  }
  std::erase(open_connections_, number);
}

// ---- events ----

std::uint32_t Simulation::new_call(std::function<void()> what) {
  if (free_calls_.empty()) {
    calls_.push_back(std::move(what));
    return static_cast<std::uint32_t>(calls_.size() - 1);
  }
  const std::uint32_t slot = free_calls_.back();
  free_calls_.pop_back();
  calls_[slot] = std::move(what);
  return slot;
}

std::uint32_t Simulation::new_message(wire::Message message) {
  if (free_messages_.empty()) {
    messages_.push_back(std::move(message));
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }
  const std::uint32_t slot = free_messages_.back();
  free_messages_.pop_back();
  messages_[slot] = std::move(message);
  return slot;
}

void Simulation::at(Nanos when, std::function<void()> what) {
  push({.at = std::max(when, now_), .process = kWorld, .slot = new_call(std::move(what))});
}

void Simulation::push(Event event) {
  event.order = ++order_;
  events_.push(event);
}

void Simulation::note(std::uint64_t what) { digest_ = (digest_ ^ what) * 0x100000001b3; }

void Simulation::run_until(Nanos when, const std::function<bool()>& done) {
  while (!events_.empty() && events_.top().at <= when) {
    const Event event = events_.top();
    events_.pop();
    now_ = std::max(now_, event.at);
    step(event);
    if (done && done()) return;
  }
  now_ = std::max(now_, when);
}

void Simulation::step(const Event& event) {
  ++steps_;
  note(static_cast<std::uint64_t>(event.at) ^ std::uint64_t{event.process} << 40 ^
       std::uint64_t{event.connection} << 20 ^ static_cast<std::uint64_t>(event.kind));
  if (event.process != kWorld) {
    Process& process = *processes_[event.process];
    if (process.alive && process.frozen) {
      process.inbox.push_back(event);
      return;
    }
  }
  perform(event);
}

void Simulation::perform(const Event& event) {
  if (event.kind == Kind::kCall) {
    const std::function<void()> call = std::move(calls_[event.slot]);
    free_calls_.push_back(event.slot);
    if (event.process == kWorld) return call();
    Process& process = *processes_[event.process];
    if (!process.alive) return;
    call();
    return after_node(process);
  }
  Process& process = *processes_[event.process];
  std::optional<wire::Message> message;
  if (event.kind == Kind::kMessage) {
    message = std::move(messages_[event.slot]);
    messages_[event.slot] = wire::Message{};
    free_messages_.push_back(event.slot);
  }
  if (event.kind == Kind::kTimer) {
    process.timer_event = 0;
    if (!process.alive || process.timer == 0) return;
    if (process.timer > now_) return process.network->set_timer(process.timer);
    process.timer = 0;
    process.node->on_timer(now_);
    return after_node(process);
  }
  if (event.kind == Kind::kConnectFailed) {
    if (!process.alive) return;
    process.node->on_connect_failed(NodeId{event.connection},
                                    Error{Code::kUnavailable, "not reached"}, now_);
    return after_node(process);
  }
  Connection& connection = *connections_[event.connection];
  End& end = connection.ends[event.end];
  const overlay::LinkId link{std::uint64_t{event.connection} << 1 | event.end};
  if (event.kind == Kind::kMessage) {
    if (!process.alive || end.state != End::State::kUp || end.deaf) return;
    process.node->on_message(link, std::move(*message), now_);
    return after_node(process);
  }
  if (event.kind == Kind::kLinkUp) return link_up(event.connection, event.end);
  link_down(event.connection, event.end);
}

}  // namespace xylem::model
