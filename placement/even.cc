#include "placement/even.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace xylem::placement {
namespace {

HostId host_id(std::size_t index) { return HostId{static_cast<std::uint32_t>(index)}; }

/// Steps 2-5 or 7 for the hosts that are `left`, in ascending order; takes out the too full ones.
///
/// Step 7 gives one more to the "rem smallest elements of TS", among all hosts. That is the same as
/// the first rem hosts that are left: a host taken out had OS > TS >= quo, and quo never rises, so
/// it is never among the smallest; and all that are left have the same target.
EvenRound run_round(std::span<const std::uint64_t> occupied, std::uint64_t sum,
                    std::vector<std::size_t>& left, std::vector<std::uint64_t>& target) {
  EvenRound round{sum, left.size(), sum / left.size(), sum % left.size(), {}};
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

std::string pad_left(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string pad_right(const std::string& text, std::size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

std::string explain_round(const EvenRound& round, std::size_t number,
                          std::span<const tree::Host> hosts) {
  constexpr std::size_t kNamesShown = 8;
  std::string line = "round " + std::to_string(number) + ": " + std::to_string(round.processes) +
                     " processes on " + std::to_string(round.hosts) +
                     " hosts: " + std::to_string(round.quotient) + " each";
  if (round.remainder > 0) line += ", the first " + std::to_string(round.remainder) + " one more";
  line += "; too full:";
  if (round.too_full.empty()) line += " none";
  const std::size_t shown = std::min(round.too_full.size(), kNamesShown);
  for (std::size_t i = 0; i < shown; ++i) line += " " + hosts[raw(round.too_full[i])].name;
  if (round.too_full.size() > shown) {
    line += " and " + std::to_string(round.too_full.size() - shown) + " more";
  }
  return line + "\n";
}

}  // namespace

Result<EvenPlacement> place_evenly(std::span<const std::uint64_t> occupied,
                                   std::uint64_t comm_processes) {
  EvenPlacement placement;
  if (occupied.empty()) {
    if (comm_processes == 0) return placement;
    return unexpected(Code::kInvalidArgument,
                      "there is no host for " + std::to_string(comm_processes) +
                          " communication processes; name at least one, or use the shape flat");
  }
  std::uint64_t sum = comm_processes;
  for (const std::uint64_t there : occupied) {
    if (there > std::numeric_limits<std::uint64_t>::max() - sum) {
      return unexpected(
          Code::kInvalidArgument,
          "the hosts are said to carry more than 2^64 processes; the counts are wrong");
    }
    sum += there;
  }
  std::vector<std::size_t> left(occupied.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  placement.target.resize(occupied.size());
  do {
    // The targets of those left add up to the sum, so they cannot all be too full.
    CHECK(!left.empty());
    placement.rounds.push_back(run_round(occupied, sum, left, placement.target));
    for (HostId host : placement.rounds.back().too_full) sum -= occupied[raw(host)];
  } while (!placement.rounds.back().too_full.empty());

  placement.added.resize(occupied.size());
  for (std::size_t host = 0; host < occupied.size(); ++host) {
    placement.added[host] = placement.target[host] - occupied[host];
  }
  return placement;
}

std::vector<HostId> fill_order(std::span<const std::uint64_t> occupied,
                               const EvenPlacement& placement) {
  CHECK(occupied.size() == placement.added.size());
  // A host is filled from OS to TS, one process at a time; greedy takes these steps by rising load,
  // on ties by host.
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
  std::size_t name_width = 4;
  std::size_t number_width = 6;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    name_width = std::max(name_width, hosts[i].name.size());
    number_width = std::max(number_width, std::to_string(placement.target[i]).size());
  }
  const auto row = [&](const std::string& name, const std::string& has, const std::string& gets,
                       const std::string& target) {
    text += pad_right(name, name_width);
    for (const std::string* cell : {&has, &gets, &target}) {
      text += "  " + pad_left(*cell, number_width);
    }
    text += "\n";
  };
  row("host", "has", "gets", "target");
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    row(hosts[i].name, std::to_string(placement.target[i] - placement.added[i]),
        std::to_string(placement.added[i]), std::to_string(placement.target[i]));
  }
  return text;
}

}  // namespace xylem::placement
