#pragma once

// Delivers each packet in a leaf's journal to the root, even if nodes die. A packet may be sent
// several times; the root takes it once.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/leaf/journal.h"
#include "backend/leaf/outbox.h"
#include "base/clock.h"
#include "base/ids.h"
#include "overlay/node.h"
#include "overlay/uplink.h"
#include "wire/message.h"

namespace xylem::backend {

struct DeliveryOptions {
  /// Addresses of the front end. The leaf reports to the front end first.
  std::vector<wire::Address> front_end;
  wire::Role role = wire::Role::kBackEnd;  ///< kBackEnd or kProgram.
  /// Identifies this leaf. It stays the same when an agent's worker restarts, so that the front end
  /// recognises the leaf.
  std::string host_key;
  /// Makes the report of this leaf for the front end.
  std::function<wire::HostReport()> report;
  OutboxOptions outbox;
  /// The link report is due each second. It may wait this much longer, so that it is sent together
  /// with other messages.
  Nanos report_slack = 0;
};

/// A Delivery knows the leaf's place in the tree: node, leaf and list of parents. It also knows the
/// run's control and clock. It sends the journal's packets, and repeats this until they are
/// acknowledged. The origin of the packets does not matter: an agent makes packets from rings,
/// other programs make packets in their own code.
///
/// Call start() first. If there is a predecessor, recover its data before connect(). Then pass the
/// node's events (overlay/node.h) to on_link_up(), on_message() and so on, and call add() for each
/// journalled packet. Call end() last. The journal also keeps the place, the clock and the main
/// values of control. So a successor with the same journal continues as the same leaf.
///
/// Packets are sent only to the parent, and only while the link to the parent has room. They are
/// sent again to each new parent and on request. They are also sent again if no acknowledgement
/// comes (see Outbox). Not thread-safe; journal and network are borrowed.
class Delivery {
 public:
  /// The effect of a message.
  enum class News {
    kNotOurs,  ///< The message is not for this class; the caller handles it.
    kNothing,
    kAcknowledged,  ///< The journal may have room again.
    kControl,       ///< A control message has set control().
    kPlace,         ///< leaf() and node() are set.
  };

  Delivery(DeliveryOptions options, Journal& journal);
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  /// Reads the place, the clock and the control that the journal keeps, and its packets. Does not
  /// connect yet.
  void start(overlay::Network& network, Nanos now);
  /// Makes the first attempt to connect, to the front end.
  void connect(Nanos now);

  // The callbacks of overlay::Node. `now` is CLOCK_MONOTONIC of this host.

  /// A leaf has no children. So a link that the peer has opened is closed.
  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now);
  /// Tries again later (see overlay::Uplink). Never gives up.
  void on_connect_failed(const Error& why, Nanos now);
  /// Looks for another parent. The packets stay in the journal.
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now);
  /// Takes acknowledgements, control and assignments. All other messages are kNotOurs.
  News on_message(const wire::Message& message, Nanos now);
  /// Sends due packets and the link report, and tries to connect again. Call it at next_due().
  void on_timer(Nanos now);
  /// When to call on_timer(); 0: not scheduled.
  Nanos next_due() const;

  /// Adds a packet that was just journalled. send_due() sends it when the outbox allows it.
  void add(const PacketKey& key) { outbox_.add(key); }
  /// Sends all due packets. Then adds a packet that was just journalled, and sends it if the outbox
  /// allows it. Use this function if you still have the packet itself.
  void add(wire::Packet packet, Nanos now);
  /// Sends all due packets, if there is a parent and the link has room. Otherwise does nothing.
  void send_due(Nanos now);
  /// True if all journalled packets are acknowledged.
  bool is_done() const { return outbox_.packets() == 0; }
  /// Says goodbye and makes no more connections.
  void end(const std::string& why);

  /// Sends a report on the upward link, to the parent or to the front end. While there is no upward
  /// link, the first reports are kept for the next parent, at most 64.
  void send_up(wire::Message message);

  NodeId node() const { return node_; }
  LeafId leaf() const { return leaf_; }  ///< kNoLeaf before the first assignment.
  const std::optional<wire::Control>& control() const { return control_; }
  const overlay::Uplink& uplink() const { return uplink_; }

  /// Gets the offset that the upward link has measured. Returns true if the offset has changed.
  bool follow_clock();
  bool clock_known() const { return clock_known_; }
  /// The offset between clocks: time of the front end = monotonic time of this host + offset.
  Nanos offset_ns() const { return offset_ns_; }

 private:
  wire::Hello hello() const;
  /// The link to the parent; empty if there is no parent or the link is full.
  std::optional<overlay::LinkId> may_send() const;
  void react(overlay::Uplink::Change change, Nanos now);
  void take_assignment(const wire::Assignment& assignment, Nanos now);
  bool take_control(const wire::Control& control);
  void take_acknowledgement(const wire::Acknowledgement& acknowledgement);
  void report_link(Nanos now);
  void recall();
  void remember();

  DeliveryOptions options_;
  Journal& journal_;
  Outbox outbox_;
  overlay::Uplink uplink_;
  overlay::Network* network_ = nullptr;  // Valid from start() on.

  NodeId node_ = wire::kNoNode;
  LeafId leaf_ = wire::kNoLeaf;
  std::uint32_t level_ = 0xffffffff;
  std::optional<wire::Control> control_;
  bool clock_known_ = false;
  Nanos offset_ns_ = 0;
  Nanos next_report_ = 0;
  std::vector<wire::Message> held_;  // Reports kept for the next parent.
};

}  // namespace xylem::backend
