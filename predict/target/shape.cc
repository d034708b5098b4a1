#include <algorithm>
#include <array>

#include "base/check.h"
#include "predict/target/shape_internal.h"

namespace xylem::predict {

std::span<const Shape> shapes() {
  static const std::array<Shape, 6> kShapes = {{
      {"crossbar", TopologyKind::kCrossbar, {"topology.nodes"}},
      {"fat_tree", TopologyKind::kFatTree, {"topology.arity", "topology.levels"}},
      {"mesh", TopologyKind::kMesh, {"topology.size"}},
      {"torus", TopologyKind::kTorus, {"topology.size"}},
      {"dragonfly",
       TopologyKind::kDragonfly,
       {"topology.groups", "topology.routers", "topology.nodes_per_router",
        "topology.global_links"}},
      {"graph", TopologyKind::kGraph, {"topology.file"}},
  }};
  return kShapes;
}

const Shape& shape_of(TopologyKind kind) {
  const auto all = shapes();
  const auto found = std::ranges::find(all, kind, &Shape::kind);
  CHECK(found != all.end());
  return *found;
}

Result<std::unique_ptr<Topology>> make_topology(const TopologyOptions& options) {
  switch (options.kind) {
    case TopologyKind::kCrossbar:
      return make_crossbar(options.nodes);
    case TopologyKind::kFatTree:
      return make_fat_tree(options.arity, options.levels);
    case TopologyKind::kMesh:
      return make_grid(options.sizes, false);
    case TopologyKind::kTorus:
      return make_grid(options.sizes, true);
    case TopologyKind::kDragonfly:
      return make_dragonfly(options.dragonfly);
    case TopologyKind::kNone:
    case TopologyKind::kGraph:
      break;
  }
  CHECK(false);
  return unexpected(Code::kInternal, "not reached");
}

std::string fault_of_storage(const Target& target, const Topology& topology) {
  const StorageOptions& storage = target.storage;
  const std::string has = "the topology has " + std::to_string(topology.nodes()) + " nodes";
  if (storage.nodes >= topology.nodes()) {
    return "storage.nodes is " + std::to_string(storage.nodes) + ", but " + has +
           ", and ranks need one; make it larger, or use fewer storage nodes";
  }
  if (storage.attached.empty()) return "";
  const std::uint32_t last = std::ranges::max(storage.attached);
  if (last < topology.nodes()) return "";
  return "storage.attached names node " + std::to_string(last) + ", but " + has +
         ", numbered from 0; use one of these";
}

std::string fault_of_count(const Target& target, const Topology& topology) {
  if (target.nodes + std::uint64_t{target.storage.nodes} <= topology.nodes()) return "";
  const std::string without =
      target.storage.nodes == 0
          ? ""
          : ", of which " + std::to_string(target.storage.nodes) + " are storage nodes";
  return "node.count is " + std::to_string(target.nodes) + ", but the topology has " +
         std::to_string(topology.nodes()) + " nodes" + without +
         "; make it larger, or use fewer nodes";
}

}  // namespace xylem::predict
