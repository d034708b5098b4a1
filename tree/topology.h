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

/// The name of a process of the tree, as in MRNet: a host, and a number that distinguishes the
/// processes on this host. The numbers need not start at 0 and may have gaps.
struct Process {
  std::string host;
  std::uint32_t instance = 0;

  auto operator<=>(const Process&) const = default;
};

/// Returns "node12:0".
std::string to_text(const Process& process);

/// Returns true if a topology text can contain this name: it has 1 to 253 characters, and each is a
/// letter, a digit, '.', '-' or '_'.
bool is_host_name(std::string_view name);

/// One statement of a topology text: a process and its children, in order.
struct Branch {
  Process parent;
  std::vector<Process> children;
};

/// A position in a list of branches: the parent of a branch, or one of its children.
struct BranchPlace {
  std::size_t branch = 0;            ///< Index of the branch.
  std::optional<std::size_t> child;  ///< Index of the child; nullopt means the branch's parent.
};

/// The first error in a list of branches, and its position.
struct TopologyFault {
  BranchPlace at;
  /// The earlier position that conflicts with `at`; nullopt if only `at` is wrong.
  std::optional<BranchPlace> first;
  std::string what;    ///< "host node12 is named twice: node12:0 is a child ..."
  std::string remedy;  ///< "give each process of a host a number of its own"
};

/// The processes of a tree, with their parents and children. A value of this type is always valid:
/// the processes form one tree, and every process occurs once. Two topologies are equal if every
/// process has the same children in the same order. The order of the branches from which they were
/// made does not matter.
///
/// The ids of nodes are the same as in the skeleton: the front end is 0, then the communication
/// processes follow breadth first. Any thread may call const functions.
class Topology {
 public:
  /// Makes a topology that has only the front end. Does not check the host's name.
  explicit Topology(Process front_end);

  /// Gives names to the nodes of a skeleton: `processes[n]` is node n. Fails with kInvalidArgument
  /// if the sizes differ, if is_host_name() refuses a host's name, or if two processes are the
  /// same.
  static Result<Topology> make(Skeleton skeleton, std::vector<Process> processes);

  /// Makes a topology from branches in any order. The process without a parent is the front end. A
  /// process without children needs no branch, but may have one.
  ///
  /// If `places` is not null, it receives the position of each node. The position of the front end
  /// is its branch. The position of any other node is the place where it is listed as a child.
  ///
  /// Fails with kInvalidArgument in these cases. The message gives the reason. Except for the first
  /// case, find_fault() also gives the position.
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
  /// Returns the processes in the order of node ids; the front end is the first.
  std::span<const Process> processes() const { return processes_; }
  /// Returns the node of a process; nullopt if the process is not in the tree. The time is
  /// proportional to the number of nodes.
  std::optional<NodeId> find(const Process& process) const;

  bool operator==(const Topology&) const = default;

 private:
  Topology(Skeleton skeleton, std::vector<Process> processes);

  Skeleton skeleton_;
  std::vector<Process> processes_;
};

/// Returns the first error in `branches`; nullopt if they form a tree. `branches` must not be
/// empty, because an empty list has no position to report. The order of the checks is: host names,
/// cycles, repeated names, parts that are not connected. The number of processes is not checked.
std::optional<TopologyFault> find_fault(std::span<const Branch> branches);

}  // namespace xylem::tree
