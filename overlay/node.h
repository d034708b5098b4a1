#pragma once

// The logic of a process of the tree (Node, without sockets) and its access to the network
// (Network, without logic). The front end, communication processes and back ends are Nodes. The
// event loop in net/runtime.h drives a Node over real links; tests and simulators drive Nodes
// directly.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/message.h"

namespace xylem::overlay {

/// A connection to a neighbour, from the end of the handshake to its end. An id is never reused
/// within a process.
enum class LinkId : std::uint64_t {};

/// The other end of a link, as its hello describes it. The peer has proved the key; the rest is not
/// verified.
struct Peer {
  wire::Role role = wire::Role::kBackEnd;
  NodeId node = wire::kNoNode;
  LeafId leaf = wire::kNoLeaf;
  std::uint32_t level = 0;
  std::uint64_t control_version = 0;
  std::string host_key;
  std::string address;    ///< For people: "10.77.0.3:41234" or "unix".
  bool accepted = false;  ///< True: the peer connected to us. False: we connected to the peer.
};

/// State of a link, for reports and clocks.
struct LinkStatus {
  wire::Transport transport = wire::Transport::kUnknown;
  std::size_t queue_bytes = 0;  ///< Passed to send() but not yet taken by the kernel.
  std::uint64_t sent_bytes = 0;
  std::uint64_t sent_messages = 0;
  Nanos round_trip_ns = 0;   ///< Smallest round trip of the recent pings; 0 before the first.
  Nanos offset_ns = 0;       ///< This host's clock + offset = the front end's clock.
  Nanos error_ns = 0;        ///< Maximum error of the offset; valid only if clock_known.
  bool clock_known = false;  ///< The upward link has reported the front end's clock.
};

/// The operations that a Node may use. All calls return at once. Calls to the Node come later,
/// never from inside such a call.
class Network {
 public:
  virtual ~Network() = default;

  /// Queues a message. If the link is down, the message is dropped; the Node gets on_link_down or
  /// has already got it.
  virtual void send(LinkId link, wire::Message message) = 0;

  /// Connects to a parent. Tries its addresses in order; a Unix path is tried only if its host key
  /// is ours or empty. Ends with on_link_up or on_connect_failed, which carry `node`. The caller
  /// fills in role, node, leaf, level and control version of `hello`; the network fills in magic,
  /// run and nonce.
  virtual void connect(const wire::Parent& parent, const wire::Hello& hello) = 0;

  /// Closes the link after all queued messages are sent, or after 1 s. The Node gets on_link_down.
  virtual void close(LinkId link, const std::string& reason) = 0;

  virtual LinkStatus status(LinkId link) const = 0;

  /// Sets the upward link. Its clock offset is the one that this process sends to its children.
  virtual void set_upward(LinkId link) = 0;

  /// Calls on_readable whenever the descriptor is readable or hung up, until unwatch. The Node
  /// keeps the ownership.
  virtual void watch(int fd) = 0;
  virtual void unwatch(int fd) = 0;

  /// Asks for on_timer at `when` (monotonic). There is one timer for each Node; the latest call
  /// counts. A time in the past means: after the messages that have arrived so far. So a Node can
  /// process many messages at once.
  virtual void set_timer(Nanos when) = 0;

  /// The addresses on which this process listens for children. Empty if it does not listen.
  virtual std::vector<wire::Address> addresses() const = 0;

  /// Number of connections refused so far: no hello in time, wrong key, another major version,
  /// invalid bytes.
  virtual std::uint64_t refused() const = 0;

  /// Ends the loop after all queued messages are sent, or after 1 s.
  virtual void stop(int exit_code) = 0;
};

/// The logic of a process of the tree. Calls come from one thread, one at a time; `now` is
/// CLOCK_MONOTONIC of this host. Nothing in a Node blocks.
class Node {
 public:
  virtual ~Node() = default;

  /// The first call, made once.
  virtual void on_start(Network& network, Nanos now) = 0;
  /// A neighbour is connected, and both sides have proved the key.
  virtual void on_link_up(LinkId link, const Peer& peer, Nanos now) = 0;
  /// No address of the parent led to a link. The Node decides whether to retry. The code is
  /// kPermissionDenied if every address refused us because of a wrong key, run or version.
  virtual void on_connect_failed(NodeId node, const Error& why, Nanos now) = 0;
  /// Delivers a message. Messages of the link itself (hello, ping and the like) are not delivered.
  virtual void on_message(LinkId link, wire::Message message, Nanos now) = 0;
  /// The link is down: reset, silent longer than kSilenceLimit, or closed by either side. Called
  /// once for each link, after its on_link_up.
  virtual void on_link_down(LinkId link, const Error& why, Nanos now) = 0;
  virtual void on_timer(Nanos now) = 0;
  virtual void on_readable(int fd, Nanos now) = 0;
};

/// Heartbeats are sent about once a second. A peer that is silent for longer than kSilenceLimit is
/// lost.
constexpr Nanos kHeartbeatInterval = 1 * kSecond;
constexpr Nanos kSilenceLimit = 3 * kSecond;

}  // namespace xylem::overlay
