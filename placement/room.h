#pragma once

// Room: the maximum number of communication processes on each host. All limits are converted to
// room: reserved cores, a maximum, excluded hosts, and the choice of compute or extra hosts. So all
// policies apply all limits in the same way.

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

/// The room of a host without a limit.
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// Returns "4", or "-" for kUnlimited.
std::string room_text(std::uint64_t room);

/// The hosts on which communication processes may run: hosts of the job, extra hosts, or both. An
/// extra host has no back ends.
enum class CommHosts { kCompute, kExtra, kMixed };

/// Parses "compute", "extra" or "mixed". Fails with kInvalidArgument; the message lists these
/// words.
Result<CommHosts> parse_comm_hosts(std::string_view text);

/// Limits on the room of hosts. All limits apply together.
struct RoomRules {
  CommHosts where = CommHosts::kMixed;
  /// Hosts on which no communication process may run. Names match as in plan_tree() (place.h).
  std::vector<std::string> excluded{};
  /// Maximum number of communication processes on each host; nullopt: no maximum.
  std::optional<std::uint64_t> max_per_host{};
  /// Number of cores of each host that communication processes must not use. If the host's number
  /// of cores is known, the room is at most this number minus `reserved_cores`, but not below 0.
  std::uint64_t reserved_cores = 0;
  /// If true, also reserves one core for each of the job's processes on the host.
  bool reserve_for_processes = false;
  /// If true, an excluded host may be missing in the list of hosts. If false, this is an error.
  bool excluded_may_be_absent = false;
  bool operator==(const RoomRules&) const = default;
};

/// Returns the room of each host; kUnlimited if no rule limits it. Example: a host has 16 cores,
/// `reserved_cores` is 2 and `max_per_host` is 8. The host's room is 8.
///
/// Fails with kInvalidArgument if cores are reserved and the number of cores is unknown for a host
/// on which communication processes may run. Fails with kNotFound if an excluded host is not in the
/// list, except if `excluded_may_be_absent` is true.
Result<std::vector<std::uint64_t>> room_of(std::span<const tree::Host> hosts,
                                           const RoomRules& rules);

/// Checks that the hosts have enough room for the processes. If `room` is empty, there is no limit.
/// With 0 hosts there is no room. Fails with kInvalidArgument; the message says how much room there
/// is.
Result<void> check_room(std::uint64_t comm_processes, std::size_t hosts,
                        std::span<const std::uint64_t> room);

}  // namespace xylem::placement
