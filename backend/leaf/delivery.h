#pragma once

// Delivers each packet in a leaf's journal to the root exactly once, whichever node dies.

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
  /// Addresses of the front end: the leaf reports there first, and it is the last fall-back.
  std::vector<wire::Address> front_end;
  wire::Role role = wire::Role::kBackEnd;  ///< Or kProgram.
  /// Stays the same across restarts, so that the front end recognises the leaf.
  std::string host_key;
  /// Makes the report of this leaf for the front end.
  std::function<wire::HostReport()> report;
  OutboxOptions outbox;
  /// How long the link report, due each second, may be delayed to be sent with other work.
  Nanos report_slack = 0;
};

/// The leaf's side of the tree: its place (node, leaf, line of parents), the run's control and
/// clock, and the packets of its journal until they are acknowledged. Does not know where packets
/// come from: an agent makes them from rings, other programs in their own code.
///
/// Order of calls: start(); connect() when the journal is up to date with its source; then the
/// events of a Node, and add() for each packet journalled; end() last. The journal keeps place,
/// control and clock, so that a successor with the same journal continues as the same leaf.
///
/// Sends only to a parent, while its link has room. Resends as the Outbox says: to each new parent,
/// on request, and if there is no acknowledgement. One thread; journal and network are borrowed.
class Delivery {
 public:
  /// The effect of a message.
  enum class News {
    kNotOurs,  ///< Not a message for delivery: the caller handles it.
    kNothing,
    kAcknowledged,  ///< There may be room in the journal.
    kControl,       ///< control() is newer.
    kPlace,         ///< leaf() and node() are known.
  };

  Delivery(DeliveryOptions options, Journal& journal);
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  void start(overlay::Network& network, Nanos now);
  void connect(Nanos now);

  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now);
  void on_connect_failed(const Error& why, Nanos now);
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now);
  News on_message(const wire::Message& message, Nanos now);
  void on_timer(Nanos now);
  /// When to call on_timer(); 0: not scheduled.
  Nanos next_due() const;

  /// A packet was just journalled. The next send_due() sends it.
  void add(const PacketKey& key) { outbox_.add(key); }
  /// The same with the packet itself; also sends what is due.
  void add(wire::Packet packet, Nanos now);
  void send_due(Nanos now);
  /// Everything journalled is acknowledged.
  bool is_done() const { return outbox_.packets() == 0; }
  /// Says goodbye and makes no more connections.
  void end(const std::string& why);

  /// For reports: keeps a few while there is no upward link.
  void send_up(wire::Message message);

  NodeId node() const { return node_; }
  LeafId leaf() const { return leaf_; }  ///< kNoLeaf before the first assignment.
  const std::optional<wire::Control>& control() const { return control_; }
  const overlay::Uplink& uplink() const { return uplink_; }

  /// Reads the upward link's clock. True if the offset has changed.
  bool follow_clock();
  bool clock_known() const { return clock_known_; }
  /// This host's monotonic clock + offset = the front end's.
  Nanos offset_ns() const { return offset_ns_; }

 private:
  wire::Hello hello() const;
  /// The parent, unless its link is full.
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
  std::vector<wire::Message> held_;  // For the next parent.
};

}  // namespace xylem::backend
