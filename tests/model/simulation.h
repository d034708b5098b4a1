#pragma once

// A simulated world in one thread: a virtual clock, hosts, a network with faults, and processes.
// Each process is an overlay::Node, with the code of the product.
//
//   Simulation world(seed);
//   const ProcessId root = world.start(HostNumber{0}, std::make_unique<Session>(...), kPort);
//   world.at(2 * kSecond, [&] { world.kill(root); });
//   world.run_until(60 * kSecond);
//
// Rules of the network. Messages of a link arrive in order; the delays of different links are
// independent. If the path between two hosts is cut, messages on it wait. They are delivered if the
// path is healed before an end closes the link because of silence. A reset loses the messages on a
// link. The two ends notice the reset at different times, or only by silence. A killed process
// resets its links. A lost host is silent. A frozen process does nothing and is silent; when it
// thaws, all messages and timers are waiting for it.
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
/// Number of a process. A successor has a new number.
enum class ProcessId : std::uint32_t {};
constexpr ProcessId kNoProcess{0xffffffff};

/// Random numbers, the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// Returns a number in [0, below); `below` must be above 0.
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
  /// A hash of all events so far.
  std::uint64_t digest() const { return digest_; }

  // ---- processes ----

  /// Starts a process that listens on `port` of the host; 0: it does not listen. A process that
  /// already listens there keeps its links and gets no new ones.
  ProcessId start(HostNumber host, std::unique_ptr<overlay::Node> node, std::uint16_t port);
  static wire::Address address(HostNumber host, std::uint16_t port);
  /// Called when a process has ended by itself, not when it is killed. The process then no longer
  /// exists.
  std::function<void(ProcessId, int exit_code)> on_exit;

  bool is_alive(ProcessId process) const;
  bool is_frozen(ProcessId process) const;
  HostNumber host_of(ProcessId process) const;
  /// The node of a process that is alive.
  overlay::Node& node(ProcessId process);
  /// Calls `what` as a part of the process: later if the process is frozen, never if it is gone.
  void inside(ProcessId process, std::function<void(Nanos now)> what);

  // ---- faults ----

  /// Kills the process as SIGKILL does. Its neighbours get resets.
  void kill(ProcessId process);
  void freeze(ProcessId process);
  void thaw(ProcessId process);
  /// The host loses power: all its processes are gone for good, and its links are silent.
  void lose_host(HostNumber host);
  bool is_lost(HostNumber host) const { return lost_hosts_.contains(host); }
  /// No message gets from one host to the other until heal() is called.
  void cut(HostNumber from, HostNumber to);
  void heal(HostNumber from, HostNumber to);
  void heal_everything();  ///< Heals all cuts and thaws all processes.
  /// Breaks a random connection; messages on it are lost. With `half_open`, one end does not notice
  /// it. Returns false if there is no connection.
  bool break_link(bool half_open);
  /// Returns whether a process may send a message; other messages are dropped. Empty: all messages
  /// may be sent.
  std::function<bool(ProcessId, const wire::Message&)> may_send;
  /// Sets the maximum additional delay of a message. Each message gets a random delay below it.
  void set_slowness(Nanos slowness) { slowness_ = slowness; }

  // ---- time ----

  void at(Nanos when, std::function<void()> what);
  /// Runs until `when`, until no events are left, or until `done` returns true. `done` is called
  /// after each step.
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
    // kTimer, kConnectFailed, kCall: the process; kNoProcess for a call that belongs to no process.
    std::uint32_t process = 0;
    // The connection of a link event. kConnectFailed: the requested node.
    std::uint32_t connection = 0;
    std::uint32_t slot = 0;  // kMessage: index into messages_. kCall: index into calls_.
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
