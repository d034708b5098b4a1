// Who computes while the others wait: shares of time, compared among ranks that can be compared.
//
// Time in MPI: all ranks of a world. Time in collectives: windows do not say of which communicator
// a call was. But ranks of one communicator make the same calls, up to those under way at the ends
// of the span. So ranks are compared when they made about as many collective calls, and some of the
// same functions:
//
//   rank     0          1          2          3          4
//   calls    100 Bcast  101 Bcast  100 Bcast  7 Barrier  none
//            `-------- one cohort --------'   alone      not judged

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/quantity_text.h"
#include "storage/alert/alert_rules.h"
#include "storage/alert/alert_text_internal.h"
#include "storage/summary_internal.h"

namespace xylem::storage {
namespace {

/// An alert is closed if its value falls below this part of the threshold.
constexpr double kCloses = 0.75;
/// Ranks of one communicator may differ by kCallsApart calls, plus a kCallsPart-th of their number:
/// some calls are under way, and a part of a span does not end at the same time on all hosts.
constexpr std::uint64_t kCallsApart = 2, kCallsPart = 10;
/// Minimum difference to the worst value for which the text mentions the worst value.
constexpr double kPoint = 0.01;
/// A young run is judged when it is older than this time and than a quarter of a span.
constexpr Nanos kLeastTime = 2500 * kMillisecond;
constexpr std::int64_t kLeastPartOfSpan = 4;
/// Number of last parts of a young run that must each show the same low ranks.
constexpr std::int64_t kPartsThatAgree = 2;

}  // namespace

/// Ranks that are compared.
struct AlertRules::Cohort {
  Ranks ranks;
  std::vector<double> shares;  ///< Of each rank.
  double mean = 0;
  std::uint64_t collectives = 0;

  double gap_of(std::size_t i) const { return mean - shares[i]; }
  double widest() const { return shares.empty() ? 0 : mean - *std::ranges::min_element(shares); }
  /// Ranks whose share is below the mean by `gap`.
  Ranks below(double gap) const {
    Ranks found;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (gap_of(i) >= gap) found.push_back(ranks[i]);
    }
    return found;
  }
};

// Leaves out the part that is being filled.
AlertRules::Span AlertRules::whole_span() const {
  const std::int64_t end = floor_to(part_, kPartsOfLook);
  return {end - kParts, end, (end - kParts) * part_ns(), kParts * part_ns(), false};
}

std::optional<AlertRules::Span> AlertRules::young_span(const World& world) const {
  const Span whole = whole_span();
  Span span{0, part_, std::numeric_limits<Nanos>::min(), 0, true};
  for (const auto& [number, rank] : world) {
    if (!is_judged(rank)) continue;
    if (rank.first_ns <= whole.begin_ns || rank.first_ns == kNoWindow) return std::nullopt;
    span.begin_ns = std::max(span.begin_ns, rank.first_ns);
  }
  const Nanos end_ns = part_ * part_ns();
  if (span.begin_ns == std::numeric_limits<Nanos>::min() || span.begin_ns >= end_ns) {
    return std::nullopt;
  }
  span.length_ns = end_ns - span.begin_ns;
  span.first = floor_to(span.begin_ns, part_ns()) / part_ns();
  if (span.length_ns < kLeastTime || span.length_ns < limits_.span_ns / kLeastPartOfSpan) {
    return std::nullopt;
  }
  return span;
}

bool AlertRules::lasts(const World& world, const Cohort& cohort, const Ranks& low, double threshold,
                       const Span& span) const {
  for (std::int64_t part = span.end - kPartsThatAgree; part < span.end; ++part) {
    const Span one{part, part + 1, part * part_ns(), part_ns(), true};
    const Cohort then = cohort_of(AlertKind::kImbalance, world, cohort.ranks, one);
    const Ranks low_then = then.below(threshold);
    Ranks both;
    std::ranges::set_intersection(low, low_then, std::back_inserter(both));
    if (both.empty()) return false;
  }
  return true;
}

AlertRules::Sums AlertRules::sums_of(const RankState& rank, const Span& span) const {
  Sums sum;
  for (std::int64_t part = span.first; part < span.end; ++part) {
    const Sums& of = rank.parts[slot_of(part)];
    sum.mpi_ns += of.mpi_ns;
    sum.collective_ns += of.collective_ns;
    sum.collective_calls += of.collective_calls;
    sum.collectives |= of.collectives;
  }
  return sum;
}

AlertRules::Cohort AlertRules::cohort_of(AlertKind kind, const World& world, Ranks ranks,
                                         const Span& span) const {
  const auto length = static_cast<double>(span.length_ns);
  Cohort cohort;
  cohort.ranks = std::move(ranks);
  for (const Rank rank : cohort.ranks) {
    const Sums sum = sums_of(world.at(rank), span);
    const std::uint64_t ns = kind == AlertKind::kLate ? sum.collective_ns : sum.mpi_ns;
    cohort.shares.push_back(std::min(static_cast<double>(ns) / length, 1.0));
    cohort.mean += cohort.shares.back() / static_cast<double>(cohort.ranks.size());
  }
  return cohort;
}

std::vector<AlertRules::Cohort> AlertRules::cohorts(AlertKind kind, const World& world,
                                                    const Span& span) const {
  struct Member {
    std::uint64_t calls, collectives;
    Rank rank;
  };
  std::vector<Member> members;
  for (const auto& [number, rank] : world) {
    if (!is_judged(rank) || rank.first_ns > span.begin_ns) continue;
    const Sums sum = kind == AlertKind::kLate ? sums_of(rank, span) : Sums{};
    if (kind == AlertKind::kLate && sum.collectives == 0) continue;
    members.push_back({sum.collective_calls, sum.collectives, number});
  }
  std::ranges::stable_sort(members, {}, &Member::calls);
  std::vector<std::pair<Ranks, std::uint64_t>> groups;
  // The first group of the members with about as many calls as the present one, and the fewest
  // calls of these members. If each member were compared only with the one before, differences
  // would add up.
  std::size_t first = 0;
  std::uint64_t least = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    if (i == 0 || member.calls > least + least / kCallsPart + kCallsApart) {
      first = groups.size();
      least = member.calls;
    }
    auto group = groups.begin() + static_cast<std::ptrdiff_t>(first);
    while (group != groups.end() && member.collectives != 0 &&
           (group->second & member.collectives) == 0) {
      ++group;
    }
    if (group == groups.end()) group = groups.insert(group, {{}, 0});
    group->first.push_back(member.rank);
    group->second |= member.collectives;
  }
  std::vector<Cohort> found;
  for (auto& [ranks, collectives] : groups) {
    if (ranks.size() < 2) continue;
    std::ranges::sort(ranks);
    found.push_back(cohort_of(kind, world, std::move(ranks), span));
  }
  return found;
}

AlertRules::Finding AlertRules::share_finding(AlertKind kind, double threshold, const World& world,
                                              const Cohort& cohort, Ranks low,
                                              const Span& span) const {
  double sum = 0, least = 2;
  Finding finding;
  for (std::size_t i = 0; i < cohort.ranks.size(); ++i) {
    if (!std::ranges::binary_search(low, cohort.ranks[i])) continue;
    sum += cohort.shares[i];
    if (cohort.shares[i] >= least) continue;
    least = cohort.shares[i];
    finding.rank = cohort.ranks[i];
  }
  const bool is_one = low.size() == 1;
  const bool is_late = kind == AlertKind::kLate;
  std::string share = whole_percent_text(sum / static_cast<double>(low.size()));
  share += is_one ? " of its time" : " of their time";
  finding.text = who(world, low);
  if (is_late) {
    finding.text += is_one ? " comes last to collectives: it spends " + share + " in them"
                           : " come last to collectives: they spend " + share + " in them";
  } else {
    finding.text += (is_one ? " is in MPI " : " are in MPI ") + share;
  }
  if (!is_one) finding.text += " (least rank " + std::to_string(raw(*finding.rank)) + ")";
  finding.text += ", the mean of ";
  finding.text +=
      is_late ? "the " + count_text(cohort.ranks.size()) + " that take part" : "all ranks";
  finding.text += " is " + whole_percent_text(cohort.mean);
  if (!is_late) finding.text += is_one ? ": the others wait for it" : ": the others wait for them";
  finding.value = cohort.mean - least;
  finding.threshold = threshold;
  finding.ranks = std::move(low);
  finding.at_ns = span.begin_ns;
  return finding;
}

// After a change of front end, the shares of an adopted alert's ranks are unknown for a span. Ranks
// that the former front end did not name had ended.
bool AlertRules::is_unknown(const Open& open, const World& world) const {
  if (!open.is_adopted) return false;
  const Nanos begin = whole_span().begin_ns;
  return std::ranges::any_of(open.ranks, [&](Rank number) {
    const auto rank = world.find(number);
    return rank != world.end() && !rank->second.ended && !is_lost(rank->second) &&
           rank->second.first_ns > begin;
  });
}

void AlertRules::judge_shares(AlertKind kind, double threshold, WorldId id, const World& world,
                              const Span& span) {
  const Key key{kind, AlertSubject::kWorld, id, 0};
  const auto open = open_.find(key);
  if (open != open_.end() && is_unknown(open->second, world)) return;
  const std::vector<Cohort> all = cohorts(kind, world, span);
  // An open alert stays open while one of its ranks is low enough.
  if (open != open_.end()) {
    for (const Cohort& cohort : all) {
      Ranks low = cohort.below(kCloses * threshold), both;
      std::ranges::set_intersection(low, open->second.ranks, std::back_inserter(both));
      if (both.empty()) continue;
      Finding finding = share_finding(kind, threshold, world, cohort, std::move(low), span);
      const double worst = open->second.alert.value;
      const bool was_worse = worst - finding.value >= kPoint;
      if (was_worse) {
        finding.text += " (at worst " + number_text(100 * worst, 0) + " points apart)";
      }
      return hold(key, std::move(finding));
    }
    close(open, span.end * part_ns());
  }
  const auto widest = std::ranges::max_element(all, {}, &Cohort::widest);
  if (widest == all.end() || widest->widest() < threshold) return;
  Ranks low = widest->below(threshold);
  if (span.is_young && !lasts(world, *widest, low, threshold, span)) return;
  hold(key, share_finding(kind, threshold, world, *widest, std::move(low), span));
}

}  // namespace xylem::storage
