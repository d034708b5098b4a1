#include "placement/room.h"

#include <algorithm>

#include "base/nearest_word.h"
#include "placement/host_names_internal.h"

namespace xylem::placement {
namespace {

bool may_carry(const tree::Host& host, CommHosts where) {
  switch (where) {
    case CommHosts::kCompute:
      return host.back_ends > 0;
    case CommHosts::kExtra:
      return host.back_ends == 0;
    case CommHosts::kMixed:
      return true;
  }
  return true;
}

/// By host.
Result<std::vector<bool>> find_excluded(std::span<const tree::Host> hosts, const RoomRules& rules) {
  std::vector<bool> is_excluded(hosts.size());
  if (rules.excluded.empty()) return is_excluded;
  const HostNames names(hosts, "");
  for (const std::string& name : rules.excluded) {
    const auto found = names.all_of(name);
    if (found.empty() && !rules.excluded_may_be_absent) {
      return unexpected(
          Code::kNotFound,
          "host " + name + " is to be excluded and is none of the hosts" + names.known());
    }
    for (const HostId host : found) is_excluded[raw(host)] = true;
  }
  return is_excluded;
}

}  // namespace

std::string room_text(std::uint64_t room) {
  return room == kUnlimited ? "-" : std::to_string(room);
}

Result<CommHosts> parse_comm_hosts(std::string_view text) {
  if (text == "compute") return CommHosts::kCompute;
  if (text == "extra") return CommHosts::kExtra;
  if (text == "mixed") return CommHosts::kMixed;
  return unexpected(Code::kInvalidArgument, "'" + std::string(text) +
                                                "' is not one of compute, extra, mixed" +
                                                did_you_mean(text, {"compute", "extra", "mixed"}));
}

Result<std::vector<std::uint64_t>> room_of(std::span<const tree::Host> hosts,
                                           const RoomRules& rules) {
  const auto is_excluded = find_excluded(hosts, rules);
  if (!is_excluded) return unexpected(is_excluded.error());
  std::vector<std::uint64_t> room(hosts.size(), 0);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const tree::Host& host = hosts[i];
    if ((*is_excluded)[i] || !may_carry(host, rules.where)) continue;
    room[i] = rules.max_per_host.value_or(kUnlimited);
    const std::uint64_t reserved =
        rules.reserved_cores + (rules.reserve_for_processes ? host.processes : 0);
    if (host.cores != 0) {
      room[i] = std::min(room[i], host.cores > reserved ? host.cores - reserved : 0);
    } else if (rules.reserved_cores > 0 || rules.reserve_for_processes) {
      return unexpected(Code::kInvalidArgument,
                        "cores are to be reserved, and those of host " + host.name +
                            " are not known; tell them, or give a limit per host instead");
    }
  }
  return room;
}

Result<void> check_room(std::uint64_t comm_processes, std::size_t hosts,
                        std::span<const std::uint64_t> room) {
  if (comm_processes == 0) return {};
  if (hosts == 0) {
    return unexpected(Code::kInvalidArgument,
                      "there is no host for " + std::to_string(comm_processes) +
                          " communication processes; name at least one, or use the shape flat");
  }
  if (room.empty()) return {};
  std::uint64_t all = 0;
  for (const std::uint64_t one : room) all = one > kUnlimited - all ? kUnlimited : all + one;
  if (comm_processes <= all) return {};
  return unexpected(Code::kInvalidArgument,
                    std::to_string(comm_processes) + " communication processes do not fit: the " +
                        std::to_string(hosts) + " hosts have room for " + std::to_string(all) +
                        "; ask for fewer, allow more on a host, or add hosts");
}

}  // namespace xylem::placement
