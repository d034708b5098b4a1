#pragma once

// The root's side of the tree: who is in it, who is whose parent, who is lost.

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
  /// The owner can start communication processes on hosts that have no back end.
  bool may_launch = false;
  HostChoice choice;  ///< `--placement` and what limits it.
  /// Leaves that say they are programs are no hosts: they are placed when the tree stands, start
  /// nothing, and are lost sooner at the end. Else they are back ends like all others, as in a
  /// tool's tree.
  bool has_programs = false;
  /// A communication process that has not reported by then is done without.
  Nanos start_limit = 5 * kSecond;
  /// A host, or a program, that is below no link for so long is gone.
  Nanos lost_limit = 10 * kSecond;
  /// The same of a program while the run is ending, which waits for it: nobody starts it again, and
  /// one that lives has found another parent by then, since it tries at once, and knows of a silent
  /// one as soon as we do. Before that a program may also compute so long between two calls.
  Nanos program_lost_limit = overlay::kSilenceLimit;
  /// Front ends of this run so far, this one included. Each has numbers of its own for control, for
  /// nodes and for leaves, so that nothing that a former one gave out is given again, known here or
  /// not.
  std::uint64_t front_ends = 1;
  /// What the former ones knew: the tree goes on as it is.
  std::vector<OverlayNode> nodes;
  IntervalSet ended;  ///< Leaves whose last packets are stored.
  /// Those that were its children come back within this time, or not at all.
  Nanos return_limit = 5 * kSecond;
};

/// Whom a Root serves. Called from within the Root's own calls; may call its acknowledge().
class RootOwner {
 public:
  virtual ~RootOwner() = default;

  /// As it came: it may name leaves that nobody knows.
  virtual void on_packet(wire::Packet packet, Nanos now) = 0;
  /// A node is new, or its state, parent or level has changed.
  virtual void on_node(const OverlayNode& node) = 0;
  /// A back end has reported its host, or a program itself; the same leaf may do so again, after a
  /// restart.
  virtual void on_joined(LeafId leaf, Nanos now) = 0;
  /// It was not heard of for the limit; it counts as gone.
  virtual void on_lost(const OverlayNode& leaf) = 0;
  /// It was heard of again.
  virtual void on_found(const OverlayNode& leaf) = 0;
  /// To be started where no back end is; only with RootOptions::may_launch. What becomes of it is
  /// told by its own report, or by Root::comm_process_ended.
  virtual void on_launch(const OverlayNode& /*comm_process*/) {}
  /// A communication process has ended or is not heard of any more.
  virtual void on_comm_process_lost(const OverlayNode&, const std::string& /*why*/) {}
  /// A node has found another parent than the one that it was told.
  virtual void on_healed(const OverlayNode&) {}
  virtual void on_link_report(const wire::LinkReport& report, Nanos now) = 0;
  /// What a back end has measured of its host.
  virtual void on_host_facts(const wire::HostFacts&, Nanos /*now*/) {}
  /// A process of the tree has logged a warning or an error. Once for each.
  virtual void on_notice(const wire::Notice& notice, Nanos now) = 0;

  // Only where set_streams() is used.
  virtual void on_multicast_gap(const wire::MulticastGap&) {}
  virtual void on_stream_refused(const wire::StreamRefused&) {}
  /// All nodes have looked at the streams of this version of control.
  virtual void on_streams_taken(std::uint64_t) {}
  /// A child has told anew which leaves are below it.
  virtual void on_leaves_below(overlay::LinkId, const IntervalSet& /*before*/,
                               const IntervalSet& /*now*/) {}
};

/// Answers each back end with a leaf id and the front end as parent, so that data flows at once;
/// when told to place, has communication processes started and moves every node to its place;
/// passes acknowledgements and control down; watches for hosts that are gone.
///
/// Order of calls: start(); then the events that a Node gets, in any number. Knows nothing of what
/// packets hold. One thread; owner and network are borrowed.
class Root {
 public:
  Root(RootOptions options, RootOwner& owner);

  /// `control` is what the tree is to know first; its version counts from here.
  void start(overlay::Network& network, wire::Control control, Nanos now);

  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now);
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now);
  void on_message(overlay::LinkId link, wire::Message message, Nanos now);
  void on_timer(Nanos now);

  /// Makes the tree, once, with what is known of each back end's host, by leaf.
  void place(const std::map<LeafId, KnownHost>& known, Nanos now);
  /// One that the owner has started, or could not start, is gone.
  void comm_process_ended(NodeId id, const std::string& why);
  bool is_placed() const noexcept { return placed_; }
  /// It is made, and every node has attached to the parent that it was told.
  bool is_settled();
  /// Nodes that have not attached to the parent that they were told.
  std::vector<NodeId> unsettled() const;

  /// The streams of tools that are open from now on. Returns the version of control that says so;
  /// with no node in the tree on_streams_taken() is called before it returns.
  std::uint64_t set_streams(std::vector<wire::StreamSpec> streams);
  /// Whole to communication processes; to a leaf that is a child of ours what `share_of` gives.
  using ShareOf = std::function<std::optional<wire::Multicast>(LeafId leaf)>;
  void multicast(const wire::Multicast& whole, const ShareOf& share_of);
  /// The leaf that has this link; kNoLeaf when it is a communication process's, or nobody's yet.
  LeafId leaf_of(overlay::LinkId link) const;
  /// Leaves that are below and still send.
  IntervalSet expected() const { return router_.expected(); }
  /// All of them have joined; after a front end has taken over, or are at least below a child,
  /// since the former one may have died before it stored what it gave out.
  bool knows(const IntervalSet& leaves) const;

  /// Tells the tree to send what is left and to dissolve.
  void finish();
  const wire::Control& control() const noexcept { return control_; }

  /// To the leaves that the packets came from.
  void acknowledge(const wire::Acknowledgement& all);
  /// The last packets of these leaves are stored: nothing more is awaited from them.
  void ended(const IntervalSet& leaves) { ended_.insert(leaves); }

  /// Leaves from which more may come: neither ended, nor gone, nor given up.
  IntervalSet open_leaves() const;
  /// Bytes that wait on the fullest link.
  std::size_t longest_queue() const;
  bool has_links() const noexcept { return !links_.empty(); }
  /// A child of the former front end may still come back.
  bool awaits_return() const noexcept { return !returning_.empty(); }
  void give_up(LeafId leaf);
  /// At the end: who has done its work counts as having left, this front end too.
  void close(Nanos now);

  const Overlay& overlay() const noexcept { return overlay_; }
  /// When the tree last changed or said goodbye.
  Nanos last_change() const noexcept { return last_change_; }

 private:
  void restore(Nanos now);
  wire::Role role_of(const overlay::Peer& peer) const;
  void recall(const overlay::Peer& peer, wire::Role role);
  void refuse(overlay::LinkId link, const std::string& host, const std::string& why);
  /// Why that link may not report that host; empty: it may.
  std::string why_not(overlay::LinkId link, const wire::HostReport& report, wire::Role role) const;
  void on_host_report(overlay::LinkId link, const wire::HostReport& report, Nanos now);
  void on_comm_process_report(overlay::LinkId link, const wire::CommProcessReport& report);
  void on_attached(const wire::Attached& attached, Nanos now);
  void on_leaves(overlay::LinkId link, const wire::LeafSet& leaves, Nanos now);
  void on_goodbye(overlay::LinkId link);
  void on_taken(overlay::LinkId link, std::uint64_t version);
  void tell_streams_taken();
  void bind(NodeId node, overlay::LinkId link);
  bool is_unsettled(const OverlayNode& node) const;
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
  std::map<overlay::LinkId, wire::Role> links_;  // And who is there, as its hello said.
  std::map<NodeId, overlay::LinkId> link_of_node_;
  std::map<overlay::LinkId, NodeId> node_of_link_;
  std::map<NodeId, NodeId> attached_to_;  // As the nodes themselves have told.
  std::set<overlay::LinkId>
      not_taken_;  // Below which the present streams are not taken everywhere.
  std::uint64_t taken_told_ = 0;
  NodeId looked_at_{};  // Where is_settled() found one that was not.
  bool placed_ = false;
  bool assigned_ = false;
  Nanos start_deadline_ = 0;
  std::map<NodeId, Nanos> heard_;  // Communication processes that have attached.
  std::set<NodeId> returning_;
  Nanos return_deadline_ = 0;
  std::map<LeafId, Nanos> missing_since_;
  std::set<LeafId> given_up_;
  IntervalSet ended_;
  Nanos last_change_ = 0;
};

}  // namespace xylem::frontend
