#pragma once

// A world in one thread: a virtual clock, hosts, a network between them that can do what networks
// do, and processes, each of which is a overlay::Node, the very code that runs in production.
//
//   Simulation world(seed);
//   const ProcessId root = world.start(HostNumber{0}, std::make_unique<Session>(...), kPort);
//   world.at(2 * kSecond, [&] { world.kill(root); });
//   world.run_until(60 * kSecond);
//
// What the network does: a link is FIFO, links are not in step; a path between two hosts that is
// cut holds back what is under way, for both ends find out by silence, and delivers it when it is
// healed in time; a reset loses what is under way, and each end learns of it at its own time, or by
// silence only; a killed process resets its links, a host that is gone is silent; a frozen process
// does nothing, is silent to its neighbours, and finds everything waiting when it thaws.
//
// Time passes only between events. The same seed and the same calls give the same run, and the
// same digest.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "overlay/node.h"

namespace xylem::model {

enum class HostNumber : std::uint32_t {};
/// A life of a process; a successor has another.
enum class ProcessId : std::uint32_t {};
constexpr ProcessId kNoProcess{0xffffffff};

/// Draws; the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// [0, below); below > 0.
  std::uint64_t operator()(std::uint64_t below) { return engine_() % below; }
  bool one_in(std::uint64_t n) { return engine_() % n == 0; }
  Nanos between(Nanos from, Nanos to) {
    return from + static_cast<Nanos>(engine_() % static_cast<std::uint64_t>(to - from + 1));
  }

 private:
  std::mt19937_64 engine_;
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  Nanos now() const { return now_; }
  Random& random() { return random_; }
  std::uint64_t steps() const { return steps_; }
  /// Of everything that has happened so far.
  std::uint64_t digest() const { return digest_; }

  // ---- processes ----

  /// Starts a process that listens on `port` of the host (0: it does not). Who listens there
  /// already goes on with its links and gets no new ones.
  ProcessId start(HostNumber host, std::unique_ptr<overlay::Node> node, std::uint16_t port);
  static wire::Address address(HostNumber host, std::uint16_t port);
  /// Called when a process has ended by itself, after which it is gone. Not for kills.
  std::function<void(ProcessId, int exit_code)> on_exit;

  bool is_alive(ProcessId process) const;
  bool is_frozen(ProcessId process) const;
  HostNumber host_of(ProcessId process) const;
  /// The node of a process that is alive.
  overlay::Node& node(ProcessId process);
  /// Does something in the place of the process, when it can: later if it is frozen, never if it is
  /// gone.
  void inside(ProcessId process, std::function<void(Nanos now)> what);

  // ---- faults ----

  /// SIGKILL: its neighbours get resets.
  void kill(ProcessId process);
  void freeze(ProcessId process);
  void thaw(ProcessId process);
  /// Power lost: everything on it is gone, in silence. For good.
  void lose_host(HostNumber host);
  bool is_lost(HostNumber host) const { return lost_hosts_.contains(host); }
  /// Nothing gets from one host to the other until healed.
  void cut(HostNumber from, HostNumber to);
  void heal(HostNumber from, HostNumber to);
  void heal_everything();  ///< Also thaws.
  /// Breaks a random connection: what is under way is lost. `half_open`: one end does not hear of
  /// it. False when there is none.
  bool break_link(bool half_open);
  /// Which messages a process may send; the others vanish. Empty: all.
  std::function<bool(ProcessId, const wire::Message&)> may_send;
  /// Every message takes so much longer at most; each draws its own.
  void set_slowness(Nanos slowness) { slowness_ = slowness; }

  // ---- time ----

  void at(Nanos when, std::function<void()> what);
  /// Runs until then or until nothing is left to happen, or `done` says so (asked after each step).
  void run_until(Nanos when, const std::function<bool()>& done = {});

 private:
  class ProcessNetwork;
  struct Process;
  struct End;
  struct Connection;
  enum class Kind : std::uint8_t { kMessage, kLinkUp, kLinkDown, kConnectFailed, kTimer, kCall };
  struct Event {
    Nanos at = 0;
    std::uint64_t order = 0;
    Kind kind = Kind::kCall;
    std::uint8_t end = 0;
    std::uint32_t process = 0;     // kTimer, kConnectFailed, kCall: who; kNoProcess for the world.
    std::uint32_t connection = 0;  // Links; kConnectFailed: the node asked for.
    std::uint32_t slot = 0;        // kMessage: of messages_; kCall: of calls_.
    bool operator>(const Event& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void push(Event event);
  void step(const Event& event);
  void perform(const Event& event);
  void after_node(Process& process);
  void note(std::uint64_t what);

  Nanos draw_delay();
  void connect(std::uint32_t process, const wire::Parent& parent, const wire::Hello& hello);
  void arrive(std::uint32_t process, std::uint16_t port, const wire::Hello& hello, NodeId node);
  void fail_connect(std::uint32_t process, NodeId node, Nanos when);
  void send(std::uint32_t process, overlay::LinkId link, wire::Message message);
  void close(std::uint32_t process, overlay::LinkId link);
  void end_link(std::uint32_t connection, int end, Nanos when);
  void link_up(std::uint32_t connection, int end);
  void link_down(std::uint32_t connection, int end);
  void retire_if_over(std::uint32_t connection);
  void update_silence(std::uint32_t connection);
  void update_silence_of_all();
  void look_for_silence(std::uint32_t connection, int end);
  void release_held(std::uint32_t connection, int from);
  bool is_cut(HostNumber from, HostNumber to) const;
  std::uint32_t new_call(std::function<void()> what);
  std::uint32_t new_message(wire::Message message);

  Random random_;
  Nanos now_ = kSecond;
  Nanos slowness_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t digest_ = 0xcbf29ce484222325;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<wire::Message> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::vector<std::function<void()>> calls_;
  std::vector<std::uint32_t> free_calls_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::uint32_t> open_connections_;
  std::map<std::uint16_t, std::uint32_t> listeners_;
  std::set<std::pair<HostNumber, HostNumber>> cuts_;
  std::set<HostNumber> lost_hosts_;
};

}  // namespace xylem::model
