#include "storage/read/run_totals.h"

#include "storage/read/run_view_internal.h"

namespace xylem::storage {

Result<WorldTotals> world_totals(RunFile& run) {
  return answer_of<WorldTotals>(run, [](ViewReader& reader, WorldTotals& totals) {
    std::map<std::uint32_t, WorldTotals::World> worlds;
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
    for (auto& [id, world] : worlds) totals.worlds.push_back(world);
    totals.worlds_in_all = count_of(reader.inquiry.ask_one("SELECT count(*) FROM world", 1)[0]);
  });
}

}  // namespace xylem::storage
