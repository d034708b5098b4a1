#pragma once

// The list of processes on this host whose series are measured. The agent adds ranks that
// registered; the search for ranks without the capture library adds those that it found.

#include "base/ids.h"
#include "wire/registration.h"

namespace xylem::backend {

/// The service `process` as the rest of the back end sees it (services.h implements it; if the
/// run's configuration does not name that service, calls only maintain the list).
///
/// One thread. No call blocks, fails or sends signals. Order: add() once for each lane, before or
/// after the place in the tree is known, and again in each successor of a dead worker; remove()
/// when the process has ended.
class ProcessWatch {
 public:
  virtual ~ProcessWatch() = default;

  /// Which registration announces the rank to the store.
  enum class Announced {
    kElsewhere,  ///< A registration with this lane is, or will be, journalled by the caller.
    kHere,       ///< `row` goes into a registration of the leaf as soon as there is a place.
  };

  /// Measures `row.pid` with each sample from now on, for the rank of `row.lane`. A lane belongs to
  /// one process of this leaf for the whole run. With kElsewhere only lane and pid are used. A pid
  /// that has ended or been reused is no longer measured. If a lane is added again, the newer row
  /// counts.
  virtual void add(const wire::ProcessRow& row, Announced announced) = 0;

  /// The process has ended. Unknown lanes are ignored.
  virtual void remove(Lane lane) = 0;
};

/// The guard gives registered processes lanes below this; ranks that are found by other means have
/// lanes from here on.
constexpr Lane kFirstFoundLane{1u << 24};

}  // namespace xylem::backend
