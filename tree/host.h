#pragma once

// The description of a host for the placement of a tree.

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace xylem::tree {

/// None of the hosts in the list: the front end's host when it is not one of the job's hosts.
constexpr HostId kNoHost{0xffffffff};

/// One host of the job. Its HostId is its index in the host list and valid only for that list. Two
/// hosts may have the same name (two containers on one node).
struct Host {
  std::string name;             ///< As the host calls itself: "node12" or "node12.cluster.org".
  std::uint32_t back_ends = 1;  ///< Leaves that will attach from here; 0: only CPs run here.
  std::uint64_t processes = 0;  ///< Load that even placement levels: monitored ranks.
  std::uint32_t cores = 0;  ///< Cores that processes may use, a limit for placement; 0: unknown.

  bool operator==(const Host&) const = default;
};

}  // namespace xylem::tree
