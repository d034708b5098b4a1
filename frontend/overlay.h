#pragma once

// The front end's knowledge of the overlay: the nodes, their hosts and their parents. It gets a
// plan from placement/ and derives each node's assignment from the plan. It uses no links and no
// clock.

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
/// Returns the state with this name; kLost for any other text.
NodeState parse_node_state(std::string_view name);

struct OverlayNode {
  NodeId id{};
  wire::Role role = wire::Role::kBackEnd;
  std::string host;
  std::string host_key;
  /// First the planned parent, later the parent that the node has reported.
  NodeId parent = kFrontEndNode;
  std::uint32_t level = 0;
  std::uint32_t pid = 0;
  std::uint32_t cores = 0;  ///< Cores of a back end's host, from its report; 0: unknown.
  LeafId leaf = wire::kNoLeaf;
  std::vector<wire::Address> addresses;
  NodeState state = NodeState::kStarting;
  std::string reason{};  ///< Why a communication process was placed on its host.

  /// True for a back end: communication processes may be placed on its host. False for a program,
  /// although a program is a leaf, too.
  bool is_host() const { return role == wire::Role::kBackEnd; }
};

/// Not thread-safe.
class Overlay {
 public:
  /// Makes a tree that has only the front end. Other nodes and the leaves are numbered from
  /// `ids_from` + 1 on.
  Overlay(std::string host, std::uint32_t pid, std::uint32_t ids_from = 0);

  void set_front_end_addresses(std::vector<wire::Address> addresses);

  /// Adds a back end or a program, depending on `role`. After a restart with the same host key, it
  /// gets the same node and leaf again.
  OverlayNode& join(const wire::HostReport& report, wire::Role role = wire::Role::kBackEnd);

  /// Adds a node that joined under a former front end, with its place in the tree. Does nothing if
  /// the node's id is already known.
  void restore(OverlayNode node);

  /// Chooses hosts for the communication processes of `shape`. Then chooses a parent for every back
  /// end and every program. Returns the nodes to start. `known` has facts about each back end's
  /// host.
  ///
  /// `may_launch` is true if the owner can start processes on hosts without a back end. If
  /// `may_launch` is false, a topology file must not name these hosts, and `choice` must not have
  /// extra hosts.
  ///
  /// A host's number of cores, minus the reserved cores, limits the communication processes on the
  /// host in two cases:
  /// - With fuzzy placement, the measured number counts. Without a measurement, there is no limit,
  ///   unless `choice` reserves cores.
  /// - If `choice` reserves cores, with either policy, the measured number counts. Without a
  ///   measurement, the number that the back end has reported counts.
  ///
  /// Fails if tree::read_topology_file(), placement::plan_tree() or placement::room_of() fails, for
  /// example with kNotFound if a topology file names unknown hosts. After a failure nothing has
  /// changed.
  Result<std::vector<NodeId>> place(const tree::Shape& shape,
                                    const std::map<LeafId, KnownHost>& known,
                                    bool may_launch = false, const HostChoice& choice = {});

  /// Returns the back end that must start this communication process on its host; nullopt if the
  /// host has no back end.
  std::optional<NodeId> starter_of(NodeId comm_process) const;

  /// Notes that a communication process has started: where it listens for children, and its
  /// process id. Its state becomes kStarted, unless it is already attached. The node must exist.
  void started(NodeId comm_process, std::vector<wire::Address> addresses, std::uint32_t pid);
  /// Gives the state `state` to a communication process that could not be started or is lost. Each
  /// child of the process gets a new parent: the first living node of the child's own list of
  /// parents (see assignment()). Returns these children. The node must exist.
  std::vector<NodeId> remove(NodeId comm_process, NodeState state);
  /// True if no communication process is in the state kStarting. So it is also true without
  /// communication processes.
  bool all_started() const;

  /// Chooses a parent for a leaf that has joined after the placement, by the rules of
  /// placement::attach_one(). The leaf's host is found by its name, since a program reports no
  /// other identity of its host.
  void attach_late(NodeId late);

  /// Returns the node's place, with a list of parents in the order in which to try them. The
  /// planned parent comes first, then the fall-backs of the plan, then the front end. A node that
  /// is not in the plan gets its ancestors instead. Communication processes that have left or are
  /// lost are not in the list.
  wire::Assignment assignment(NodeId id) const;

  /// Returns the front end and all communication processes that are not lost, each below its
  /// current parent. Fails with kInvalidArgument if tree::is_host_name() refuses a host's name.
  Result<tree::Topology> topology() const;

  // The next four functions return null if there is no such node. The pointers are valid as long as
  // the Overlay, because no node is ever forgotten.
  OverlayNode* find(NodeId node);
  const OverlayNode* find(NodeId node) const;
  const OverlayNode* find(LeafId leaf) const;
  const OverlayNode* find_host(const std::string& host_key) const;
  const std::map<NodeId, OverlayNode>& nodes() const noexcept { return nodes_; }
  /// All leaves that have ever joined, including programs.
  const IntervalSet& leaves() const noexcept { return leaves_; }
  /// Number of back ends that have ever joined.
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
  /// Returns the living nodes to which `node` may attach, in the order of assignment().
  std::vector<NodeId> line_of(const OverlayNode& node) const;

  std::map<NodeId, OverlayNode> nodes_;
  std::map<std::string, NodeId> by_host_key_;
  std::map<LeafId, NodeId> by_leaf_;
  std::vector<NodeId> hosts_;  // Back end of each host, indexed by HostId.
  // Empty before the placement. Before the placement, all nodes are directly below the front end.
  std::optional<placement::Plan> plan_;
  std::vector<std::string> planned_hosts_;  // Names of the plan's hosts, indexed by HostId.
  std::unordered_map<std::string, std::vector<HostId>> planned_by_short_name_;
  std::vector<NodeId> planned_;  // Id in `nodes_`, indexed by the plan's node id.
  // For each id in `nodes_`, the parent's id in the plan.
  std::map<NodeId, NodeId> planned_parent_;
  std::vector<std::uint32_t> planned_loads_;  // Number of children, indexed by the plan's node id.
  std::uint32_t next_node_;
  std::uint32_t next_leaf_;
  IntervalSet leaves_;
};

}  // namespace xylem::frontend
