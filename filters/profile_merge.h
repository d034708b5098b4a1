#pragma once

// Aggregation of the monitor's windows. Each row belongs to one process, so windows of disjoint
// leaves are merged by concatenating their rows. The result is exactly the same as without a tree.

#include <vector>

#include "wire/packet.h"
#include "wire/profile.h"

namespace xylem::filters {

/// Merges windows of one wave from disjoint leaves. Rows are sorted by leaf and lane, so that the
/// result does not depend on the order of arrival. An empty list gives an empty window.
wire::ProfileWindow merge_profile_windows(std::vector<wire::ProfileWindow> windows);

/// Merges packets of windows in the same way, as a MergeFunction. Returns false if a payload cannot
/// be read or if the result does not fit into a frame.
bool merge_window_packets(const std::vector<wire::Packet>& packets, wire::Bytes& merged);

}  // namespace xylem::filters
