#include "placement/attach.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace xylem::placement {
namespace {

/// Least loaded first, then lowest index.
using Slot = std::pair<std::size_t, std::size_t>;
using Queue = std::priority_queue<Slot, std::vector<Slot>, std::greater<>>;

constexpr std::size_t kNotYet = static_cast<std::size_t>(-1);

/// Takes the least loaded leaf of a queue if it has room, and counts one more for it.
std::size_t take(Queue& queue, std::size_t limit) {
  if (queue.empty() || queue.top().first >= limit) return kNotYet;
  const auto [load, leaf] = queue.top();
  queue.pop();
  queue.emplace(load + 1, leaf);
  return leaf;
}

std::size_t count_attached(std::span<const InternalLeaf> leaves) {
  std::size_t sum = 0;
  for (const InternalLeaf& leaf : leaves) sum += leaf.back_ends;
  return sum;
}

Unexpected no_leaf() {
  return unexpected(Code::kInvalidArgument,
                    "there is no internal leaf to attach to; without communication processes the "
                    "front end is one");
}

}  // namespace

std::size_t fanout(std::size_t back_ends, std::size_t internal_leaves) {
  if (internal_leaves == 0) return 0;
  return back_ends / internal_leaves + (back_ends % internal_leaves != 0 ? 1 : 0);
}

Result<std::vector<std::size_t>> attach(std::span<const HostId> back_ends,
                                        std::span<const InternalLeaf> leaves) {
  std::vector<std::size_t> chosen(back_ends.size(), kNotYet);
  if (back_ends.empty()) return chosen;
  if (leaves.empty()) return no_leaf();
  const std::size_t limit = fanout(count_attached(leaves) + back_ends.size(), leaves.size());

  std::vector<std::size_t> loads(leaves.size());
  std::unordered_map<std::uint32_t, Queue> on_host;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    loads[leaf] = leaves[leaf].back_ends;
    if (leaves[leaf].host != tree::kNoHost) {
      on_host[raw(leaves[leaf].host)].emplace(loads[leaf], leaf);
    }
  }
  for (std::size_t i = 0; i < back_ends.size(); ++i) {
    const auto here = on_host.find(raw(back_ends[i]));
    if (here == on_host.end()) continue;
    chosen[i] = take(here->second, limit);
    if (chosen[i] != kNotYet) ++loads[chosen[i]];
  }

  std::vector<Slot> slots;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) slots.emplace_back(loads[leaf], leaf);
  Queue anywhere(std::greater<>(), std::move(slots));
  for (std::size_t& leaf : chosen) {
    if (leaf == kNotYet) leaf = take(anywhere, limit);
    CHECK(leaf != kNotYet);  // limit * leaves >= all back ends, so there is room for each.
  }
  return chosen;
}

Result<std::size_t> attach_one(HostId back_end, std::span<const InternalLeaf> leaves) {
  if (leaves.empty()) return no_leaf();
  const std::size_t limit = fanout(count_attached(leaves) + 1, leaves.size());
  std::size_t least = 0;
  std::size_t least_here = kNotYet;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    if (leaves[leaf].back_ends < leaves[least].back_ends) least = leaf;
    if (leaves[leaf].host != back_end || back_end == tree::kNoHost) continue;
    if (leaves[leaf].back_ends >= limit) continue;
    if (least_here == kNotYet || leaves[leaf].back_ends < leaves[least_here].back_ends) {
      least_here = leaf;
    }
  }
  return least_here != kNotYet ? least_here : least;
}

std::vector<NodeId> parent_line(const tree::Skeleton& skeleton, NodeId parent,
                                std::span<const std::uint32_t> loads, std::size_t max_fall_backs) {
  CHECK(loads.size() == skeleton.size());
  std::vector<NodeId> line{parent};
  if (parent == kFrontEndNode) return line;
  const auto lighter = [&](NodeId a, NodeId b) {
    return std::pair(loads[raw(a)], a) < std::pair(loads[raw(b)], b);
  };
  std::size_t room = max_fall_backs;
  for (std::uint32_t level = skeleton.level(parent); level > 0 && room > 0; --level) {
    const auto there = skeleton.nodes_at(level);
    std::vector<NodeId> nodes;
    std::ranges::copy_if(there, std::back_inserter(nodes), [&](NodeId n) { return n != parent; });
    // Each level gets half of the remaining number, so that a wide level leaves space for the
    // levels above it.
    const std::size_t taken = std::min(nodes.size(), (room + 1) / 2);
    std::partial_sort(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(taken),
                      nodes.end(), lighter);
    line.insert(line.end(), nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(taken));
    room -= taken;
  }
  line.push_back(kFrontEndNode);
  return line;
}

}  // namespace xylem::placement
