#pragma once

// A host with an agent and its environment: processes, a guard that has their segments, and a root
// that stores packets. The worker can die at any request to the network, and at any store into its
// journal. Then a successor continues.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backend/agent/agent.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_root.h"
#include "tests/support/fake_source.h"
#include "tests/support/hand_made_segment.h"

namespace xylem::testing {

/// A watch that the test makes readable.
class FakeCallWatch final : public backend::CallWatch {
 public:
  static constexpr int kFd = 900'001;
  int fd() const noexcept override { return kFd; }
  bool begin(const std::vector<const backend::CaptureSwitch*>& switches) override {
    ++begun;
    watched = switches;
    is_watching = !refuses;
    return is_watching;
  }
  void end() override { is_watching = false; }

  std::vector<const backend::CaptureSwitch*> watched;
  bool is_watching = false;
  bool refuses = false;
  int begun = 0;
};

/// Thrown where the worker dies.
struct Death {};

class AgentHost {
 public:
  static constexpr LeafId kLeaf{5};
  static constexpr NodeId kNode{9};

  explicit AgentHost(std::size_t journal_bytes = 4u << 20) : memory(journal_bytes) {
    options.front_end = {wire::Address{"10.0.0.1", 4711, "", ""}};
    options.host.name = "host";
    options.host.host_key = "folder:1";
    options.collector.registrations.host = "host";
    options.collector.clock = [this] { return network.now + reads_later + tick * ++looks; };
    network.link_status.clock_known = true;
    network.link_status.offset_ns = 12'345;
    control.version = 1;
    parents = {wire::Parent{kFrontEndNode, options.front_end}};
    network.on_request = [this] { count_down(); };
  }
  ~AgentHost() {
    network.on_request = [] {};
  }

  /// Adds a process, and tells a running agent that a process has registered.
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

  /// Starts a worker with the journal and the segments of its predecessor.
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

  /// Calls `what`, in which the agent may die. If it dies, starts a successor.
  void act(const std::function<void()>& what) {
    try {
      what();
    } catch (const Death&) {
      die_after = -1;
      kill();
    }
  }

  /// Lets root and network answer all requests of the agent, until there are no more (at most 20
  /// rounds).
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
  /// Runs until the agent has stopped, at most for `limit`. Acknowledges all packets.
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
  FakeCallWatch call_watch;  ///< Used if a test sets options.call_watch.
  FakeRoot root;
  std::vector<std::unique_ptr<HandMadeSegment>> segments;
  std::unique_ptr<backend::Journal> journal;
  std::unique_ptr<backend::Agent> agent;
  std::vector<wire::Message> others;  ///< All messages that the agent sent, except packets.
  Nanos reads_later = 0;  ///< Delay from when the agent reads its clock to when it reads records.
  Nanos tick = 0;         ///< Each reading of the clock adds this time to the delay.
  Nanos looks = 0;
  int die_after = -1;  ///< The worker dies at its request or store with this number; -1: never.
  int deaths = 0;

 private:
  void answer(overlay::LinkId link, const wire::Message& message) {
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
