// Finds ranks that make no progress.
//
// A rank *stands* if it has made no call for the time of the limit. Its agent reports where it
// stands:
//
//   stopped by a signal   The rank is stalled, whatever the others do.
//   outside of MPI        The rank is stalled if other ranks wait inside calls or make calls. If
//                         all ranks of the world are outside, they compute. If most are, they also
//                         compute: the ranks that wait have given them work.
//   inside a call         The rank waits. If no rank is outside, it is stalled if others make
//                         calls. If none makes calls, each waits for another: the world hangs.
//
// A rank is judged up to the newest window of its leaf, so a rank on a late host does not stand. If
// a leaf has sent no window since a change of front end, no rank of the world is judged.

#include <algorithm>
#include <map>
#include <utility>

#include "base/quantity_text.h"
#include "storage/alert/alert_rules.h"
#include "storage/alert/alert_text_internal.h"

namespace xylem::storage {
namespace {

/// Maximum number of functions in a sentence.
constexpr std::size_t kMaxFunctions = 2;

}  // namespace

struct AlertRules::Standing {
  Ranks stopped, outside, inside;
  Ranks unknown;            ///< Inside or outside.
  std::size_t going = 0;    ///< Ranks that make progress.
  std::size_t gone = 0;     ///< Ranks that ended or whose host is lost.
  std::size_t unheard = 0;  ///< Ranks on hosts that have sent no window yet.
  Nanos newest_ns = 0;      ///< Newest progress of any rank.

  /// The ranks for which others may wait. If no rank is known to be outside: those that may be.
  const Ranks& away() const { return outside.empty() ? unknown : outside; }
  std::size_t judged() const {
    return stopped.size() + outside.size() + inside.size() + unknown.size() + going;
  }
  bool hangs() const {
    return stopped.empty() && away().empty() && going + unheard == 0 && !inside.empty();
  }
  /// True if all ranks are outside of MPI, as far as is known.
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

/// "3 in MPI_Barrier, 1 in MPI_Recv": the function with the most ranks first.
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

// Returns those of `ranks` that are behind the newest progress by three quarters of the limit. It
// is not the whole limit, because the time of progress is known only to a window.
AlertRules::Ranks AlertRules::behind(const World& world, const Standing& standing,
                                     const Ranks& ranks) const {
  Ranks found;
  for (const Rank rank : ranks) {
    const Nanos by = standing.newest_ns - world.at(rank).progress_ns;
    if (by >= *limits_.stalled_ns * 3 / 4) found.push_back(rank);
  }
  return found;
}

// If most ranks are outside of MPI, none is stalled: the ranks that wait have given them work.
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
    // An adopted alert may have no ranks, and its hosts may have sent no window yet.
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

// Reports a long call that was noticed only when it ended. If one rank is late, all others wait in
// such a call, so only one call is reported.
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
