#pragma once

// The inner tree without hosts or names: the front end and the communication processes below it.
// Back ends are not part of it; they attach to the internal leaves of this tree.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace xylem::tree {

/// Maximum number of communication processes in a tree. It prevents a mistyped shape from
/// allocating all memory.
constexpr std::size_t kMaxCommProcesses = 1'000'000;

/// The inner tree as a value. Nodes are numbered breadth first: the front end is 0, then come all
/// nodes of level 1, then all nodes of level 2, and so on. So a parent has a smaller number than
/// its children. The children of a node have consecutive numbers. The nodes of a level also have
/// consecutive numbers.
///
///          0              parent:   -  0  0  1  1  2
///        1   2            level:    0  1  1  2  2  2
///       3 4   5           internal leaves: 3 4 5
///
/// There is always a front end. If the tree has only the front end, the front end is the only
/// internal leaf. Any thread may call const functions. Passing a NodeId that is not in the tree is
/// a bug and stops the program.
class Skeleton {
 public:
  /// Makes a tree that has only the front end.
  Skeleton();

  /// Makes a tree. `child_counts[n]` is the number of children of node n: {2, 2, 1, 0, 0, 0} gives
  /// the tree drawn above. A list is valid if its sum is its length minus 1, no node comes before
  /// its parent, and there are at most kMaxCommProcesses + 1 nodes. An invalid list is a bug and
  /// stops the program.
  explicit Skeleton(std::span<const std::uint32_t> child_counts);

  /// Returns the number of nodes, including the front end.
  std::size_t size() const { return parents_.size(); }
  std::size_t comm_processes() const { return size() - 1; }
  /// Returns the number of links from the front end to the deepest node; 0 if there is only the
  /// front end.
  std::uint32_t depth() const { return levels_.back(); }

  /// Returns the parent of a node. The parent of the front end is the front end itself.
  NodeId parent(NodeId node) const;
  std::span<const NodeId> children(NodeId node) const;
  /// Returns the number of links from the node to the front end; 0 for the front end itself.
  std::uint32_t level(NodeId node) const;
  /// Returns the nodes of a level, left to right; empty if the level is deeper than depth().
  std::span<const NodeId> nodes_at(std::uint32_t level) const;
  /// Returns all nodes in order: the front end, then every communication process.
  std::span<const NodeId> nodes() const { return ids_; }

  /// Returns true for a node without children in the inner tree. Back ends attach to these nodes.
  bool is_internal_leaf(NodeId node) const { return children(node).empty(); }
  /// Returns the internal leaves in the order of their numbers; never empty.
  std::vector<NodeId> internal_leaves() const;

  bool operator==(const Skeleton&) const = default;

 private:
  std::vector<NodeId> ids_;
  std::vector<NodeId> parents_;
  /// The children of v are the nodes [first_child_[v], first_child_[v + 1]).
  std::vector<std::uint32_t> first_child_;
  std::vector<std::uint32_t> levels_;
  std::vector<std::uint32_t> first_at_;  // The nodes of level l: [first_at_[l], first_at_[l + 1]).
};

}  // namespace xylem::tree
