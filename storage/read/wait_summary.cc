#include "storage/read/wait_summary.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/saturating.h"
#include "storage/read/inquiry_internal.h"
#include "storage/read/wait_summary_internal.h"

namespace xylem::storage {
namespace {

WaitKind kind_of(const std::string& name) {
  for (const WaitKind kind : {WaitKind::kLateSender, WaitKind::kLateReceiver,
                              WaitKind::kWaitAtCollective, WaitKind::kLateRoot}) {
    if (name == wait_kind_name(kind)) return kind;
  }
  return WaitKind::kEarlyRoot;
}

void put_part(WaitCoverage& world, const std::string& part, const WaitCoverage::Part& sum) {
  if (part == "blocking") world.blocking = sum;
  if (part == "analysed") world.analysed = sum;
  if (part == "waiting") world.waiting_ns = sum.time_ns;
  if (part == "unfollowed") world.unfollowed_ns = sum.time_ns;
  for (std::size_t i = 0; i < kNotAnalysedReasons; ++i) {
    if (part == not_analysed_name(static_cast<NotAnalysed>(i))) world.not_analysed[i] = sum;
  }
}

std::vector<WaitCoverage> read_coverage(Inquiry& inquiry) {
  std::vector<WaitCoverage> worlds;
  for (const auto& row : inquiry.ask("SELECT world, part, calls, time_ns FROM wait_coverage")) {
    const auto world = id_of<WorldId>(row[0]);
    if (worlds.empty() || worlds.back().world != world) worlds.emplace_back().world = world;
    put_part(worlds.back(), text_of(row[1]), {count_of(row[2]), integer_of(row[3])});
  }
  return worlds;
}

std::vector<Rank> longest_of(Inquiry& inquiry, const WaitSummary::Cause& cause) {
  std::vector<Rank> ranks;
  for (const auto& row :
       inquiry.ask("SELECT rank FROM wait_state WHERE world = " + std::to_string(raw(cause.world)) +
                   " AND root_rank = " + std::to_string(raw(cause.rank)) +
                   " GROUP BY rank ORDER BY sum(time_ns) DESC, rank LIMIT " +
                   std::to_string(kMaxCausedRanks))) {
    ranks.push_back(id_of<Rank>(row[0]));
  }
  std::ranges::sort(ranks);
  return ranks;
}

WaitSummary read(Inquiry& inquiry, std::size_t limit) {
  WaitSummary summary;
  if (inquiry.ask("SELECT 1 FROM event_chunk LIMIT 1").empty()) return summary;
  summary.worlds = read_coverage(inquiry);
  const std::string at_most = " LIMIT " + std::to_string(limit);
  const auto counts = inquiry.ask_one(
      "SELECT (SELECT count(*) FROM wait_state), (SELECT count(*) FROM (SELECT DISTINCT world,"
      " root_rank FROM wait_state WHERE root_rank IS NOT NULL))",
      2);
  summary.rows_in_all = count_of(counts[0]);
  summary.causes_in_all = count_of(counts[1]);
  for (const auto& row : inquiry.ask(
           "SELECT world, root_rank, sum(time_ns) AS time, count(DISTINCT rank) FROM wait_state"
           " WHERE root_rank IS NOT NULL GROUP BY world, root_rank ORDER BY time DESC, world,"
           " root_rank" +
           at_most)) {
    summary.causes.push_back(
        {id_of<WorldId>(row[0]), id_of<Rank>(row[1]), integer_of(row[2]), count_of(row[3]), {}});
  }
  for (WaitSummary::Cause& cause : summary.causes) cause.longest = longest_of(inquiry, cause);
  for (const auto& row : inquiry.ask(
           "SELECT world, rank, cause_rank, kind, function, time_ns, calls, root_rank"
           " FROM wait_state ORDER BY time_ns DESC, world, rank, cause_rank, root_rank, kind" +
           at_most)) {
    WaitState& state = summary.rows.emplace_back();
    state.world = id_of<WorldId>(row[0]);
    state.rank = id_of<Rank>(row[1]);
    if (!is_null(row[2])) state.cause_rank = id_of<Rank>(row[2]);
    state.kind = kind_of(text_of(row[3]));
    state.function = text_of(row[4]);
    state.time_ns = integer_of(row[5]);
    state.calls = count_of(row[6]);
    if (!is_null(row[7])) state.root_rank = id_of<Rank>(row[7]);
  }
  return summary;
}

}  // namespace

Result<WaitSummary> read_wait_summary(RunFile& run, std::size_t limit) {
  Inquiry inquiry(run);
  WaitSummary summary = read(inquiry, limit);
  if (!inquiry.failure) return summary;
  if (inquiry.failure->code != Code::kCorrupt) return unexpected(*std::move(inquiry.failure));
  summary = {};
  summary.fault = inquiry.failure->message;
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
