#pragma once

// Whose process series are taken on this host: told by whoever knows the ranks. The agent tells of
// those that registered with it; whoever finds ranks that were not preloaded tells of those.

#include "base/ids.h"
#include "wire/registration.h"

namespace xylem::backend {

/// The service `process` as the rest of the back end sees it (services.h implements it; in a run
/// whose configuration does not name that service all calls do nothing but keep the list).
///
/// One thread. Nothing here blocks, fails or signals anybody. Order: add() once for each lane,
/// before or after the place in the tree is known, and again in each successor of a worker that
/// died; remove() when the process has ended.
class ProcessWatch {
 public:
  virtual ~ProcessWatch() = default;

  /// Who makes the rank known to the store.
  enum class Announced {
    kElsewhere,  ///< A registration with this lane is, or will be, journalled by the caller.
    kHere,       ///< `row` goes into a registration of the leaf as soon as there is a place.
  };

  /// From now on `row.pid` is looked at with each sample, which goes to the rank of `row.lane`; a
  /// lane belongs to one process of this leaf for the whole run. With kElsewhere only lane and pid
  /// count. A pid that is gone, or that the system has given to another process since, is not
  /// looked at any more. Told again of a lane: the newer row counts.
  virtual void add(const wire::ProcessRow& row, Announced announced) = 0;

  /// The process has ended. Unknown lanes are no mistake.
  virtual void remove(Lane lane) = 0;
};

/// Lanes that the guard gives to processes that register are below this; ranks that are found by
/// other means are numbered from here on.
constexpr Lane kFirstFoundLane{1u << 24};

}  // namespace xylem::backend
