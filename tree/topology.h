#pragma once

// A topology, as a value: the inner tree and a name for each of its processes.

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

/// A process of the tree, named as in MRNet: a host, and a number that distinguishes the processes
/// on that host. The numbers need not start at 0 and may have gaps.
struct Process {
  std::string host;
  std::uint32_t instance = 0;

  auto operator<=>(const Process&) const = default;
};

/// Returns "node12:0".
std::string to_text(const Process& process);

/// Returns true if a topology text can contain this name: 1 to 253 characters, each a letter, a
/// digit, '.', '-' or '_'.
bool is_host_name(std::string_view name);

/// A process and its children, in order: one statement of a topology text.
struct Branch {
  Process parent;
  std::vector<Process> children;
};

/// A position in a list of branches: the parent of a branch, or one of its children.
struct BranchPlace {
  std::size_t branch = 0;            ///< Index of the branch.
  std::optional<std::size_t> child;  ///< Index of the child; nullopt means the branch's parent.
};

/// The reason why branches do not form a tree, and its position.
struct TopologyFault {
  BranchPlace at;
  /// The earlier position that conflicts with `at`; nullopt if only `at` is wrong.
  std::optional<BranchPlace> first;
  std::string what;    ///< "host node12 is named twice: node12:0 is a child ..."
  std::string remedy;  ///< "give each process of a host a number of its own"
};

/// Processes with their parents and children. They always form one tree, and every process occurs
/// once; so a value of this type needs no validation. Two topologies are equal if every process has
/// the same children in the same order. The order of branches does not matter.
///
/// The ids of nodes are the same as in the skeleton: the front end is 0, the others follow breadth
/// first. Any thread may call const functions.
class Topology {
 public:
  /// Makes a topology of the front end alone.
  explicit Topology(Process front_end);

  /// Gives names to the nodes of a skeleton: `processes[n]` is node n. Fails with kInvalidArgument
  /// if the sizes differ, if is_host_name() refuses a host's name, or if two processes are the
  /// same.
  static Result<Topology> make(Skeleton skeleton, std::vector<Process> processes);

  /// Makes a topology from branches in any order. The process without a parent is the front end. A
  /// process without children needs no branch; a branch without children is allowed.
  ///
  /// If `places` is given, it receives the position of each node. The front end's position is its
  /// branch; the position of every other node is where it is a child.
  ///
  /// Fails with kInvalidArgument in these cases. The message gives the reason; find_fault() also
  /// gives the position.
  /// - no branch, or too many processes;
  /// - an invalid host name;
  /// - a cycle, or parts that are not connected;
  /// - a process that occurs twice as a child or twice as a parent.
  static Result<Topology> make(std::span<const Branch> branches,
                               std::vector<BranchPlace>* places = nullptr);

  const Skeleton& skeleton() const { return skeleton_; }
  std::size_t size() const { return processes_.size(); }
  const Process& process(NodeId node) const;
  const Process& front_end() const { return processes_.front(); }
  /// Returns the processes by node id, the front end first.
  std::span<const Process> processes() const { return processes_; }
  /// Returns nullopt if the process is not in the tree. Searches linearly.
  std::optional<NodeId> find(const Process& process) const;

  bool operator==(const Topology&) const = default;

 private:
  Topology(Skeleton skeleton, std::vector<Process> processes);

  Skeleton skeleton_;
  std::vector<Process> processes_;
};

/// Returns the first reason why branches do not form a tree; nullopt if they form one. `branches`
/// must not be empty, because an empty list has no position to report. The order of the checks is:
/// cycles, repeated names, parts that are not connected.
std::optional<TopologyFault> find_fault(std::span<const Branch> branches);

}  // namespace xylem::tree
