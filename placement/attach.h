#pragma once

// Attach: which internal leaf each back end connects to (claim 5 of the overlay patent).
//
// fanout = ceil(back ends / internal leaves). A back end gets an internal leaf on its own host if
// one is below the fanout, else one anywhere that is. So all attach, whatever the ratio.
//
// By hand, 10 back ends, 4 internal leaves, no host in common: fanout 3, loads 3 3 2 2.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "tree/host.h"
#include "tree/skeleton.h"

namespace xylem::placement {

/// A node that back ends may attach to: a communication process without children in the inner tree,
/// or the front end when there is no communication process.
struct InternalLeaf {
  NodeId node{};
  HostId host = tree::kNoHost;  ///< kNoHost matches no back end's host, not even kNoHost.
  std::uint32_t back_ends = 0;  ///< Attached already.
};

/// ceil((attached + arriving) / internal_leaves): the maximum number of back ends of a leaf. 0 when
/// there is no internal leaf.
std::size_t fanout(std::size_t back_ends, std::size_t internal_leaves);

/// Attaches back ends, given by their hosts, to internal leaves: entry i is the index in `leaves`
/// of the leaf of back end i. The caller updates the counts in `leaves`.
///
/// - No leaf is filled beyond fanout(attached + arriving, leaves). A leaf that exceeds it already,
///   after the loss of others, gets none.
/// - As many back ends as possible get a leaf on their own host: these are attached before any back
///   end goes to another host. If the host has several leaves, the least loaded gets the back end.
/// - The others, in order, each go to the least loaded leaf. Lowest index on ties, everywhere.
///
/// Linear in back ends, times the logarithm of leaves. Fails only when there are back ends and no
/// leaf, with kInvalidArgument.
Result<std::vector<std::size_t>> attach(std::span<const HostId> back_ends,
                                        std::span<const InternalLeaf> leaves);

/// The same for one back end that arrives later, when others are attached. Linear in leaves.
Result<std::size_t> attach_one(HostId back_end, std::span<const InternalLeaf> leaves);

/// Maximum number of fall-backs in an assignment, besides the parent and the front end.
constexpr std::size_t kMaxFallBacks = 6;

/// The nodes that a child of `parent` tries, in this order: `parent` itself; then, as fall-backs,
/// the other nodes of its level, least loaded first, at most half of `most`; then those of the
/// level above, and so on; always the front end last, once. All are on a higher level than the
/// child, so that following this line makes no cycle.
///
/// `loads[n]` is the number of children of node n, back ends included, for every node of the tree.
/// With equal loads, children of one parent get the same line. To spread them, add each child to
/// the load of its line's first fall-back before asking for its sibling's line. Linear in the nodes
/// of the levels visited.
std::vector<NodeId> parent_line(const tree::Skeleton& skeleton, NodeId parent,
                                std::span<const std::uint32_t> loads,
                                std::size_t most = kMaxFallBacks);

}  // namespace xylem::placement
