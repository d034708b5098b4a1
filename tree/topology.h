#pragma once

// A topology: the inner tree with a name for each of its processes, as a value.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "tree/skeleton.h"

namespace xylem::tree {

/// A process of the tree as MRNet names it: a host, and a number that distinguishes the processes
/// on that host. The numbers need not start at 0 and may have gaps.
struct Process {
  std::string host;
  std::uint32_t instance = 0;

  auto operator<=>(const Process&) const = default;
};

/// "node12:0".
std::string to_text(const Process& process);

/// Letters, digits, '.', '-', '_', 1 to 253 characters: the names that a topology text can hold.
bool is_host_name(std::string_view name);

/// A process and its children, in order: one statement of a topology text.
struct Branch {
  Process parent;
  std::vector<Process> children;
};

/// A place in a list of branches: a branch's parent, or one of its children.
struct BranchPlace {
  std::size_t branch = 0;            ///< Index of the branch.
  std::optional<std::size_t> child;  ///< Index within its children; nullopt: its parent.
};

/// The reason why branches do not form a tree, and where.
struct TopologyFault {
  BranchPlace at;
  std::optional<BranchPlace> first;  ///< The earlier place that `at` conflicts with.
  std::string what;                  ///< "host node12 is named twice: node12:0 is a child ..."
  std::string remedy;                ///< "give each process of a host a number of its own"
};

/// Processes with their parents and children. Always one tree with every process once: a value of
/// this type needs no validation. Two topologies are equal when every process has the same children
/// in the same order; the order of branches does not matter.
///
/// Ids are those of the skeleton: the front end is 0, then breadth first. Const calls may come from
/// any thread.
class Topology {
 public:
  /// The front end alone.
  explicit Topology(Process front_end);

  /// Names for a skeleton: `processes[n]` is node n.
  /// Fails with kInvalidArgument when the sizes differ, a host name is invalid (is_host_name) or
  /// two processes are the same.
  static Result<Topology> make(Skeleton skeleton, std::vector<Process> processes);

  /// From branches in any order; the process without a parent is the front end. A leaf needs no
  /// branch; a branch without children is allowed.
  ///
  /// Fails with kInvalidArgument: no branch; an invalid host name; a cycle; a process named twice
  /// as a child or as a parent; parts that are not connected; too many processes. The sentence says
  /// which; find_fault also says where. `places`, if given, receives each node's place as a child,
  /// and for the front end its branch.
  static Result<Topology> make(std::span<const Branch> branches,
                               std::vector<BranchPlace>* places = nullptr);

  const Skeleton& skeleton() const { return skeleton_; }
  std::size_t size() const { return processes_.size(); }
  const Process& process(NodeId node) const;
  const Process& front_end() const { return processes_.front(); }
  /// By node id, the front end first.
  std::span<const Process> processes() const { return processes_; }
  /// Linear search; nullopt when it is not in the tree.
  std::optional<NodeId> find(const Process& process) const;

  bool operator==(const Topology&) const = default;

 private:
  Topology(Skeleton skeleton, std::vector<Process> processes);

  Skeleton skeleton_;
  std::vector<Process> processes_;
};

/// The first reason why branches do not form a tree; nullopt if they do. The caller checks for an
/// empty list, which has no place to report. A cycle is found first, then repeated names, then
/// parts that are not connected.
std::optional<TopologyFault> find_fault(std::span<const Branch> branches);

}  // namespace xylem::tree
