#pragma once

// Makes a topology from the recorded processes of a running or finished tree, for example to print
// it as a topology file.

#include <span>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "tree/topology.h"

namespace xylem::tree {

/// The record of an inner node.
struct ObservedProcess {
  NodeId id{};      ///< kFrontEndNode or any other number; each number occurs once.
  NodeId parent{};  ///< Ignored for the front end.
  std::string host;
};

/// Returns the tree of these processes; their order does not matter. Children are in the order of
/// their ids. The processes on one host get the numbers 0, 1, ... in the order of their ids.
/// Processes that are not below the front end are left out. This happens if a parent is missing, or
/// if there is a cycle.
///
/// Fails with kNotFound if the front end is missing. Fails with kInvalidArgument if is_host_name()
/// refuses a host's name, if an id occurs twice, or if there are more than kMaxCommProcesses
/// communication processes below the front end.
Result<Topology> topology_of(std::span<const ObservedProcess> processes);

}  // namespace xylem::tree
