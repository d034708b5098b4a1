#pragma once

// What the placement of a tree needs to know of a host.

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace xylem::tree {

/// No host of the list at hand: where the front end stands when it is not on one of the job's
/// hosts.
constexpr HostId kNoHost{0xffffffff};

/// One host of the job. Its HostId is its index in the host list at hand, and nothing else: a list
/// with another order gives other ids. Two hosts may have one name (two containers on one node).
struct Host {
  std::string name;             ///< As the host calls itself: "node12" or "node12.cluster.org".
  std::uint32_t back_ends = 1;  ///< Leaves that will attach from here; 0: it only carries CPs.
  std::uint64_t processes = 0;  ///< What runs here already and is to be levelled: monitored ranks.
  std::uint32_t cores = 0;      ///< That processes may use; 0: not known. Limits what goes there.

  bool operator==(const Host&) const = default;
};

}  // namespace xylem::tree
