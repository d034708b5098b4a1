#pragma once

// Attach: chooses the internal leaf to which each back end connects (claim 5 of the overlay
// patent).
//
// fanout = ceil(back ends / internal leaves). A back end gets an internal leaf on its own host if a
// leaf there has fewer than `fanout` back ends. Otherwise it gets such a leaf on any host. So every
// back end is attached, whatever the numbers are.
//
// Example: with 10 back ends, 4 internal leaves and no common host, fanout is 3 and the leaves get
// 3, 3, 2 and 2 back ends.

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
/// tree, or the front end if there is no communication process.
struct InternalLeaf {
  NodeId node{};
  /// The node's host. kNoHost is never equal to a back end's host, even if that is kNoHost too.
  HostId host = tree::kNoHost;
  std::uint32_t back_ends = 0;  ///< Number of back ends that are already attached.
};

/// The maximum number of back ends of a leaf: ceil(back_ends / internal_leaves). `back_ends` counts
/// attached and arriving ones. 0 if there is no internal leaf.
std::size_t fanout(std::size_t back_ends, std::size_t internal_leaves);

/// Attaches back ends, given by their hosts, to internal leaves. Entry i of the result is the index
/// in `leaves` of the leaf of back end i. The caller updates the counts in `leaves`.
///
/// - No leaf gets more than fanout(attached + arriving, leaves) back ends. A leaf that already has
///   more, after the loss of other leaves, gets none.
/// - As many back ends as possible get a leaf on their own host; these are attached first. If the
///   host has several leaves, the least loaded leaf gets the back end.
/// - The other back ends, in order, each go to the least loaded leaf. On ties, everywhere, the
///   lowest index wins.
///
/// Takes time linear in the back ends times the logarithm of the leaves. Fails with
/// kInvalidArgument only if there are back ends and no leaf.
Result<std::vector<std::size_t>> attach(std::span<const HostId> back_ends,
                                        std::span<const InternalLeaf> leaves);

/// Chooses the leaf of one back end that arrives after others were attached, by the same rules.
/// Takes time linear in the leaves.
Result<std::size_t> attach_one(HostId back_end, std::span<const InternalLeaf> leaves);

/// Maximum number of fall-backs in an assignment, besides the parent and the front end.
constexpr std::size_t kMaxFallBacks = 6;

/// Returns the nodes that a child of `parent` tries, in order. First comes `parent`. Then come
/// fall-backs: other nodes of the parent's level, least loaded first, then nodes of the level
/// above, and so on. There are at most `most` fall-backs in all; each level gets at most half
/// (rounded up) of those still left. The front end is last and occurs once. All these nodes are on
/// a higher level than the child, so that reconnecting makes no cycle.
///
/// `loads[n]` is the number of children of node n, back ends included, for every node of the tree.
/// With equal loads, all children of one parent get the same line. To spread them, increase `loads`
/// of a child's first fall-back by one before you call parent_line() for the next child. Takes time
/// linear in the nodes of the levels it looks at.
std::vector<NodeId> parent_line(const tree::Skeleton& skeleton, NodeId parent,
                                std::span<const std::uint32_t> loads,
                                std::size_t most = kMaxFallBacks);

}  // namespace xylem::placement
