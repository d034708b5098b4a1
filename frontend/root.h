#pragma once

// The logic of the root of the tree: which nodes there are, what their parents are, and which nodes
// are lost.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "frontend/overlay.h"
#include "overlay/known_notices.h"
#include "overlay/node.h"
#include "overlay/router.h"
#include "tree/shape.h"
#include "wire/message.h"

namespace xylem::frontend {

struct RootOptions {
  tree::Shape shape;  ///< `--topology`
  /// True if the owner can start communication processes on hosts that have no back end.
  bool may_launch = false;
  HostChoice choice;  ///< `--placement` and its limits.
  /// False in a tool's tree: leaves with the role of a program are treated like back ends. True in
  /// a run: programs do not count as hosts and start no communication process. They get their
  /// parents when the tree is placed, or later when they join. They have a shorter timeout at the
  /// end of the run.
  bool has_programs = false;
  /// Timeout for the report of a communication process. After this the process is left out of the
  /// tree.
  Nanos start_limit = 5 * kSecond;
  /// Timeout for a host or a program that is below no link of the root. After this the host or
  /// program counts as lost.
  Nanos lost_limit = 10 * kSecond;
  /// Timeout for a lost program while the run is ending. It is shorter than `lost_limit`: a live
  /// program has reconnected by then, and no one restarts a dead one. Before the end of the run the
  /// longer `lost_limit` applies, because a program may compute for a long time between two calls.
  Nanos program_lost_limit = overlay::kSilenceLimit;
  /// Number of front ends of this run so far, including this one. Each front end has a different
  /// range of control versions, node ids and leaf ids. So no number is used twice.
  std::uint64_t front_ends = 1;
  /// The nodes of the former front ends. These nodes keep their places in the tree.
  std::vector<OverlayNode> nodes;
  IntervalSet ended;  ///< Leaves whose last packets are stored.
  /// Maximum wait for children of the former front end to reconnect.
  Nanos return_limit = 5 * kSecond;
};

/// The owner of a Root. A Root calls these functions only while one of its own functions runs, on
/// the thread that called this function. They may call Root::acknowledge() and Root::ended().
/// on_launch() may also call Root::comm_process_ended().
class RootOwner {
 public:
  virtual ~RootOwner() = default;

  /// A packet as received. Its sources may include unknown leaves.
  virtual void on_packet(wire::Packet packet, Nanos now) = 0;
  /// A node is new, or its state, parent or level may have changed.
  virtual void on_node(const OverlayNode& node) = 0;
  /// A back end or a program has joined. The same leaf may join again after a restart.
  virtual void on_joined(LeafId leaf, Nanos now) = 0;
  /// This leaf now counts as lost. It was below no link of the root for `lost_limit` (or
  /// `program_lost_limit`), or the owner has called Root::give_up().
  virtual void on_lost(const OverlayNode& leaf) = 0;
  /// A lost leaf was seen again.
  virtual void on_found(const OverlayNode& leaf) = 0;
  /// The owner must start this communication process on a host without a back end. Called only with
  /// RootOptions::may_launch. If the process cannot be started, the owner must call
  /// Root::comm_process_ended(). Otherwise the process itself sends a report.
  virtual void on_launch(const OverlayNode& /*comm_process*/) {}
  /// A communication process could not be started, has ended or is silent.
  virtual void on_comm_process_lost(const OverlayNode&, const std::string& /*why*/) {}
  /// A node has lost its parent and connected to another one.
  virtual void on_healed(const OverlayNode&) {}
  virtual void on_link_report(const wire::LinkReport& report, Nanos now) = 0;
  /// Measurements of a back end's host.
  virtual void on_host_facts(const wire::HostFacts&, Nanos /*now*/) {}
  /// A process of the tree has logged a warning or an error. Called once for each notice.
  virtual void on_notice(const wire::Notice& notice, Nanos now) = 0;

  // The next two functions are called only if there are streams, either in the first control or
  // from set_streams().
  virtual void on_multicast_gap(const wire::MulticastGap&) {}
  virtual void on_stream_refused(const wire::StreamRefused&) {}
  /// All nodes have accepted or refused the streams of this version of control. Also called for the
  /// first control, which may have no streams.
  virtual void on_streams_taken(std::uint64_t) {}
  /// A child has reported a new set of leaves below the child.
  virtual void on_leaves_below(overlay::LinkId, const IntervalSet& /*before*/,
                               const IntervalSet& /*now*/) {}
};

/// The root of the tree. It sends each new leaf a leaf id. The front end is the leaf's first
/// parent, so data can flow immediately. The function place() starts the communication processes
/// and then moves every node to its place. The root sends acknowledgements and control down the
/// tree, and detects lost hosts. It does not decode packets.
///
/// Call start() first. Then pass on the callbacks of overlay::Node: on_link_up, on_link_down,
/// on_message and on_timer. Not thread-safe. The owner and the network are borrowed.
class Root {
 public:
  Root(RootOptions options, RootOwner& owner);

  /// `control` is the first control that is sent to the tree. The Root numbers its versions.
  void start(overlay::Network& network, wire::Control control, Nanos now);

  // The callbacks of overlay::Node. `now` is CLOCK_MONOTONIC of this host.

  /// Sends the present control to the new neighbour. A node that comes back is known by its id in
  /// `peer`; a new node gets its id after its report.
  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now);
  /// The leaves below this link are missing from now on. If no other link brings them back within
  /// their timeout, they count as lost (RootOptions::lost_limit).
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now);
  /// Takes a message of the tree. Messages that the root does not know are ignored.
  void on_message(overlay::LinkId link, wire::Message message, Nanos now);
  /// Checks all timeouts. The root sets no timer: the owner must call this at least each 500 ms.
  void on_timer(Nanos now);

  /// Places the tree. `known` has the facts about each back end's host. Only the first call has an
  /// effect. If the tree cannot be placed, logs the reason, and all nodes stay directly below the
  /// front end.
  void place(const std::map<LeafId, KnownHost>& known, Nanos now);
  /// A communication process that the owner started has ended, or could not be started.
  void comm_process_ended(NodeId id, const std::string& why);
  bool is_placed() const noexcept { return placed_; }
  /// True if the tree is placed, and every node has attached to its assigned parent.
  bool all_in_place();
  /// Returns the nodes that have not attached to their assigned parent.
  std::vector<NodeId> out_of_place() const;

  /// Sets the open streams of tools. Returns the version of control that announces these streams.
  /// If the root is the only node, on_streams_taken() is called before set_streams() returns.
  std::uint64_t set_streams(std::vector<wire::StreamSpec> streams);
  /// Sends a multicast to the children of the root. A communication process gets the whole
  /// multicast if a leaf of the stream is below the process. A leaf gets the result of `share_of`;
  /// nullopt means that the leaf gets nothing.
  using ShareOf = std::function<std::optional<wire::Multicast>(LeafId leaf)>;
  void multicast(const wire::Multicast& whole, const ShareOf& share_of);
  /// Returns the leaf at the other end of this link; kNoLeaf for a communication process or an
  /// unknown node.
  LeafId leaf_of(overlay::LinkId link) const;
  /// Returns the leaves that still send and are below a link of the root.
  IntervalSet expected() const { return router_.expected(); }
  /// Returns true if all these leaves have joined. A successor also counts leaves that a child has
  /// reported: the former front end may have died before it stored their ids.
  bool knows(const IntervalSet& leaves) const;

  /// Tells the tree to send its remaining data and to close.
  void finish();
  const wire::Control& control() const noexcept { return control_; }

  /// Sends acknowledgements to the leaves of the packets.
  void acknowledge(const wire::Acknowledgement& all);
  /// Tells the root that the last packets of these leaves are stored. So the root expects no
  /// further packets of these leaves.
  void ended(const IntervalSet& leaves) { ended_.insert(leaves); }

  /// Returns the leaves that may still send. Leaves that have ended, are lost or were given up are
  /// left out.
  IntervalSet open_leaves() const;
  /// Number of bytes that wait on the link with the longest queue.
  std::size_t longest_queue() const;
  bool has_links() const noexcept { return !links_.empty(); }
  /// True if a child of the former front end may still reconnect.
  bool awaits_return() const noexcept { return !returning_.empty(); }
  void give_up(LeafId leaf);
  /// Call it at the end of the run. Sets the state `left` for each leaf whose last packet is stored
  /// or which said goodbye. Also sets it for this front end and each living communication process.
  void close(Nanos now);

  const Overlay& overlay() const noexcept { return overlay_; }
  /// Time of the last change: a link came up or went down, or a node joined or said goodbye.
  Nanos last_change() const noexcept { return last_change_; }

 private:
  void restore(Nanos now);
  wire::Role role_of(const overlay::Peer& peer) const;
  void recall(const overlay::Peer& peer, wire::Role role);
  void refuse(overlay::LinkId link, const std::string& host, const std::string& why);
  /// Returns the reason why the peer of `link` is not allowed to report as this host; empty if it
  /// is allowed.
  std::string why_not(overlay::LinkId link, const wire::HostReport& report, wire::Role role) const;
  void on_host_report(overlay::LinkId link, const wire::HostReport& report, Nanos now);
  void on_comm_process_report(overlay::LinkId link, const wire::CommProcessReport& report);
  void on_attached(const wire::Attached& attached, Nanos now);
  void on_leaves(overlay::LinkId link, const wire::LeafSet& leaves, Nanos now);
  void on_goodbye(overlay::LinkId link);
  void on_taken(overlay::LinkId link, std::uint64_t version);
  void tell_streams_taken();
  void bind(NodeId node, overlay::LinkId link);
  bool is_out_of_place(const OverlayNode& node) const;
  void send_control();
  void assign_when_started(Nanos now);
  void give_up_comm_process(NodeId id, const std::string& why);
  void send_assignment(NodeId id);
  void look_for_lost_hosts(Nanos now);
  Nanos lost_limit_of(LeafId leaf, Nanos now) const;
  void hear_of(NodeId id, Nanos now);
  void look_for_lost_comm_processes(Nanos now, Nanos limit);
  void take_back(LeafId leaf);
  void tell(NodeId id) { owner_.on_node(*overlay_.find(id)); }

  RootOptions options_;
  RootOwner& owner_;
  overlay::Network* network_ = nullptr;  // Valid from start() on.
  wire::Control control_;
  Overlay overlay_;
  overlay::Router router_;
  overlay::KnownNotices notices_;
  std::map<overlay::LinkId, wire::Role> links_;  // Role of the peer, from its hello.
  std::map<NodeId, overlay::LinkId> link_of_node_;
  std::map<overlay::LinkId, NodeId> node_of_link_;
  std::map<NodeId, NodeId> attached_to_;  // The parent that each node has reported.
  // Links to children that have not yet sent StreamsTaken for the current streams.
  std::set<overlay::LinkId> not_taken_;
  std::uint64_t taken_told_ = 0;
  NodeId search_from_{};  // The next call of all_in_place() begins its search at this node.
  bool placed_ = false;
  bool assigned_ = false;
  Nanos start_deadline_ = 0;
  std::map<NodeId, Nanos> heard_;  // Time of the last report of each communication process.
  std::set<NodeId> returning_;
  Nanos return_deadline_ = 0;
  std::map<LeafId, Nanos> missing_since_;
  std::set<LeafId> given_up_;
  IntervalSet ended_;
  Nanos last_change_ = 0;
};

}  // namespace xylem::frontend
