#include "storage/read/run_totals.h"

#include "storage/read/run_view_internal.h"

namespace xylem::storage {

Result<WorldTotals> world_totals(RunFile& run) {
  return answer_of<WorldTotals>(run, [](ViewReader& reader, WorldTotals& totals) {
    std::map<std::uint32_t, WorldTotals::World> worlds;
    const auto world_of = [&worlds](const Value& id) -> WorldTotals::World& {
      WorldTotals::World& world = worlds[static_cast<std::uint32_t>(count_of(id))];
      world.id = WorldId{static_cast<std::uint32_t>(count_of(id))};
      return world;
    };
    const std::string few = " GROUP BY world ORDER BY world LIMIT " + std::to_string(kMaxTotals);
    for (const auto& row : reader.inquiry.ask(
             "SELECT world, count(*), sum(complete), sum(captured), sum(stored), sum(lost)"
             " FROM account WHERE world IS NOT NULL" +
             few)) {
      WorldTotals::World& world = world_of(row[0]);
      world.ranks = count_of(row[1]);
      world.complete_ranks = count_of(row[2]);
      world.captured = count_of(row[3]);
      world.stored = count_of(row[4]);
      world.lost = count_of(row[5]);
    }
    for (const auto& row : reader.inquiry.ask(
             "SELECT world, sum(time_ns), sum(bytes), max(estimated) FROM function_total"
             " WHERE world IS NOT NULL" +
             few)) {
      WorldTotals::World& world = world_of(row[0]);
      world.mpi_ns = count_of(row[1]);
      world.bytes = count_of(row[2]);
      reader.scope.estimated = reader.scope.estimated || count_of(row[3]) != 0;
    }
    for (auto& [id, world] : worlds) totals.worlds.push_back(world);
    totals.worlds_in_all = count_of(reader.inquiry.ask_one("SELECT count(*) FROM world", 1)[0]);
  });
}

}  // namespace xylem::storage
