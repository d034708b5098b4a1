#pragma once

// Attach: which internal leaf each back end connects to (claim 5 of the overlay patent).
//
// fanout = ceil(back ends / internal leaves). A back end gets an internal leaf on its own host
// while one has room below the fanout, else one anywhere that has. So all attach, whatever the
// ratio.
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
  HostId host = tree::kNoHost;  ///< kNoHost is on no back end's host, not even on another kNoHost.
  std::uint32_t back_ends = 0;  ///< Attached already.
};

/// ceil((attached + arriving) / internal_leaves): the most back ends that a leaf takes. 0 when
/// there is no internal leaf.
std::size_t fanout(std::size_t back_ends, std::size_t internal_leaves);

/// Attaches back ends, given by their hosts, to internal leaves: entry i is the index within
/// `leaves` of the one that back end i gets. The counts in `leaves` are the caller's to raise.
///
/// - No leaf is filled beyond fanout(attached + arriving, leaves). One that is beyond it already,
///   after the loss of others, gets none.
/// - As many back ends as possible get a leaf on their own host: all that find room there get it
///   before any back end goes elsewhere. Of several leaves there, the least loaded.
/// - The others, in order, each go to the least loaded leaf. Lowest index on ties, everywhere.
///
/// Linear in back ends, times the logarithm of leaves. Fails with kInvalidArgument when there are
/// back ends and no leaf, and only then.
Result<std::vector<std::size_t>> attach(std::span<const HostId> back_ends,
                                        std::span<const InternalLeaf> leaves);

/// The same for one that comes late, when others are attached: linear in leaves.
Result<std::size_t> attach_one(HostId back_end, std::span<const InternalLeaf> leaves);

/// Fall-backs that an assignment names, besides the parent and the front end.
constexpr std::size_t kMaxFallBacks = 6;

/// The nodes that a child of `parent` tries, in this order: `parent` itself; then, as fall-backs,
/// the other nodes of its level, least loaded first, at most half of `most`; then those of the
/// level above it, and so up; the front end last, always and once. Every one of them is on a higher
/// level than the child, so that whoever follows this line makes no cycle.
///
/// `loads[n]` is the number of children of node n, back ends included, for every node of the tree.
/// Children of one parent get one line when the loads stay the same; to spread them, count a child
/// for the first fall-back of its line before asking for its sibling's. Linear in the nodes of the
/// levels looked at.
std::vector<NodeId> parent_line(const tree::Skeleton& skeleton, NodeId parent,
                                std::span<const std::uint32_t> loads,
                                std::size_t most = kMaxFallBacks);

}  // namespace xylem::placement
