// Who makes no progress, and who waits for whom.
//
// Of a world's ranks, those that have made no call for the limit stand; an agent says of each
// where:
//
//   stopped by a signal          it is the one, whatever the others do
//   outside of MPI               it is the one when others wait inside calls, or go on. When all of
//                                the world are outside, they compute; and when most are, those
//                                that wait have given them work
//   inside a call                it waits. With nobody outside: for those who go on; when nobody
//                                does, each waits for another: the world hangs
//
// A rank stands as far as the windows of its leaf have come: a host that is late is not a rank that
// stands. While nothing has come of one, after a front end's death, nobody can say who waits for
// whom.

#include <algorithm>
#include <map>
#include <utility>

#include "base/quantity_text.h"
#include "storage/alert/alert_rules.h"
#include "storage/alert/alert_text_internal.h"

namespace xylem::storage {
namespace {

/// Functions that a sentence names.
constexpr std::size_t kMaxFunctions = 2;

}  // namespace

struct AlertRules::Standing {
  Ranks stopped, outside, inside;
  Ranks unknown;            ///< Inside or outside.
  std::size_t going = 0;    ///< That stand not, or not yet so long.
  std::size_t gone = 0;     ///< Ended, or of lost hosts.
  std::size_t unheard = 0;  ///< Of hosts of which no window has come yet.
  Nanos newest_ns = 0;      ///< Progress of all.

  /// Whom others may wait for: who may be outside only when nobody is known to be.
  const Ranks& away() const { return outside.empty() ? unknown : outside; }
  std::size_t judged() const {
    return stopped.size() + outside.size() + inside.size() + unknown.size() + going;
  }
  bool hangs() const {
    return stopped.empty() && away().empty() && going + unheard == 0 && !inside.empty();
  }
  /// As far as is known.
  bool all_compute() const {
    return stopped.empty() && inside.empty() && going + unheard == 0 && !away().empty();
  }
};

AlertRules::Standing AlertRules::who_stands(const World& world) const {
  Standing standing;
  for (const auto& [number, rank] : world) {
    if (!is_judged(rank)) {
      ++(rank.ended || is_lost(rank) ? standing.gone : standing.unheard);
      continue;
    }
    standing.newest_ns = std::max(standing.newest_ns, rank.progress_ns);
    if (*hosts_.at(rank.leaf).seen_ns - rank.progress_ns < *limits_.stalled_ns) {
      ++standing.going;
    } else if (rank.stopped) {
      standing.stopped.push_back(number);
    } else if (!rank.inside.empty()) {
      standing.inside.push_back(number);
    } else {
      (rank.outside ? standing.outside : standing.unknown).push_back(number);
    }
  }
  return standing;
}

namespace {

/// "3 in MPI_Barrier, 1 in MPI_Recv": what most are inside of first.
template <typename World>
std::string where_text(const World& world, const std::vector<Rank>& ranks) {
  std::map<std::string, std::size_t> counts;
  for (const Rank rank : ranks) ++counts[world.at(rank).inside];
  std::vector<std::pair<std::string, std::size_t>> by_count(counts.begin(), counts.end());
  std::ranges::stable_sort(by_count,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  std::size_t rest = ranks.size();
  for (std::size_t i = 0; i < std::min(by_count.size(), kMaxFunctions); ++i) {
    text += (i == 0 ? "" : ", ") + count_text(by_count[i].second) + " in " + by_count[i].first;
    rest -= by_count[i].second;
  }
  return rest == 0 ? text : text + ", " + count_text(rest) + " in others";
}

}  // namespace

// Of the ranks of one kind, those that others have left behind; by a little less than all of the
// limit, since progress is known by windows.
AlertRules::Ranks AlertRules::behind(const World& world, const Standing& standing,
                                     const Ranks& ranks) const {
  Ranks found;
  for (const Rank rank : ranks) {
    const Nanos by = standing.newest_ns - world.at(rank).progress_ns;
    if (by >= *limits_.stalled_ns * 3 / 4) found.push_back(rank);
  }
  return found;
}

// Most that are not in MPI are no fault: who waits for them has given them work.
std::optional<AlertRules::Finding> AlertRules::stall_of(const World& world,
                                                        const Standing& standing) const {
  if (standing.unheard != 0) return std::nullopt;
  const Ranks& away = standing.away();
  Ranks ranks;
  if (!standing.stopped.empty()) {
    ranks = standing.stopped;
  } else if (!away.empty()) {
    if (away.size() > standing.judged() - away.size()) return std::nullopt;
    if (!standing.inside.empty()) {
      ranks = away;
    } else if (standing.going != 0) {
      ranks = behind(world, standing, away);
    }
  } else {
    ranks = standing.going == 0 ? standing.inside : behind(world, standing, standing.inside);
  }
  if (ranks.empty()) return std::nullopt;
  const auto longest =
      std::ranges::min_element(ranks, {}, [&](Rank rank) { return world.at(rank).progress_ns; });
  Finding finding;
  finding.rank = *longest;
  finding.at_ns = world.at(*longest).progress_ns;
  const Nanos silent = *hosts_.at(world.at(*longest).leaf).seen_ns - finding.at_ns;
  finding.value = to_seconds(silent);
  finding.threshold = to_seconds(*limits_.stalled_ns);
  finding.text = stall_text(world, standing, ranks, *longest, " for " + seconds_text(silent));
  if (standing.hangs() && ranks.size() > 1) finding.rank.reset();
  finding.ranks = std::move(ranks);
  return finding;
}

std::string AlertRules::stall_text(const World& world, const Standing& standing, const Ranks& ranks,
                                   Rank longest, const std::string& took) const {
  const bool is_one = ranks.size() == 1;
  const bool waits = !standing.inside.empty();
  const std::string waiting = waits ? "; " + where_text(world, standing.inside) : "";
  std::string text = who(world, ranks) + (is_one ? " is " : " are ");
  if (!standing.stopped.empty()) return text + "stopped by a signal, no call" + took + waiting;
  if (standing.hangs()) {
    text = "no rank has made progress" + took + ": " + where_text(world, ranks);
    if (standing.gone == 0) return text;
    return text + "; " + count_text(standing.gone) + " ended or lost";
  }
  if (!standing.away().empty()) {
    const bool is_known = !standing.outside.empty();
    text = who(world, ranks) + (is_one ? " has " : " have ") + (is_known ? "made" : "begun") +
           " no MPI call" + took;
    if (!is_known) text += is_one ? ", it may be inside one" : ", they may be inside one";
    return text + (waits ? waiting : " while others did");
  }
  const std::string& inside = world.at(longest).inside;
  const bool is_same =
      std::ranges::all_of(ranks, [&](Rank rank) { return world.at(rank).inside == inside; });
  text = who(world, ranks) + (is_one ? " has been in " : " have been in ");
  text += (is_same ? inside : "calls") + took + " while others go on";
  return is_same ? text : text + ": " + where_text(world, ranks);
}

void AlertRules::judge_stalls(WorldId id, const World& world) {
  const Key key{AlertKind::kStalled, AlertSubject::kWorld, id, 0};
  const Standing standing = who_stands(world);
  if (auto finding = stall_of(world, standing)) {
    hold(key, *std::move(finding));
  } else if (const auto open = open_.find(key); open == open_.end()) {
    return;
  } else if (standing.all_compute()) {
    close(open, standing.newest_ns);
  } else {
    // Of an adopted one nothing may be known yet: not who it is, nor how far the hosts have come.
    const Ranks& told = open->second.ranks;
    Nanos until = 0;
    bool stands = false;
    for (const auto& [number, rank] : world) {
      if (!told.empty() && !std::ranges::binary_search(told, number)) continue;
      if (rank.ended || is_lost(rank)) continue;
      stands |= !is_judged(rank) ||
                *hosts_.at(rank.leaf).seen_ns - rank.progress_ns >= *limits_.stalled_ns;
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
  Alert alert{.id = ++last_id_,
              .at_ns = begin,
              .until_ns = call.end_ns,
              .kind = AlertKind::kStalled,
              .subject = AlertSubject::kRank,
              .world = id,
              .rank = call.rank,
              .text = "rank " + std::to_string(raw(call.rank)) + " was in one " +
                      (call.function.empty() ? "MPI call" : call.function) + " for " +
                      number_text(to_seconds(took), 1) + " s",
              .value = to_seconds(took),
              .threshold = to_seconds(*limits_.stalled_ns)};
  changed_.push_back(std::move(alert));
}

}  // namespace xylem::storage
