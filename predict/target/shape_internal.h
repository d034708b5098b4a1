#pragma once

// The kinds of topologies in a target.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "predict/target/target.h"

namespace xylem::predict {

struct Shape {
  const char* name;  ///< The value of topology.kind.
  TopologyKind kind;
  std::vector<std::string> keys;  ///< The other keys, all of which are needed.
};

/// All kinds but kNone.
std::span<const Shape> shapes();
/// `kind` is not kNone.
const Shape& shape_of(TopologyKind kind);

/// Any kind but kNone and kGraph. Fails as the functions of network/topology.h do.
Result<std::unique_ptr<Topology>> make_topology(const TopologyOptions& options);

/// "" if the topology has room for the storage nodes and at least one other node, else a sentence.
std::string fault_of_storage(const Target& target, const Topology& topology);

/// "" if the topology has all nodes of the target besides the storage nodes, else a sentence.
std::string fault_of_count(const Target& target, const Topology& topology);

}  // namespace xylem::predict
