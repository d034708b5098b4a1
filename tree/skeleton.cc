#include "tree/skeleton.h"

#include "base/check.h"

namespace xylem::tree {

namespace {
constexpr std::uint32_t kRootOnly[] = {0};
}  // namespace

Skeleton::Skeleton() : Skeleton(kRootOnly) {}

Skeleton::Skeleton(std::span<const std::uint32_t> child_counts) {
  const std::size_t size = child_counts.size();
  CHECK(size >= 1 && size <= kMaxCommProcesses + 1);
  ids_.resize(size);
  parents_.resize(size);
  levels_.resize(size);
  first_child_.resize(size + 1);
  first_at_ = {0};
  std::size_t next = 1;  // The number that the next child gets.
  for (std::size_t node = 0; node < size; ++node) {
    CHECK(node < next);  // Otherwise this node would not be a child of an earlier node.
    ids_[node] = NodeId{static_cast<std::uint32_t>(node)};
    if (node > 0 && levels_[node] != levels_[node - 1]) {
      first_at_.push_back(static_cast<std::uint32_t>(node));
    }
    first_child_[node] = static_cast<std::uint32_t>(next);
    CHECK(child_counts[node] <= size - next);
    for (std::uint32_t child = 0; child < child_counts[node]; ++child, ++next) {
      parents_[next] = ids_[node];
      levels_[next] = levels_[node] + 1;
    }
  }
  CHECK(next == size);
  first_child_[size] = static_cast<std::uint32_t>(size);
  first_at_.push_back(static_cast<std::uint32_t>(size));
}

NodeId Skeleton::parent(NodeId node) const {
  CHECK(raw(node) < size());
  return parents_[raw(node)];
}

std::span<const NodeId> Skeleton::children(NodeId node) const {
  CHECK(raw(node) < size());
  const std::uint32_t first = first_child_[raw(node)];
  return std::span(ids_).subspan(first, first_child_[raw(node) + 1] - first);
}

std::uint32_t Skeleton::level(NodeId node) const {
  CHECK(raw(node) < size());
  return levels_[raw(node)];
}

std::span<const NodeId> Skeleton::nodes_at(std::uint32_t level) const {
  if (level > depth()) return {};
  return std::span(ids_).subspan(first_at_[level], first_at_[level + 1] - first_at_[level]);
}

std::vector<NodeId> Skeleton::internal_leaves() const {
  std::vector<NodeId> leaves;
  for (NodeId node : ids_) {
    if (is_internal_leaf(node)) leaves.push_back(node);
  }
  return leaves;
}

}  // namespace xylem::tree
