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

/// A process of the tree as MRNet names it: a host, and a number that tells the processes on one
/// host apart. The numbers of a host need not start at 0 nor be dense.
struct Process {
  std::string host;
  std::uint32_t instance = 0;

  auto operator<=>(const Process&) const = default;
};

/// "node12:0".
std::string to_text(const Process& process);

/// Letters, digits, '.', '-', '_', at least one and at most 253: what a topology text can hold.
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

/// Why branches are no tree, and which of them is to blame.
struct TopologyFault {
  BranchPlace at;
  std::optional<BranchPlace> first;  ///< What `at` contradicts: where the name stands already.
  std::string what;                  ///< "host node12 is named twice: node12:0 is a child ..."
  std::string remedy;                ///< "give each process of a host a number of its own"
};

/// Processes, and who is whose child. Always one tree with every process once: a value of this type
/// needs no validation. Two are equal when every process has the same children in the same order,
/// however the branches were ordered.
///
/// Ids are those of the skeleton: the front end is 0, then breadth first. Const calls may come from
/// any thread.
class Topology {
 public:
  /// The front end alone.
  explicit Topology(Process front_end);

  /// Names for a skeleton: `processes[n]` is node n.
  /// Fails with kInvalidArgument when their numbers differ, a name is no host name (is_host_name)
  /// or two processes are the same.
  static Result<Topology> make(Skeleton skeleton, std::vector<Process> processes);

  /// From branches in any order; the process that is nobody's child is the front end. A leaf needs
  /// no branch; one without children is allowed.
  ///
  /// Fails with kInvalidArgument: no branch; a name is no host name; a cycle; a process named twice
  /// as a child or as a parent; parts that are not connected; too many processes. The sentence says
  /// which; find_fault says also where. `places`, if given, gets for each node where it stands as a
  /// child, and for the front end its branch.
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

/// The first reason why branches are no tree; nullopt when they are one. No branch at all is left
/// to the caller, since there is nothing to blame. A cycle is found first, then repeated names,
/// then parts that are not connected.
std::optional<TopologyFault> find_fault(std::span<const Branch> branches);

}  // namespace xylem::tree
