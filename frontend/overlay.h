#pragma once

// The overlay as the front end knows it: which nodes there are, where, and who is whose parent.
// Asks placement/ for the plan and turns it into assignments. Pure: no links, no clock.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/result.h"
#include "frontend/host_choice.h"
#include "placement/place.h"
#include "tree/shape.h"
#include "tree/topology.h"
#include "wire/message.h"

namespace xylem::frontend {

enum class NodeState { kStarting, kStarted, kAttached, kLeft, kLost };

/// "starting", "started", "attached", "left", "lost".
const char* node_state_name(NodeState state);
/// The inverse; kLost for any other text.
NodeState parse_node_state(std::string_view name);

struct OverlayNode {
  NodeId id{};
  wire::Role role = wire::Role::kBackEnd;
  std::string host;
  std::string host_key;
  NodeId parent = kFrontEndNode;  ///< As planned, and later as it reports itself.
  std::uint32_t level = 0;
  std::uint32_t pid = 0;
  std::uint32_t cores = 0;  ///< As a back end has reported at once; 0: not known.
  LeafId leaf = wire::kNoLeaf;
  std::vector<wire::Address> addresses;
  NodeState state = NodeState::kStarting;
  std::string reason{};  ///< Of a communication process: why it was placed there.

  /// A leaf on whose host the tree may be placed; a program is a leaf, and not that.
  bool is_host() const { return role == wire::Role::kBackEnd; }
};

/// Not thread-safe.
class Overlay {
 public:
  /// The tree of just the front end. Nodes and leaves are numbered from `ids_from` + 1 on.
  Overlay(std::string host, std::uint32_t pid, std::uint32_t ids_from = 0);

  void set_front_end_addresses(std::vector<wire::Address> addresses);

  /// A back end reports, or a program, as `role` says. The same host key gets the same node and
  /// leaf again, over restarts.
  OverlayNode& join(const wire::HostReport& report, wire::Role role = wire::Role::kBackEnd);

  /// A node that a former front end knew, or that says so: it keeps its place. One whose id is
  /// known here already is left as it is.
  void restore(OverlayNode node);

  /// Chooses hosts for the communication processes of `shape`, given what is known of each back
  /// end's host (`known`, by leaf), and a place for every back end; then one for every program, by
  /// the same rules. Returns the nodes to be started. A topology file may name hosts without a
  /// back end, and `choice` extra hosts, where `may_launch` says that something else can start
  /// processes there.
  ///
  /// A host has room for as many processes as it has cores where these count: with fuzzy placement
  /// where they were measured, with both policies when cores are reserved (then, unmeasured, as the
  /// host reported them).
  ///
  /// Fails with kNotFound when a file names other hosts, and as placement::plan_tree and
  /// placement::room_of; nothing is changed then.
  Result<std::vector<NodeId>> place(const tree::Shape& shape,
                                    const std::map<LeafId, KnownHost>& known,
                                    bool may_launch = false, const HostChoice& choice = {});

  /// The back end on whose host a communication process is to run; none: there is no back end.
  std::optional<NodeId> starter_of(NodeId comm_process) const;

  void started(NodeId comm_process, std::vector<wire::Address> addresses, std::uint32_t pid);
  /// It could not be started, or is gone: its children go to its nearest living ancestor. Returns
  /// the nodes whose place has changed.
  std::vector<NodeId> remove(NodeId comm_process, NodeState state);
  bool all_started() const;

  /// Gives a late leaf a parent: one on its own host with room, else the least loaded (O11, O12).
  /// Its own is one of the plan's by that name: a program tells no other identity of its host.
  void attach_late(NodeId late);

  /// Parents in the order in which to try them: the parent and the fall-backs that the plan gives;
  /// without a plan the parent and its ancestors. The front end last.
  wire::Assignment assignment(NodeId id) const;

  /// The front end and the communication processes that are not lost, each below its present
  /// parent. Fails with kInvalidArgument when a host's name cannot stand in a topology.
  Result<tree::Topology> topology() const;

  OverlayNode* find(NodeId node);
  const OverlayNode* find(NodeId node) const;
  const OverlayNode* find(LeafId leaf) const;
  const OverlayNode* find_host(const std::string& host_key) const;
  const std::map<NodeId, OverlayNode>& nodes() const noexcept { return nodes_; }
  /// Every leaf that ever joined, programs among them.
  const IntervalSet& leaves() const noexcept { return leaves_; }
  /// Back ends that ever joined.
  std::size_t host_count() const noexcept { return hosts_.size(); }

 private:
  NodeId add(OverlayNode node);
  std::vector<tree::Host> hosts_to_choose_from(const std::map<LeafId, KnownHost>& known,
                                               const HostChoice& choice) const;
  Result<placement::Choice> make_choice(std::vector<tree::Host>& hosts,
                                        const std::map<LeafId, KnownHost>& known,
                                        const HostChoice& choice) const;
  void attach_back_ends();
  void attach_programs();
  void attach_all(const std::vector<NodeId>& nodes, const std::vector<HostId>& on);
  HostId host_of(const OverlayNode& late) const;
  void set_parent(OverlayNode& node, NodeId planned);
  void plan_parent(NodeId node, NodeId planned);
  bool is_living(NodeId node) const;
  NodeId node_of_plan(NodeId planned) const;
  /// Where a node may attach, in order, by the plan; living nodes only, the front end last.
  std::vector<NodeId> line_of(const OverlayNode& node) const;

  std::map<NodeId, OverlayNode> nodes_;
  std::map<std::string, NodeId> by_host_key_;
  std::map<LeafId, NodeId> by_leaf_;
  std::vector<NodeId> hosts_;               // HostId -> its back end.
  std::optional<placement::Plan> plan_;     // Before it is placed: everybody below the front end.
  std::vector<std::string> planned_hosts_;  // HostId -> name, where the plan may have a process.
  std::unordered_map<std::string, std::vector<HostId>> planned_by_short_name_;  // In their order.
  std::vector<NodeId> planned_;               // Node of the plan -> node here.
  std::map<NodeId, NodeId> planned_parent_;   // Node here -> its parent in the plan ...
  std::vector<std::uint32_t> planned_loads_;  // ... and how many children each has there.
  std::uint32_t next_node_;
  std::uint32_t next_leaf_;
  IntervalSet leaves_;
};

}  // namespace xylem::frontend
