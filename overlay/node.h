#pragma once

// What a process of the tree is (Node: logic, no sockets), and what it may do (Network: sockets, no
// logic). The front end, communication processes and back ends are Nodes. The event loop in
// net/runtime.h drives one over real links; tests drive it by hand, a simulator drives many.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/message.h"

namespace xylem::overlay {

/// A connection to a neighbour, from both hellos to its end. Never reused within a process.
enum class LinkId : std::uint64_t {};

/// Who is at the other end, as its hello said. The key is proved; the rest is its word.
struct Peer {
  wire::Role role = wire::Role::kBackEnd;
  NodeId node = wire::kNoNode;
  LeafId leaf = wire::kNoLeaf;
  std::uint32_t level = 0;
  std::uint64_t control_version = 0;
  std::string host_key;
  std::string address;    ///< For people: "10.77.0.3:41234" or "unix".
  bool accepted = false;  ///< It connected to us; false: we connected to it.
};

/// How a link does, for reports and clocks.
struct LinkStatus {
  wire::Transport transport = wire::Transport::kUnknown;
  std::size_t queue_bytes = 0;  ///< Handed to send(), not yet taken by the kernel.
  std::uint64_t sent_bytes = 0;
  std::uint64_t sent_messages = 0;
  Nanos round_trip_ns = 0;   ///< Smallest of the recent pings; 0 before the first.
  Nanos offset_ns = 0;       ///< This host's clock + offset = the front end's clock.
  Nanos error_ns = 0;        ///< Bound of the offset's error; meaningful when clock_known.
  bool clock_known = false;  ///< An upward link has heard where the front end's clock stands.
};

/// What a Node can ask for. All calls return at once; what they cause is told to the Node later,
/// never from inside the call.
class Network {
 public:
  virtual ~Network() = default;

  /// Queues a message. On a link that is down it is dropped: the Node has been or will be told.
  virtual void send(LinkId link, wire::Message message) = 0;

  /// Connects to a parent, trying its addresses in order (a Unix path only when its host key is
  /// ours, or it has none). Ends with on_link_up or on_connect_failed, which carry `node`. `hello`
  /// fills in role, node, leaf, level and control version; magic, run and nonce are the network's.
  virtual void connect(const wire::Parent& parent, const wire::Hello& hello) = 0;

  /// Closes after everything queued is sent or 1 s has passed. The Node hears on_link_down.
  virtual void close(LinkId link, const std::string& reason) = 0;

  virtual LinkStatus status(LinkId link) const = 0;

  /// Names the upward link, whose clock offsets this process passes on to its own children.
  virtual void set_upward(LinkId link) = 0;

  /// Tells on_readable when the descriptor can be read or has hung up, until unwatch. The
  /// descriptor stays the Node's.
  virtual void watch(int fd) = 0;
  virtual void unwatch(int fd) = 0;

  /// Asks for on_timer at `when` (monotonic); one timer a Node, the latest call counts. A time that
  /// has come means: when what has arrived so far was handled. So a Node works once on many
  /// messages that come together.
  virtual void set_timer(Nanos when) = 0;

  /// Where children can reach this process: the addresses it listens on. Empty when it does not.
  virtual std::vector<wire::Address> addresses() const = 0;

  /// Connections turned away so far: no hello in time, wrong key, another major version, garbage.
  virtual std::uint64_t refused() const = 0;

  /// Ends the loop after queued messages are sent or 1 s has passed.
  virtual void stop(int exit_code) = 0;
};

/// The logic of a process of the tree. Calls come from one thread, one at a time; `now` is
/// CLOCK_MONOTONIC of this host. Nothing in a Node blocks.
class Node {
 public:
  virtual ~Node() = default;

  /// First call, once.
  virtual void on_start(Network& network, Nanos now) = 0;
  /// A neighbour is there, both sides have proved the key.
  virtual void on_link_up(LinkId link, const Peer& peer, Nanos now) = 0;
  /// No address of the parent led to a link. Retrying is the Node's decision; kPermissionDenied
  /// when whoever answered, at every address, refused us: a wrong key, run or version.
  virtual void on_connect_failed(NodeId node, const Error& why, Nanos now) = 0;
  /// A message other than those of the link itself (hello, ping and the like).
  virtual void on_message(LinkId link, wire::Message message, Nanos now) = 0;
  /// The link is gone: reset, silence beyond the heartbeat limit, closed by either side. Never
  /// called twice for a link, never before its on_link_up.
  virtual void on_link_down(LinkId link, const Error& why, Nanos now) = 0;
  virtual void on_timer(Nanos now) = 0;
  virtual void on_readable(int fd, Nanos now) = 0;
};

/// Heartbeats: about one each second; a peer silent for longer than the limit is lost.
constexpr Nanos kHeartbeatInterval = 1 * kSecond;
constexpr Nanos kSilenceLimit = 3 * kSecond;

}  // namespace xylem::overlay
