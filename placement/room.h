#pragma once

// Room: the maximum number of communication processes on each host. It expresses both limits of a
// host and the modes of placement (communication processes on compute hosts, on extra hosts only,
// or on both), so every policy respects them in the same way.

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

/// "4", or "-" for kUnlimited.
std::string room_text(std::uint64_t room);

/// Which hosts may carry communication processes. An extra host is one without back ends.
enum class CommHosts { kCompute, kExtra, kMixed };

/// "compute", "extra", "mixed". Fails with kInvalidArgument and a sentence that lists them.
Result<CommHosts> parse_comm_hosts(std::string_view text);

/// Limits; all of them apply.
struct RoomRules {
  CommHosts where = CommHosts::kMixed;
  std::vector<std::string> excluded{};  ///< Hosts that carry none. Names as in plan_tree (place.h).
  std::optional<std::uint64_t> most_per_host{};  ///< For every host; nullopt: no such limit.
  /// Cores of each host that communication processes do not use. A host whose cores are known has
  /// room for (cores - reserved) of them, never below 0.
  std::uint64_t reserved_cores = 0;
  /// In addition to reserved_cores, reserves one core for each process that is already there.
  bool reserve_for_processes = false;
  bool excluded_may_be_absent = false;  ///< Skip excluded hosts that are not in the list.
};

/// The room of each host; kUnlimited if no rule limits it. Example: 16 cores, 2 reserved, at most 8
/// gives 8. Fails with kInvalidArgument when cores are reserved on a host whose cores are not
/// known, unless the host may carry none anyway; with kNotFound when an excluded host is not in the
/// list and excluded_may_be_absent is false.
Result<std::vector<std::uint64_t>> room_of(std::span<const tree::Host> hosts,
                                           const RoomRules& rules);

/// Checks that the processes fit. An empty `room` means no limit, unless there are 0 hosts. Fails
/// with kInvalidArgument and a sentence that says how much room there is.
Result<void> check_room(std::uint64_t comm_processes, std::size_t hosts,
                        std::span<const std::uint64_t> room);

}  // namespace xylem::placement
