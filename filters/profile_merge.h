#pragma once

// Aggregation of the monitor's windows. Rows belong to one process each, so windows of disjoint
// leaves merge by putting their rows together: the result is the flat gather, bit for bit.

#include <vector>

#include "wire/packet.h"
#include "wire/profile.h"

namespace xylem::filters {

/// Windows of one wave from disjoint leaves. Rows are put in order of leaf and lane, so that the
/// result does not depend on the order of arrival. An empty list gives an empty window.
wire::ProfileWindow merge_profile_windows(std::vector<wire::ProfileWindow> windows);

/// The same on packets, as a MergeFunction. False when a payload cannot be read, or when the result
/// would not fit into a frame.
bool merge_window_packets(const std::vector<wire::Packet>& packets, wire::Bytes& merged);

}  // namespace xylem::filters
