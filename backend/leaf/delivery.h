#pragma once

// What a leaf owes the tree: each packet that is in its journal reaches the root once, whatever
// dies on the way.

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
  /// Where the front end listens: first to report to, and last to fall back on.
  std::vector<wire::Address> front_end;
  wire::Role role = wire::Role::kBackEnd;  ///< Or kProgram.
  /// Stays the same over restarts, so that the front end knows the leaf again.
  std::string host_key;
  /// Who this leaf is, asked for when the front end is to be told.
  std::function<wire::HostReport()> report;
  OutboxOptions outbox;
  /// The report of a link, each second, may wait so long for something else to do.
  Nanos report_slack = 0;
};

/// The leaf's side of the tree: its place (node, leaf, line of parents), the run's control and
/// clock, and the packets of its journal until they are acknowledged. Knows nothing of where
/// packets come from: the agent's come from rings, those of other programs from their own code.
///
/// Order of calls: start(); connect() when the journal is up to date with what it was made from;
/// then the same events that a Node gets, in any number, and add() for each packet journalled;
/// end() last. The place, control and clock are remembered in the journal, so that a successor
/// over the same journal is the same leaf and goes on.
///
/// Sends only to a parent, while its link has room; again as the Outbox says: to each new parent,
/// when asked to, and without acknowledgement. One thread; journal and network are borrowed.
class Delivery {
 public:
  /// What a message changed.
  enum class News {
    kNotOurs,  ///< Nothing that delivery knows of: look at it yourself.
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
  /// When on_timer() has something to do; 0: not before something happens.
  Nanos next_due() const;

  /// A packet was journalled just now. It goes with the next send_due().
  void add(const PacketKey& key) { outbox_.add(key); }
  /// The same of one that is at hand, and what is due is sent.
  void add(wire::Packet packet, Nanos now);
  void send_due(Nanos now);
  /// Everything that was journalled is acknowledged.
  bool is_done() const { return outbox_.packets() == 0; }
  /// Says goodbye; connects to nobody any more.
  void end(const std::string& why);

  /// For reports: a few are held while there is no way up.
  void send_up(wire::Message message);

  NodeId node() const { return node_; }
  LeafId leaf() const { return leaf_; }  ///< kNoLeaf before the first assignment.
  const std::optional<wire::Control>& control() const { return control_; }
  const overlay::Uplink& uplink() const { return uplink_; }

  /// Looks at the upward link's clock. True when what is known has changed.
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
