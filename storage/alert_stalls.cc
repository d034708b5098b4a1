// Who makes no progress, and who waits for whom.
//
// Of a world's ranks, those that have made no call for the limit stand; an agent says of each
// where:
//
//   stopped by a signal          it is the one, whatever the others do
//   outside of MPI               it is the one when others wait inside calls, or go on; when all of
//                                the world are outside, they compute
//   inside a call                it waits. With nobody outside: for those who go on; when nobody
//                                does, each waits for another: the world hangs
//
// A rank stands as far as the windows of its leaf have come: a host that is late is not a rank that
// stands.

#include <algorithm>
#include <map>
#include <utility>

#include "storage/alert_rules.h"
#include "storage/alert_text_internal.h"

namespace xylem::storage {
namespace {

/// Functions that a sentence names.
constexpr std::size_t kMostFunctions = 2;

}  // namespace

struct AlertRules::Standing {
  Ranks stopped, outside, inside;
  std::size_t going = 0;  ///< That stand not, or not yet so long.
  std::size_t gone = 0;   ///< Ended, or of lost hosts.
  Nanos newest_ns = 0;    ///< Progress of all.
};

AlertRules::Standing AlertRules::who_stands(const World& world) const {
  Standing standing;
  for (const auto& [number, rank] : world) {
    if (!is_judged(rank)) {
      ++standing.gone;
      continue;
    }
    standing.newest_ns = std::max(standing.newest_ns, rank.progress_ns);
    if (*hosts_.at(rank.leaf).seen_ns - rank.progress_ns < *limits_.stalled_ns) {
      ++standing.going;
    } else if (rank.stopped) {
      standing.stopped.push_back(number);
    } else {
      (rank.inside.empty() ? standing.outside : standing.inside).push_back(number);
    }
  }
  return standing;
}

namespace {

/// "3 in MPI_Barrier, 1 in MPI_Recv": what most are inside of first.
template <typename World>
std::string where_text(const World& world, const std::vector<std::uint64_t>& ranks) {
  std::map<std::string, std::size_t> counts;
  for (const std::uint64_t rank : ranks) ++counts[world.at(rank).inside];
  std::vector<std::pair<std::string, std::size_t>> most(counts.begin(), counts.end());
  std::ranges::stable_sort(most, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  std::size_t rest = ranks.size();
  for (std::size_t i = 0; i < std::min(most.size(), kMostFunctions); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(most[i].second) + " in " + most[i].first;
    rest -= most[i].second;
  }
  return rest == 0 ? text : text + ", " + std::to_string(rest) + " in others";
}

}  // namespace

std::optional<AlertRules::Finding> AlertRules::stall_of(const World& world,
                                                        const Standing& standing) const {
  const Nanos limit = *limits_.stalled_ns;
  // Of those, who others have left behind.
  const auto behind = [&](const Ranks& ranks, Nanos by) {
    Ranks found;
    for (const std::uint64_t rank : ranks) {
      if (standing.newest_ns >= world.at(rank).progress_ns + by) found.push_back(rank);
    }
    return found;
  };
  Finding finding;
  const bool is_stopped = !standing.stopped.empty();
  const bool waits = !standing.inside.empty();
  const bool hangs = !is_stopped && waits && standing.outside.empty() && standing.going == 0;
  if (is_stopped) {
    finding.ranks = standing.stopped;
  } else if (!standing.outside.empty()) {
    finding.ranks = waits ? standing.outside : behind(standing.outside, limit / 2);
  } else if (hangs) {
    finding.ranks = standing.inside;
  } else {
    // A little less than all of it: progress is known by windows.
    finding.ranks = behind(standing.inside, limit * 3 / 4);
  }
  if (finding.ranks.empty()) return std::nullopt;
  const auto longest = std::ranges::min_element(
      finding.ranks, {}, [&](std::uint64_t rank) { return world.at(rank).progress_ns; });
  finding.rank = *longest;
  finding.at_ns = world.at(*longest).progress_ns;
  const Nanos silent = *hosts_.at(world.at(*longest).leaf).seen_ns - finding.at_ns;
  finding.value = to_seconds(silent);
  finding.threshold = to_seconds(limit);
  const std::string is = finding.ranks.size() == 1 ? " is " : " are ";
  const std::string has = finding.ranks.size() == 1 ? " has " : " have ";
  const std::string took = " for " + seconds_text(silent);
  const std::string waiting = waits ? "; " + where_text(world, standing.inside) : "";
  if (is_stopped) {
    finding.text = who(world, finding.ranks) + is + "stopped by a signal, no call" + took + waiting;
  } else if (hangs) {
    if (finding.ranks.size() > 1) finding.rank.reset();
    finding.text = "no rank goes on" + took + ": " + where_text(world, finding.ranks);
    if (standing.gone != 0) finding.text += "; " + std::to_string(standing.gone) + " ended or lost";
  } else if (!standing.outside.empty()) {
    finding.text = who(world, finding.ranks) + has + "made no MPI call" + took +
                   (waits ? waiting : " while others did");
  } else {
    const std::string& inside = world.at(*finding.rank).inside;
    const bool is_one = std::ranges::all_of(
        finding.ranks, [&](std::uint64_t rank) { return world.at(rank).inside == inside; });
    finding.text = who(world, finding.ranks) + is + "in " + (is_one ? inside : "calls") + took +
                   " while others go on";
    if (!is_one) finding.text += ": " + where_text(world, finding.ranks);
  }
  return finding;
}

void AlertRules::judge_stalls(WorldId id, const World& world) {
  const Key key{AlertKind::kStalled, Of::kWorld, id, 0};
  const Standing standing = who_stands(world);
  if (auto finding = stall_of(world, standing)) {
    hold(key, *std::move(finding));
  } else if (const auto open = open_.find(key); open != open_.end()) {
    // Of an adopted one nothing may be known yet: not who it is, nor how far the hosts have come.
    const Ranks& told = open->second.ranks;
    Nanos until = 0;
    bool stands = false;
    for (const auto& [number, rank] : world) {
      if (rank.ended || (!told.empty() && !std::ranges::binary_search(told, number))) continue;
      const auto host = hosts_.find(rank.leaf);
      if (host != hosts_.end() && host->second.lost) continue;
      const bool is_known = host != hosts_.end() && host->second.seen_ns;
      stands |= !is_known || *host->second.seen_ns - rank.progress_ns >= *limits_.stalled_ns;
      until = std::max(until, rank.progress_ns);
    }
    if (!stands) close(open, until == 0 ? now_ns_.value_or(0) : until);
  }
  if (open_.contains(key)) stall_told_ns_[id] = now_ns_.value_or(0);
}

// It is over when it shows: nobody said that it was under way. While one rank is late all others
// wait in such a call: one is told.
void AlertRules::judge_long_call(WorldId id) {
  const auto found = long_calls_.find(id);
  if (found == long_calls_.end()) return;
  const LongCall call = found->second;
  long_calls_.erase(found);
  const auto told = stall_told_ns_.find(id);
  const Nanos begin = call.end_ns - static_cast<Nanos>(call.max_ns);
  if (told != stall_told_ns_.end() && begin < told->second) return;
  stall_told_ns_[id] = call.end_ns;
  const auto took = static_cast<Nanos>(call.max_ns);
  Alert alert{++last_id_,
              begin,
              call.end_ns,
              AlertKind::kStalled,
              id,
              call.rank,
              "rank " + std::to_string(call.rank) + " was in one " +
                  (call.function.empty() ? "MPI call" : call.function) + " for " +
                  number_text(to_seconds(took), 1) + " s",
              to_seconds(took),
              to_seconds(*limits_.stalled_ns)};
  changed_.push_back(std::move(alert));
}

}  // namespace xylem::storage
