#pragma once

// The topology of a tree that runs or ran, made from the recorded processes. It prints as a
// topology file.

#include <span>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "tree/topology.h"

namespace xylem::tree {

/// An inner process as recorded.
struct ObservedProcess {
  NodeId id{};      ///< kFrontEndNode, or any other number, each once.
  NodeId parent{};  ///< Ignored for the front end.
  std::string host;
};

/// The tree of these processes, in any order. Children are in the order of their ids. The processes
/// on one host are numbered by their ids, from 0. Processes that are not below the front end (a
/// missing parent, a cycle) are left out.
///
/// Fails with kNotFound when the front end is missing, and with kInvalidArgument when a host's name
/// is invalid in a topology (is_host_name) or an id occurs twice.
Result<Topology> topology_of(std::span<const ObservedProcess> processes);

}  // namespace xylem::tree
