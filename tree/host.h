#pragma once

// The description of a host for the placement of a tree.

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace xylem::tree {

/// No host of the list. Used for the front end's host if it is not one of the job's hosts.
constexpr HostId kNoHost{0xffffffff};

/// One host of the job. Its HostId is its index in the host list and is valid only for that list.
/// Two hosts may have the same name (two containers on one node).
struct Host {
  /// The host's own name for itself: "node12" or "node12.cluster.org".
  std::string name;
  /// Number of leaves that will attach from this host; 0: only CPs run here.
  std::uint32_t back_ends = 1;
  /// Number of monitored ranks. Even placement (placement/even.h) balances this number over the
  /// hosts.
  std::uint64_t processes = 0;
  /// Number of cores that processes may use, which limits placement; 0: unknown.
  std::uint32_t cores = 0;

  bool operator==(const Host&) const = default;
};

}  // namespace xylem::tree
