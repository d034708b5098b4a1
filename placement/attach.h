#pragma once

// Attach: chooses the internal leaf to which each back end connects (claim 5 of patent
// CN103051509A).
//
// fanout = ceil(back ends / internal leaves). A back end attaches to an internal leaf on the same
// host if that leaf has fewer than `fanout` back ends. Otherwise it attaches to the least loaded
// internal leaf, again one with fewer than `fanout` back ends. So every back end is attached.
//
// Example: there are 10 back ends and 4 internal leaves, and no host has both. `fanout` is 3, and
// the internal leaves get 3, 3, 2 and 2 back ends.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "tree/host.h"
#include "tree/skeleton.h"

namespace xylem::placement {

/// A node to which back ends may attach: a communication process without children in the inner
/// tree. If there is no communication process, the only internal leaf is the front end.
struct InternalLeaf {
  NodeId node{};
  /// The node's host. kNoHost never counts as the same host, even if a back end's host is also
  /// kNoHost.
  HostId host = tree::kNoHost;
  std::uint32_t back_ends = 0;  ///< Number of back ends that are already attached.
};

/// Returns the maximum number of back ends of an internal leaf: ceil(back_ends / internal_leaves).
/// `back_ends` counts both attached and new back ends. Returns 0 if there is no internal leaf.
std::size_t fanout(std::size_t back_ends, std::size_t internal_leaves);

/// Chooses an internal leaf for each new back end. `back_ends[i]` is the host of back end i, and
/// entry i of the result is an index in `leaves`. The caller must then update the counts in
/// `leaves`.
///
/// - No internal leaf gets more than `fanout` back ends, where `fanout` is computed for all
///   attached and new back ends. An internal leaf may already have more, because others were lost;
///   then it gets no new back end.
/// - First, as many back ends as possible get an internal leaf on the back end's own host. If a
///   host has several internal leaves, the least loaded of them gets the back end.
/// - Then each of the other back ends, in order, gets the least loaded internal leaf. On all ties,
///   the lowest index wins.
///
/// Takes time proportional to (b + l) log l, for b back ends and l internal leaves. Fails with
/// kInvalidArgument only if there are back ends but no internal leaf.
Result<std::vector<std::size_t>> attach(std::span<const HostId> back_ends,
                                        std::span<const InternalLeaf> leaves);

/// Chooses the internal leaf of one back end that joins later. The rules are the same as in
/// attach(). Takes time proportional to the number of internal leaves. Fails with kInvalidArgument
/// only if there is none.
Result<std::size_t> attach_one(HostId back_end, std::span<const InternalLeaf> leaves);

/// Maximum number of fall-backs that a child gets. The parent and the front end are not counted.
constexpr std::size_t kMaxFallBacks = 6;

/// Returns the nodes that a child of `parent` tries, in order:
/// - First comes `parent`.
/// - Then come at most `max_fall_backs` fall-backs: first other nodes of the parent's level, least
///   loaded first, then nodes of the level above, and so on. Each level fills at most half of the
///   remaining entries, rounded up.
/// - Last comes the front end. It occurs only once.
///
/// All these nodes are closer to the front end than the child. So reconnecting cannot make a cycle.
///
/// `loads[n]` is the number of children of node n, including back ends. It has an entry for every
/// node of the tree. If the loads do not change, all children of one parent get the same list. To
/// spread the children, add one to `loads` of the first fall-back after each call. The time is
/// proportional to the number of nodes on the levels that are used.
std::vector<NodeId> parent_line(const tree::Skeleton& skeleton, NodeId parent,
                                std::span<const std::uint32_t> loads,
                                std::size_t max_fall_backs = kMaxFallBacks);

}  // namespace xylem::placement
