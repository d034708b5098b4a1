#pragma once

// Room: how many communication processes each host may carry. Limits of a host and the modes of
// placement (communication processes on compute hosts, on extra hosts only, or on both) are all of
// this one kind, so every policy respects them alike.

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

/// As many as there are.
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// "4", or "-" for kUnlimited.
std::string room_text(std::uint64_t room);

/// Which hosts may carry communication processes. An extra host is one without back ends.
enum class CommHosts { kCompute, kExtra, kMixed };

/// "compute", "extra", "mixed". Fails with kInvalidArgument and a sentence that lists them.
Result<CommHosts> parse_comm_hosts(std::string_view text);

/// Limits, all of which hold.
struct RoomRules {
  CommHosts where = CommHosts::kMixed;
  std::vector<std::string> excluded{};  ///< Hosts that carry none. Names as in plan_tree (place.h).
  std::optional<std::uint64_t> most_per_host{};  ///< For every host; nullopt: no such limit.
  /// Cores of each host that communication processes leave alone. A host whose cores are known
  /// has room for (cores - reserved) of them, never below 0.
  std::uint64_t reserved_cores = 0;
  /// Further to reserved_cores: one for each process that is there already.
  bool reserve_for_processes = false;
  bool excluded_may_be_absent = false;  ///< One that is none of the hosts is passed over.
};

/// The room of each host: kUnlimited where no rule limits it. 16 cores, 2 reserved, at most 8: 8.
/// Fails with kInvalidArgument when cores are reserved on a host whose cores are not known, unless
/// the host carries none anyway; with kNotFound when an excluded host is none of the hosts and may
/// not be absent.
Result<std::vector<std::uint64_t>> room_of(std::span<const tree::Host> hosts,
                                           const RoomRules& rules);

/// Whether so many fit: an error that says how much room there is if not. An empty `room` is
/// unlimited on any number of hosts but 0. Fails with kInvalidArgument.
Result<void> check_room(std::uint64_t comm_processes, std::size_t hosts,
                        std::span<const std::uint64_t> room);

}  // namespace xylem::placement
