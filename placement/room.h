#pragma once

// Room: the maximum number of communication processes on each host. It expresses the limits of a
// host and also the modes of placement (communication processes on compute hosts, on extra hosts
// only, or on both). So every policy respects all of them in the same way.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tree/host.h"

namespace xylem::placement {

/// No limit.
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// Returns "4", or "-" for kUnlimited.
std::string room_text(std::uint64_t room);

/// The hosts that may carry communication processes: hosts of the job, extra hosts, or both. An
/// extra host is a host without back ends.
enum class CommHosts { kCompute, kExtra, kMixed };

/// Parses "compute", "extra" or "mixed". Fails with kInvalidArgument and a message that lists them.
Result<CommHosts> parse_comm_hosts(std::string_view text);

/// Limits on the room of hosts. All of them apply.
struct RoomRules {
  CommHosts where = CommHosts::kMixed;
  /// Hosts that carry no communication process. Names match as in plan_tree (place.h).
  std::vector<std::string> excluded{};
  /// Maximum for every host; nullopt: no such limit.
  std::optional<std::uint64_t> max_per_host{};
  /// Number of cores of each host that communication processes must not use. A host whose number of
  /// cores is known has room for (cores - reserved) communication processes, never below 0.
  std::uint64_t reserved_cores = 0;
  /// Also reserves one core for each process that is already there.
  bool reserve_for_processes = false;
  bool excluded_may_be_absent = false;  ///< Skips excluded hosts that are not in the list.
  bool operator==(const RoomRules&) const = default;
};

/// Returns the room of each host; kUnlimited if no rule limits it. Example: 16 cores, 2 reserved,
/// at most 8 gives 8. Fails with kInvalidArgument if cores are reserved on a host whose number of
/// cores is not known, unless the host may carry no communication process anyway. Fails with
/// kNotFound if an excluded host is not in the list and excluded_may_be_absent is false.
Result<std::vector<std::uint64_t>> room_of(std::span<const tree::Host> hosts,
                                           const RoomRules& rules);

/// Checks that the processes fit. An empty `room` means no limit, unless there are 0 hosts. Fails
/// with kInvalidArgument and a message that says how much room there is.
Result<void> check_room(std::uint64_t comm_processes, std::size_t hosts,
                        std::span<const std::uint64_t> room);

}  // namespace xylem::placement
