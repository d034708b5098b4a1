#include "storage/read/run_totals.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/saturating.h"
#include "storage/read/run_view_internal.h"
#include "storage/read/under_way_internal.h"
#include "storage/read/watched_internal.h"

namespace xylem::storage {

namespace {

/// Limit that no run reaches: number of threads in calls.
constexpr std::uint64_t kMaxRanksInCalls = 1'000'000;

using Worlds = std::map<std::uint32_t, WorldTotals::World>;

void add_watched(ViewReader& reader, const std::string& of_worlds, Worlds& worlds) {
  const WatchedColumns watched(reader.inquiry);
  reader.inquiry.scan("SELECT p.world, " + watched.sql() + " FROM process p WHERE TRUE" + of_worlds,
                      [&](std::span<const Value> row) {
                        const auto world =
                            worlds.find(static_cast<std::uint32_t>(count_of(row[0])));
                        if (world == worlds.end()) return;
                        std::uint64_t& sum = world->second.watched_ns;
                        sum = saturating_add(sum, WatchedColumns::read(row.subspan(1)).time_ns());
                      });
}

// A rank counts once, with the longest call of its threads. Only calls that still last count:
// processes that ended and lost hosts do not.
void add_calls_under_way(ViewReader& reader, const std::string& of_worlds, Worlds& worlds) {
  std::set<std::pair<WorldId, Rank>> counted;
  const UnderWayRows found = read_under_way(reader.inquiry, of_worlds + kLasting, kMaxRanksInCalls);
  for (const CallUnderWay& call : found.calls) {
    const auto world = worlds.find(raw(call.world));
    if (world == worlds.end() || !counted.emplace(call.world, call.rank).second) continue;
    WorldTotals::World& sums = world->second;
    sums.longest_call_ns = std::max(sums.longest_call_ns, call.duration_ns());
    for (std::size_t i = 0; i < kCallLengths.size(); ++i) {
      if (call.duration_ns() > kCallLengths[i]) ++sums.ranks_in_call[i];
    }
  }
}

}  // namespace

Result<WorldTotals> world_totals(RunFile& run) {
  return answer_of<WorldTotals>(run, [](ViewReader& reader, WorldTotals& totals) {
    Worlds worlds;
    for (const auto& row : reader.inquiry.ask(
             "SELECT world, count(*), sum(complete), sum(captured), sum(stored), sum(lost)"
             " FROM account WHERE world IS NOT NULL"
             " GROUP BY world ORDER BY world LIMIT " +
             std::to_string(kMaxTotals))) {
      const auto id = static_cast<std::uint32_t>(count_of(row[0]));
      WorldTotals::World& world = worlds[id];
      world.id = WorldId{id};
      world.ranks = count_of(row[1]);
      world.complete_ranks = count_of(row[2]);
      world.captured = count_of(row[3]);
      world.stored = count_of(row[4]);
      world.lost = count_of(row[5]);
    }
    const std::uint32_t last = worlds.empty() ? 0 : worlds.rbegin()->first;
    for (const auto& row : reader.inquiry.ask(
             "SELECT world, sum(time_ns), sum(bytes), max(estimated) FROM function_total"
             " WHERE world <= " +
             std::to_string(last) + " GROUP BY world")) {
      const auto world = worlds.find(static_cast<std::uint32_t>(count_of(row[0])));
      if (world == worlds.end()) continue;
      world->second.mpi_ns = count_of(row[1]);
      world->second.bytes = count_of(row[2]);
      reader.scope.estimated = reader.scope.estimated || count_of(row[3]) != 0;
    }
    const std::string of_worlds = " AND p.world <= " + std::to_string(last);
    add_watched(reader, of_worlds, worlds);
    add_calls_under_way(reader, of_worlds, worlds);
    for (auto& [id, world] : worlds) totals.worlds.push_back(world);
    totals.worlds_in_all = count_of(reader.inquiry.ask_one("SELECT count(*) FROM world", 1)[0]);
  });
}

}  // namespace xylem::storage
