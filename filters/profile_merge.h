#pragma once

// Merges the monitor's windows. Each row belongs to one process, so the merged window has the rows
// of all windows. The result is exactly the same as without a tree.

#include <vector>

#include "wire/packet.h"
#include "wire/profile.h"

namespace xylem::filters {

/// Merges windows of one wave from disjoint leaves. Rows are sorted by leaf and lane, so that the
/// result does not depend on the order of arrival. An empty list gives an empty window.
wire::ProfileWindow merge_profile_windows(std::vector<wire::ProfileWindow> windows);

/// A MergeFunction (wave_merger.h) for packets that contain windows. Returns false if a payload
/// cannot be decoded, or if all payloads together have more than half of wire::kMaxFrameBytes.
bool merge_window_packets(const std::vector<wire::Packet>& packets, wire::Bytes& merged);

}  // namespace xylem::filters
