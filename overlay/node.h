#pragma once

// The interfaces between logic and links. A Node is the logic of one process of the tree: the front
// end, a communication process or a back end. It has no sockets. A Network is a Node's access to
// its links and has no logic. The event loop in net/runtime.h connects a Node to real links. Tests
// and simulators call Nodes directly.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/message.h"

namespace xylem::overlay {

/// A connection to a neighbour after a completed handshake. An id is never reused within a process.
enum class LinkId : std::uint64_t {};

/// The other end of a link. The peer has proved that it knows the key. If the peer connected to us,
/// the other facts come from the peer's hello and are not verified.
struct Peer {
  wire::Role role = wire::Role::kBackEnd;
  NodeId node = wire::kNoNode;
  LeafId leaf = wire::kNoLeaf;
  std::uint32_t level = 0;
  std::uint64_t control_version = 0;
  std::string host_key;
  /// For people: "10.77.0.3:41234". For Unix sockets: "unix", or the path if we connected.
  std::string address;
  bool accepted = false;  ///< True if the peer connected to us, false if we connected to the peer.
  /// Identities of the peer's clock and of the front end's clock, from the peer's welcome
  /// (overlay/shared_clock.h). 0 if unknown, and for a peer that connected to us.
  std::uint64_t clock = 0;
  std::uint64_t root_clock = 0;
};

/// State of a link, for reports and clocks.
struct LinkStatus {
  wire::Transport transport = wire::Transport::kUnknown;
  std::size_t queue_bytes = 0;  ///< Bytes passed to send() that the kernel has not taken yet.
  std::uint64_t sent_bytes = 0;
  std::uint64_t sent_messages = 0;
  Nanos round_trip_ns = 0;   ///< Smallest round trip of the recent pings; 0 before the first.
  Nanos offset_ns = 0;       ///< This host's clock + offset = the front end's clock.
  Nanos error_ns = 0;        ///< Maximum error of the offset. Valid only if `clock_known`.
  bool clock_known = false;  ///< True if the parent has reported the front end's clock.
};

/// The operations that a Node may use. All functions return immediately. They never call the Node;
/// the loop calls it later.
class Network {
 public:
  virtual ~Network() = default;

  /// Queues a message. If the link is down, the message is dropped. In that case on_link_down was
  /// called or will be called. If the queue of the link is full (net::kMaxQueueBytes), data is
  /// dropped although the link stays up.
  virtual void send(LinkId link, wire::Message message) = 0;

  /// Connects to a parent. Tries the parent's addresses in order. A Unix path is tried only if its
  /// host key is empty or is the key of our host. Later the Node gets on_link_up or
  /// on_connect_failed. The caller fills in role, node, leaf, level and control version of `hello`.
  /// The network fills in the other fields.
  virtual void connect(const wire::Parent& parent, const wire::Hello& hello) = 0;

  /// Closes the link after all queued messages are sent, or after 1 s. The Node gets on_link_down.
  virtual void close(LinkId link, const std::string& reason) = 0;

  virtual LinkStatus status(LinkId link) const = 0;

  /// Sets the upward link. The clock offset of this link is sent to the children.
  virtual void set_upward(LinkId link) = 0;

  /// Asks for on_readable whenever the descriptor is readable or hung up, until unwatch(). The
  /// Network only borrows the descriptor.
  virtual void watch(int fd) = 0;
  virtual void unwatch(int fd) = 0;

  /// Asks for on_timer at `when` (monotonic). Each Node has only one timer; the latest call counts.
  /// If `when` is in the past, on_timer is called after the messages that have arrived so far. So a
  /// Node can process many messages together.
  virtual void set_timer(Nanos when) = 0;

  /// Returns the addresses on which this process listens for children. Empty if the process does
  /// not listen.
  virtual std::vector<wire::Address> addresses() const = 0;

  /// Returns the number of connections refused so far. Examples of reasons: no hello in time, a
  /// wrong key, another major version, invalid bytes.
  virtual std::uint64_t refused() const = 0;

  /// Ends the loop after all queued messages are sent, or after 1 s.
  virtual void stop(int exit_code) = 0;
};

/// The logic of a process of the tree. Calls come from one thread, one at a time; `now` is
/// CLOCK_MONOTONIC of this host. A Node does not wait for other processes, except for the child
/// process that tries a plugin (filters/plugin.h).
class Node {
 public:
  virtual ~Node() = default;

  /// The first call, made once.
  virtual void on_start(Network& network, Nanos now) = 0;
  /// A neighbour is connected, and both sides have proved that they know the key.
  virtual void on_link_up(LinkId link, const Peer& peer, Nanos now) = 0;
  /// No address of the parent led to a link. The Node decides whether to retry. The code of `why`
  /// is kPermissionDenied if we were refused at every address, for example because of a wrong key,
  /// run or version. Unix paths that do not exist here do not count.
  virtual void on_connect_failed(NodeId node, const Error& why, Nanos now) = 0;
  /// Delivers a message. Messages of the link itself (for example hello and ping) are not
  /// delivered.
  virtual void on_message(LinkId link, wire::Message message, Nanos now) = 0;
  /// The link is down: reset, silent for longer than kSilenceLimit, or closed by either side.
  /// Called once for each link, after on_link_up.
  virtual void on_link_down(LinkId link, const Error& why, Nanos now) = 0;
  virtual void on_timer(Nanos now) = 0;
  virtual void on_readable(int fd, Nanos now) = 0;
};

/// Heartbeats are sent about once a second. A peer that is silent for longer than kSilenceLimit is
/// lost.
constexpr Nanos kHeartbeatInterval = 1 * kSecond;
constexpr Nanos kSilenceLimit = 3 * kSecond;

}  // namespace xylem::overlay
