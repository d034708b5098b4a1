#pragma once

// Findings of a world that need more than its efficiency: imbalances that move, ranks that compute
// in turn, the mapping of ranks to hosts, communicators.

#include <algorithm>
#include <string>
#include <vector>

#include "storage/read/findings.h"

namespace xylem::storage {

/// A finding, and the share of the run's time that it costs.
struct Costly {
  double cost = 0;
  Finding finding;
};

/// 0 to 1; 0 if there is no whole.
inline double share_of(double part, double whole) {
  return whole <= 0 ? 0 : std::clamp(part / whole, 0.0, 1.0);
}

/// What stands before an estimated number.
inline std::string about(bool estimated) { return estimated ? "~" : ""; }

/// The share of T by which the slowest rank of each slice is above the mean, summed over the
/// slices; 0 if the slices are unknown.
double slice_imbalance(const Activity& activity, const WorldEfficiency& world);

/// Finds kMovingImbalance, kSerialised, kMapping and kCommunicators. `thread_ns` is the time of all
/// threads, `message_share` the part of it in calls that move messages.
std::vector<Costly> find_by_rules(const Activity& activity, const FindingLimits& limits,
                                  const WorldEfficiency& world, double thread_ns,
                                  double message_share);

}  // namespace xylem::storage
