#pragma once

// The front end's view of the overlay: the nodes, their hosts and their parents. Gets the plan from
// placement/ and turns it into assignments. Pure: no links, no clock.

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
  NodeId parent = kFrontEndNode;  ///< As planned, and later as the node reports.
  std::uint32_t level = 0;
  std::uint32_t pid = 0;
  std::uint32_t cores = 0;  ///< From a back end's report; 0: unknown.
  LeafId leaf = wire::kNoLeaf;
  std::vector<wire::Address> addresses;
  NodeState state = NodeState::kStarting;
  std::string reason{};  ///< For a communication process: why it was placed there.

  /// True for a back end, on whose host communication processes may be placed; false for a program,
  /// although it is a leaf.
  bool is_host() const { return role == wire::Role::kBackEnd; }
};

/// Not thread-safe.
class Overlay {
 public:
  /// The tree with only the front end. Nodes and leaves are numbered from `ids_from` + 1 on.
  Overlay(std::string host, std::uint32_t pid, std::uint32_t ids_from = 0);

  void set_front_end_addresses(std::vector<wire::Address> addresses);

  /// Adds a back end or a program, by `role`. The same host key gets the same node and leaf again,
  /// across restarts.
  OverlayNode& join(const wire::HostReport& report, wire::Role role = wire::Role::kBackEnd);

  /// Adds a node of a former front end with its place. Ignores an id that is already known.
  void restore(OverlayNode node);

  /// Chooses hosts for the communication processes of `shape`, from the facts about each back end's
  /// host (`known`, by leaf), and a parent for every back end; then one for every program, by the
  /// same rules. Returns the nodes to start. If `may_launch`, a topology file may name hosts
  /// without a back end, and `choice` may have extra hosts, since the owner can start processes
  /// there.
  ///
  /// A host's cores limit its room in two cases: with fuzzy placement if they were measured, and
  /// with both policies if cores are reserved (then the reported cores count if none were
  /// measured).
  ///
  /// Fails with kNotFound when a file names unknown hosts, and as placement::plan_tree and
  /// placement::room_of; then nothing changes.
  Result<std::vector<NodeId>> place(const tree::Shape& shape,
                                    const std::map<LeafId, KnownHost>& known,
                                    bool may_launch = false, const HostChoice& choice = {});

  /// The back end that starts a communication process on its host; none: the host has no back end.
  std::optional<NodeId> starter_of(NodeId comm_process) const;

  void started(NodeId comm_process, std::vector<wire::Address> addresses, std::uint32_t pid);
  /// Removes a communication process that could not be started or is lost: its children move to its
  /// nearest living ancestor. Returns the nodes whose place has changed.
  std::vector<NodeId> remove(NodeId comm_process, NodeState state);
  bool all_started() const;

  /// Gives a late leaf a parent: one on its own host with room, else the least loaded.
  /// Its own host is found by name, since a program reports no other identity of its host.
  void attach_late(NodeId late);

  /// The parents in the order in which to try them: the parent and the plan's fall-backs, or,
  /// without a plan, the parent and its ancestors. The front end is last.
  wire::Assignment assignment(NodeId id) const;

  /// The front end and the living communication processes, each below its present parent. Fails
  /// with kInvalidArgument when a host's name is invalid in a topology.
  Result<tree::Topology> topology() const;

  OverlayNode* find(NodeId node);
  const OverlayNode* find(NodeId node) const;
  const OverlayNode* find(LeafId leaf) const;
  const OverlayNode* find_host(const std::string& host_key) const;
  const std::map<NodeId, OverlayNode>& nodes() const noexcept { return nodes_; }
  /// Every leaf that ever joined, including programs.
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
  std::vector<NodeId> hosts_;  // HostId -> its back end.
  std::optional<placement::Plan>
      plan_;  // None before placement: all nodes are below the front end.
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
