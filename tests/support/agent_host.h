#pragma once

// A host with an agent, and all that is around it: processes, a guard that holds them, a root that
// stores. The worker can die at any request or store, and a successor goes on.

#include <sys/eventfd.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "backend/agent.h"
#include "tests/support/fake_network.h"
#include "tests/support/hand_made_segment.h"
#include "wire/chunk.h"
#include "wire/profile.h"
#include "wire/registration.h"

namespace xylem::testing {

/// Thrown where the worker dies.
struct Death {};

/// The guard's side: what registered and is not forgotten.
class FakeSource final : public backend::ProcessSource {
 public:
  struct Registered {
    HandMadeSegment* segment = nullptr;
    UniqueFd life;  ///< An eventfd in place of a pidfd.
    bool ended = false;
    int given_as = -1;  ///< The descriptor that the present worker has for `life`.
    bool told = false;
  };

  void add(HandMadeSegment& segment) {
    Registered& process = registered[Lane{next_lane_++}];
    process.segment = &segment;
    process.life.reset(::eventfd(0, EFD_CLOEXEC));
  }
  /// A new worker is told everything again.
  void start_over() {
    for (auto& [lane, process] : registered) process.told = false;
    ready_told_ = false;
    closing_ = false;
  }

  int fd() const override { return 1'000'000; }
  backend::SourceEvent take() override {
    backend::SourceEvent event;
    for (auto& [lane, process] : registered) {
      if (process.told) continue;
      process.told = true;
      event.kind = backend::SourceEvent::Kind::kProcess;
      event.process.lane = lane;
      event.process.segment.reset(::dup(process.segment->fd().get()));
      if (!process.ended) event.process.pidfd.reset(::dup(process.life.get()));
      process.given_as = event.process.pidfd.get();
      return event;
    }
    if (!ready_told_) {
      ready_told_ = true;
      event.kind = backend::SourceEvent::Kind::kReady;
    } else if (closing_) {
      closing_ = false;
      if (before_close) before_close();
      for (auto& [lane, process] : registered) came_ = came_ || !process.told;
      event.kind = std::exchange(came_, false) ? backend::SourceEvent::Kind::kOpen
                                               : backend::SourceEvent::Kind::kClosed;
    }
    return event;
  }
  void forget(Lane lane) override {
    registered.erase(lane);
    forgotten.insert(lane);
  }
  void close() override { closing_ = true; }
  void remove_folder() override { folder_removed = true; }

  std::map<Lane, Registered> registered;
  std::set<Lane> forgotten;
  std::function<void()> before_close;  ///< The last moment to register.
  bool folder_removed = false;

 private:
  std::uint32_t next_lane_ = 1;
  bool ready_told_ = false;
  bool closing_ = false;
  bool came_ = false;
};

class FakeStarter final : public backend::ProcessStarter {
 public:
  Result<backend::StartedProcess> start(NodeId node, std::uint32_t) override {
    if (refuse) return unexpected(Code::kNotFound, "cannot start xylem-commproc");
    started.push_back(node);
    backend::StartedProcess process;
    process.pid = 100;
    process.pidfd.reset(::eventfd(0, EFD_CLOEXEC));
    last_pidfd = process.pidfd.get();
    return process;
  }
  std::string collect(int) override { return how_it_ended; }

  bool refuse = false;
  std::vector<NodeId> started;
  std::string how_it_ended;
  int last_pidfd = -1;
};

/// Stores each packet once, whichever of it comes first.
class FakeRoot {
 public:
  void take(const wire::Packet& packet) {
    const backend::PacketKey key = backend::key_of(packet.id);
    stored.emplace(key, packet);
    unacknowledged.push_back(packet.id);
    ++received;
  }

  std::map<backend::PacketKey, wire::Packet> stored;
  std::vector<wire::PacketId> unacknowledged;
  std::size_t received = 0;
};

/// What the root knows after all packets, added up.
struct StoredSums {
  std::map<std::pair<Lane, FunctionId>, std::uint64_t> calls;
  std::map<Lane, wire::AccountRow> accounts;
  std::map<std::uint64_t, int> requests;  ///< Of events: how often each is stored.
  std::uint64_t window_calls = 0;
  std::uint64_t given_up_window_calls = 0;
  std::uint64_t event_calls = 0;
  std::uint64_t given_up_event_calls = 0;
  std::uint64_t messages = 0;
  std::size_t last_windows = 0;
  std::size_t undecodable = 0;
};

inline StoredSums add_up(const FakeRoot& root) {
  StoredSums sums;
  for (const auto& [key, packet] : root.stored) {
    if (packet.tombstone) {
      const auto tombstone = wire::decode_tombstone(packet.payload);
      sums.undecodable += tombstone ? 0 : 1;
      if (tombstone && key.stream == wire::kWindowStream)
        sums.given_up_window_calls += tombstone->calls;
      if (tombstone && key.stream == wire::kChunkStream)
        sums.given_up_event_calls += tombstone->calls;
    } else if (key.stream == wire::kWindowStream) {
      const auto window = wire::decode_profile_window(packet.payload);
      sums.undecodable += window ? 0 : 1;
      sums.last_windows += packet.last ? 1 : 0;
      if (!window) continue;
      for (const auto& row : window->rows) {
        sums.calls[{row.lane, row.function}] += row.calls;
        sums.window_calls += row.calls;
      }
      for (const auto& row : window->matrix) sums.messages += row.messages;
      for (const auto& row : window->accounts) sums.accounts[row.lane] = row;  // In order of waves.
    } else if (key.stream == wire::kChunkStream) {
      const auto events = wire::decode_chunk(packet.payload);
      sums.undecodable += events ? 0 : 1;
      if (!events) continue;
      for (const auto& event : *events) {
        ++sums.requests[event.request];
        sums.event_calls += event.calls;
      }
    }
  }
  return sums;
}

class AgentHost {
 public:
  static constexpr LeafId kLeaf{5};
  static constexpr NodeId kNode{9};

  explicit AgentHost(std::size_t journal_bytes = 4u << 20) : memory(journal_bytes) {
    options.front_end = {wire::Address{"10.0.0.1", 4711, "", ""}};
    options.host.name = "host";
    options.host.host_key = "folder:1";
    options.collector.host = "host";
    network.link_status.clock_known = true;
    network.link_status.offset_ns = 12'345;
    control.version = 1;
    parents = {wire::Parent{kFrontEndNode, options.front_end}};
    network.on_request = [this] { count_down(); };
  }
  ~AgentHost() {
    network.on_request = [] {};
  }

  /// A process that registers before the agent is told so.
  HandMadeSegment& add_process(std::uint32_t ring_records = 1024) {
    segments.push_back(std::make_unique<HandMadeSegment>(ring_records));
    segments.back()->enter_world(static_cast<std::uint32_t>(segments.size() - 1), 8);
    source.add(*segments.back());
    if (agent) act([this] { network.readable(*agent, source.fd()); });
    return *segments.back();
  }
  void end_process(Lane lane) {
    auto it = source.registered.find(lane);
    if (it == source.registered.end() || it->second.ended) return;
    it->second.ended = true;
    if (agent) act([&] { network.readable(*agent, it->second.given_as); });
  }

  /// Starts a worker over what its predecessor left.
  void start() {
    network.forget_node();
    source.start_over();
    journal.reset();
    backend::JournalOptions journal_options;
    journal_options.on_store = [this] { count_down(); };
    const int armed = std::exchange(die_after, -1);
    journal = std::make_unique<backend::Journal>(
        *backend::Journal::open(memory.bytes(), std::move(journal_options)));
    agent = std::make_unique<backend::Agent>(options, *journal, source, starter);
    die_after = armed;
    act([this] { agent->on_start(network, network.now); });
  }
  void kill() {
    agent.reset();
    ++deaths;
    start();
  }

  /// Does something with the agent, which may die of it.
  void act(const std::function<void()>& what) {
    try {
      what();
    } catch (const Death&) {
      die_after = -1;
      kill();
    }
  }

  /// Lets everybody answer what was asked, as often as there is something.
  void talk() {
    for (int turn = 0; turn < 20; ++turn) {
      if (!network.connects.empty()) {
        act([this] { network.deliver(*agent, network.link_up(*agent), control); });
        continue;
      }
      const auto sent = network.take_sent();
      if (sent.empty()) return;
      for (const auto& [link, message] : sent) answer(link, message);
    }
  }
  void acknowledge(const std::function<bool()>& arrives = [] { return true; }) {
    wire::Acknowledgement message;
    for (const wire::PacketId& id : std::exchange(root.unacknowledged, {})) {
      if (arrives()) message.stored.push_back(id);
    }
    if (!message.stored.empty()) deliver(message);
  }
  void deliver(const wire::Message& message) {
    if (network.upward) act([&] { network.deliver(*agent, *network.upward, message); });
  }
  void pass(Nanos duration) {
    act([&] { network.advance(*agent, duration); });
    talk();
  }
  /// Until the agent has stopped or so much time has passed; everything is acknowledged.
  void run_to_the_end(Nanos limit = 300 * kSecond) {
    const Nanos deadline = network.now + limit;
    while (!network.stopped && network.now < deadline) {
      pass(20 * kMillisecond);
      acknowledge();
    }
    talk();
  }

  void count_down() {
    if (die_after > 0 && --die_after == 0) throw Death{};
  }

  backend::AgentOptions options;
  wire::Control control;
  std::vector<wire::Parent> parents;
  Memory memory;
  FakeNetwork network;
  FakeSource source;
  FakeStarter starter;
  FakeRoot root;
  std::vector<std::unique_ptr<HandMadeSegment>> segments;
  std::unique_ptr<backend::Journal> journal;
  std::unique_ptr<backend::Agent> agent;
  std::vector<wire::Message> others;  ///< What was sent besides packets.
  int die_after = -1;                 ///< So many requests and stores later.
  int deaths = 0;

 private:
  void answer(net::LinkId link, const wire::Message& message) {
    if (const auto* packet = std::get_if<wire::Packet>(&message)) {
      root.take(*packet);
      return;
    }
    others.push_back(message);
    if (!std::holds_alternative<wire::HostReport>(message)) return;
    wire::Assignment assignment;
    assignment.node = kNode;
    assignment.leaf = kLeaf;
    assignment.level = 2;
    assignment.parents = parents;
    act([&] { network.deliver(*agent, link, assignment); });
  }
};

}  // namespace xylem::testing
