#pragma once

// Makes the topology of a tree that runs or has run from its recorded processes. It can be printed
// as a topology file.

#include <span>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "tree/topology.h"

namespace xylem::tree {

/// An inner process as it was recorded.
struct ObservedProcess {
  NodeId id{};      ///< kFrontEndNode or any other number; each number occurs once.
  NodeId parent{};  ///< Ignored for the front end.
  std::string host;
};

/// Returns the tree of these processes, which may be in any order. Children are in the order of
/// their ids. The processes on one host are numbered from 0 in the order of their ids. Processes
/// that are not below the front end (because of a missing parent or a cycle) are left out.
///
/// Fails with kNotFound if the front end is missing, and with kInvalidArgument if a host name is
/// invalid in a topology (is_host_name) or if an id occurs twice.
Result<Topology> topology_of(std::span<const ObservedProcess> processes);

}  // namespace xylem::tree
