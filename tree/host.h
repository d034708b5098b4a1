#pragma once

// A host, as the placement of a tree needs it.

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace xylem::tree {

/// The id of a host that is not in the list. Used, for example, if the front end runs on a host
/// outside the job.
constexpr HostId kNoHost{0xffffffff};

/// One host of the job. Its HostId is its index in the host list and is valid only for that list.
/// Two hosts may have the same name, for example two containers on one machine.
struct Host {
  /// The name that the host itself reports: "node12" or "node12.cluster.org".
  std::string name;
  /// Number of back ends on this host. 0: only communication processes can run here.
  std::uint32_t back_ends = 1;
  /// Number of monitored ranks. Even placement (placement/even.h) balances this number over the
  /// hosts.
  std::uint64_t processes = 0;
  /// Number of cores that processes may use; 0: unknown. It limits the room for communication
  /// processes (placement/room.h).
  std::uint32_t cores = 0;

  bool operator==(const Host&) const = default;
};

}  // namespace xylem::tree
