#include "placement/even.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "placement/number_text_internal.h"
#include "placement/room.h"

namespace xylem::placement {
namespace {

HostId host_id(std::size_t index) { return HostId{static_cast<std::uint32_t>(index)}; }

/// Steps 2-5 or 7 for the hosts that are `left`, in ascending order; takes out the too full ones.
///
/// In the patent, step 7 gives one more to the "rem smallest elements of TS" of all hosts. These
/// are the first rem of the remaining hosts. A removed host had OS > TS >= quo, and quo never
/// increases, so a removed host is never among the smallest. All remaining hosts have the same
/// target.
EvenRound run_round(std::span<const std::uint64_t> occupied, std::uint64_t sum,
                    std::vector<std::size_t>& left, std::vector<std::uint64_t>& target) {
  EvenRound round{sum, left.size(), sum / left.size(), sum % left.size(), {}, {}};
  std::uint64_t extra = round.remainder;
  std::erase_if(left, [&](std::size_t host) {
    target[host] = round.quotient + (extra > 0 ? 1 : 0);
    if (extra > 0) --extra;
    if (occupied[host] <= target[host]) return false;
    target[host] = occupied[host];
    round.too_full.push_back(host_id(host));
    return true;
  });
  return round;
}

/// Steps 1 to 7 for the hosts of `open`.
void level(std::span<const std::uint64_t> occupied, std::uint64_t to_place,
           const std::vector<std::size_t>& open, EvenPlacement& placement) {
  std::uint64_t sum = to_place;
  for (const std::size_t host : open) sum += occupied[host];
  std::vector<std::size_t> left = open;
  do {
    // The targets of the remaining hosts add up to the sum, so not all of these hosts can be too
    // full.
    CHECK(!left.empty());
    placement.rounds.push_back(run_round(occupied, sum, left, placement.target));
    for (HostId host : placement.rounds.back().too_full) sum -= occupied[raw(host)];
  } while (!placement.rounds.back().too_full.empty());
}

/// Removes from `open` the hosts that would get more than their room, and fills these hosts.
std::vector<HostId> cut_to_room(std::span<const std::uint64_t> occupied,
                                std::span<const std::uint64_t> room, std::vector<std::size_t>& open,
                                std::vector<std::uint64_t>& target) {
  std::vector<HostId> over;
  if (room.empty()) return over;
  std::erase_if(open, [&](std::size_t host) {
    if (target[host] - occupied[host] <= room[host]) return false;
    target[host] = occupied[host] + room[host];
    over.push_back(host_id(host));
    return true;
  });
  return over;
}

std::string list_hosts(const std::vector<HostId>& some, std::span<const tree::Host> hosts) {
  constexpr std::size_t kNamesShown = 8;
  if (some.empty()) return " none";
  std::string list;
  const std::size_t shown = std::min(some.size(), kNamesShown);
  for (std::size_t i = 0; i < shown; ++i) list += " " + hosts[raw(some[i])].name;
  if (some.size() > shown) list += " and " + std::to_string(some.size() - shown) + " more";
  return list;
}

std::string explain_round(const EvenRound& round, std::size_t number,
                          std::span<const tree::Host> hosts) {
  std::string line = "round " + std::to_string(number) + ": " + std::to_string(round.processes) +
                     " processes on " + std::to_string(round.hosts) +
                     " hosts: " + std::to_string(round.quotient) + " each";
  if (round.remainder > 0) line += ", the first " + std::to_string(round.remainder) + " one more";
  line += "; too full:" + list_hosts(round.too_full, hosts);
  if (!round.no_room.empty()) line += "; not enough room:" + list_hosts(round.no_room, hosts);
  return line + "\n";
}

}  // namespace

Result<EvenPlacement> place_evenly(std::span<const std::uint64_t> occupied,
                                   std::uint64_t comm_processes,
                                   std::span<const std::uint64_t> room) {
  CHECK(room.empty() || room.size() == occupied.size());
  if (auto fits = check_room(comm_processes, occupied.size(), room); !fits) {
    return unexpected(std::move(fits.error()));
  }
  EvenPlacement placement;
  placement.room.assign(room.begin(), room.end());
  std::uint64_t all = comm_processes;
  for (const std::uint64_t there : occupied) {
    if (there > std::numeric_limits<std::uint64_t>::max() - all) {
      return unexpected(
          Code::kInvalidArgument,
          "the hosts are said to carry more than 2^64 processes; the counts are wrong");
    }
    all += there;
  }
  placement.target.assign(occupied.begin(), occupied.end());
  std::vector<std::size_t> open;  // Hosts that may still get some.
  for (std::size_t host = 0; host < occupied.size(); ++host) {
    if (room.empty() || room[host] > 0) open.push_back(host);
  }
  std::uint64_t to_place = comm_processes;
  while (!open.empty()) {
    level(occupied, to_place, open, placement);
    const std::vector<HostId> over = cut_to_room(occupied, room, open, placement.target);
    if (over.empty()) break;
    for (HostId host : over) to_place -= room[raw(host)];
    placement.rounds.back().no_room = over;
  }
  placement.added.resize(occupied.size());
  for (std::size_t host = 0; host < occupied.size(); ++host) {
    placement.added[host] = placement.target[host] - occupied[host];
  }
  return placement;
}

std::vector<HostId> fill_order(std::span<const std::uint64_t> occupied,
                               const EvenPlacement& placement) {
  CHECK(occupied.size() == placement.added.size());
  // A host is filled from OS to TS, one process at a time. The greedy rule takes these steps in the
  // order of load, on ties in the order of hosts.
  std::vector<std::pair<std::uint64_t, HostId>> steps;
  for (std::size_t host = 0; host < occupied.size(); ++host) {
    for (std::uint64_t step = 0; step < placement.added[host]; ++step) {
      steps.emplace_back(occupied[host] + step, host_id(host));
    }
  }
  std::ranges::sort(steps);
  std::vector<HostId> order;
  order.reserve(steps.size());
  for (const auto& [load, host] : steps) order.push_back(host);
  return order;
}

std::string explain(std::span<const tree::Host> hosts, const EvenPlacement& placement) {
  CHECK(hosts.size() == placement.added.size());
  const std::uint64_t placed =
      std::accumulate(placement.added.begin(), placement.added.end(), std::uint64_t{0});
  std::string text = "even placement of " + std::to_string(placed) +
                     " communication processes on " + std::to_string(hosts.size()) + " hosts\n";
  for (std::size_t i = 0; i < placement.rounds.size(); ++i) {
    text += explain_round(placement.rounds[i], i + 1, hosts);
  }
  constexpr std::size_t kMinWidth = 6;
  Table table(kMinWidth);
  const bool is_limited =
      std::ranges::any_of(placement.room, [](std::uint64_t room) { return room != kUnlimited; });
  const auto add = [&](std::vector<std::string> row, const std::string& room) {
    if (is_limited) row.push_back(room);
    table.add(std::move(row));
  };
  add({"host", "has", "gets", "target"}, "room");
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    add({hosts[i].name, std::to_string(placement.target[i] - placement.added[i]),
         std::to_string(placement.added[i]), std::to_string(placement.target[i])},
        is_limited ? room_text(placement.room[i]) : "");
  }
  return text + table.print();
}

}  // namespace xylem::placement
