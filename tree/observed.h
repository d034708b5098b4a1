#pragma once

// The topology of a tree that runs, or ran: what is written down of its processes, as a value that
// prints as a topology file.

#include <span>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "tree/topology.h"

namespace xylem::tree {

/// An inner process as the tree tells of it.
struct ObservedProcess {
  NodeId id{};      ///< kFrontEndNode, or any other number, each once.
  NodeId parent{};  ///< The front end's own does not matter.
  std::string host;
};

/// The tree of these processes, in any order. Children are in the order of their ids. The processes
/// on one host are numbered by their ids, from 0. What is not below the front end, by whatever way
/// (its parent is not among them; a cycle), is left out.
///
/// Fails with kNotFound when the front end is not among them, kInvalidArgument when a host's name
/// cannot stand in a topology (is_host_name) or an id is there twice.
Result<Topology> topology_of(std::span<const ObservedProcess> processes);

}  // namespace xylem::tree
