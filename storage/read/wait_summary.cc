#include "storage/read/wait_summary.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/saturating.h"

namespace xylem::storage {
namespace {

/// Waiting by rank.
using Waiters = std::map<Rank, Nanos>;

WaitSummary::Cause cause_of(WorldId world, Rank rank, const Waiters& waiters) {
  WaitSummary::Cause cause;
  cause.world = world;
  cause.rank = rank;
  cause.ranks = waiters.size();
  std::vector<std::pair<Nanos, Rank>> longest;
  for (const auto& [waiter, time_ns] : waiters) {
    cause.time_ns = saturating_add(cause.time_ns, time_ns);
    longest.emplace_back(-time_ns, waiter);
  }
  const std::size_t shown = std::min(longest.size(), kMaxCausedRanks);
  std::ranges::partial_sort(longest, longest.begin() + static_cast<std::ptrdiff_t>(shown));
  for (std::size_t i = 0; i < shown; ++i) cause.longest.push_back(longest[i].second);
  std::ranges::sort(cause.longest);
  return cause;
}

}  // namespace

WaitSummary summarize(const WaitStates& states, std::size_t limit) {
  WaitSummary summary;
  summary.worlds = states.worlds;
  summary.fault = states.fault;
  summary.rows_in_all = states.rows.size();
  summary.rows.assign(
      states.rows.begin(),
      states.rows.begin() + static_cast<std::ptrdiff_t>(std::min(limit, states.rows.size())));
  std::map<std::pair<WorldId, Rank>, Waiters> by_root;
  for (const WaitState& row : states.rows) {
    if (!row.root_rank) continue;
    Nanos& sum = by_root[{row.world, *row.root_rank}][row.rank];
    sum = saturating_add(sum, row.time_ns);
  }
  for (const auto& [root, waiters] : by_root) {
    summary.causes.push_back(cause_of(root.first, root.second, waiters));
  }
  summary.causes_in_all = summary.causes.size();
  std::ranges::sort(summary.causes, {}, [](const WaitSummary::Cause& cause) {
    return std::tuple(-cause.time_ns, cause.world, cause.rank);
  });
  if (summary.causes.size() > limit) summary.causes.resize(limit);
  return summary;
}

WaitCoverage WaitSummary::total() const {
  WaitCoverage total;
  const auto add = [](WaitCoverage::Part& sum, const WaitCoverage::Part& part) {
    sum.calls += part.calls;
    sum.time_ns = saturating_add(sum.time_ns, part.time_ns);
  };
  for (const WaitCoverage& world : worlds) {
    add(total.blocking, world.blocking);
    add(total.analysed, world.analysed);
    for (std::size_t i = 0; i < kNotAnalysedReasons; ++i) {
      add(total.not_analysed[i], world.not_analysed[i]);
    }
    total.waiting_ns = saturating_add(total.waiting_ns, world.waiting_ns);
    total.unfollowed_ns = saturating_add(total.unfollowed_ns, world.unfollowed_ns);
  }
  return total;
}

}  // namespace xylem::storage
