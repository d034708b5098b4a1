#pragma once

// The list of processes on this host whose series are measured. The agent adds its watched ranks:
// those that have registered, and those that `xylem attach` has found.

#include <cstdint>

#include "base/ids.h"

namespace xylem::backend {

/// The interface of the service `process` for the rest of the back end. services.h implements it.
/// If the run's configuration does not name this service, nothing is measured.
///
/// Not thread-safe. No call blocks, fails or sends signals. Call add() once for each lane, even
/// before the agent has its place in the tree. Call remove() when the process has ended. A worker
/// that replaces a dead worker adds its processes again.
class ProcessWatch {
 public:
  virtual ~ProcessWatch() = default;

  /// Measures the process `pid` with each sample from now on, for the rank of `lane`. A lane
  /// belongs to one process of this leaf for the whole run. The caller announces the rank to the
  /// store: it journals a registration with this lane. When the process has ended, or its pid was
  /// reused, it is no longer measured. If a lane is added again, the new pid replaces the old one.
  virtual void add(Lane lane, std::uint32_t pid) = 0;

  /// Call it when the process has ended. Unknown lanes are ignored.
  virtual void remove(Lane lane) = 0;
};

}  // namespace xylem::backend
