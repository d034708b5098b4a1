#pragma once

// The list of processes on this host whose series are measured. The agent adds its watched ranks:
// those that have registered, and those that `xylem attach` has found.

#include "base/ids.h"
#include "wire/registration.h"

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

  /// Says who announces the rank to the store.
  enum class Announced {
    kElsewhere,  ///< The caller has journalled, or will journal, a registration with this lane.
    kHere,       ///< The service journals a registration with `row` as soon as the leaf has its id.
  };

  /// Measures `row.pid` with each sample from now on, for the rank of `row.lane`. A lane belongs to
  /// one process of this leaf for the whole run. With kElsewhere, add() uses only lane and pid.
  /// When the process has ended, or its pid was reused, it is no longer measured. If a lane is
  /// added again, the new row replaces the old one.
  virtual void add(const wire::ProcessRow& row, Announced announced) = 0;

  /// Call it when the process has ended. Unknown lanes are ignored.
  virtual void remove(Lane lane) = 0;
};

/// The lowest lane for processes that are added with kHere. Processes of the guard get lower lanes.
constexpr Lane kFirstFoundLane{1u << 24};

}  // namespace xylem::backend
