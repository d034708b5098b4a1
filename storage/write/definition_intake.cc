#include <bit>
#include <span>

#include "storage/write/definition_intake_internal.h"

namespace xylem::storage {

namespace {

// SQLite's integers are signed.
std::int64_t key(std::uint64_t id) { return std::bit_cast<std::int64_t>(id); }

}  // namespace

// All members define a communicator equally. A different definition is that of another communicator
// with the same id, because ids are hashes.
DefinitionIntake::DefinitionIntake(Connection& c)
    : communicator_(c,
                    "INSERT INTO comm(world, id, kind, parent, members, size, second_size)"
                    " VALUES(?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET is_ambiguous = 1"
                    " WHERE kind <> excluded.kind OR parent IS NOT excluded.parent"
                    " OR members <> excluded.members OR size <> excluded.size"
                    " OR second_size <> excluded.second_size"),
      member_(c, "INSERT OR IGNORE INTO comm_member VALUES(?,?,?,?,?)"),
      name_(c, "INSERT OR REPLACE INTO comm_name VALUES(?,?,?)"),
      dimension_(c, "INSERT OR IGNORE INTO comm_dimension VALUES(?,?,?,?,?)"),
      neighbour_(c, "INSERT OR IGNORE INTO comm_neighbor VALUES(?,?,?,?,?,?)"),
      call_site_(c,
                 "INSERT OR IGNORE INTO callsite(site, object, build_id, offset)"
                 " VALUES(?,?,lower(nullif(hex(?),'')),?)"),
      thread_(c,
              "INSERT INTO process_thread SELECT ?1, ?2, ?3, nullif(?4, 0) WHERE NOT EXISTS ("
              " SELECT 1 FROM process_thread WHERE process = ?1 AND thread = ?2 AND os_thread = ?3"
              " AND since_ns IS nullif(?4, 0))"),
      record_cost_(c, "INSERT OR REPLACE INTO process_record_cost VALUES(?,?,? / 1000.0)"),
      region_(c, "INSERT OR IGNORE INTO region_name VALUES(?,?)"),
      region_sum_(
          c,
          "INSERT INTO process_region VALUES(?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET"
          " visits = max(visits, excluded.visits), time_ns = max(time_ns, excluded.time_ns),"
          " max_ns = max(max_ns, excluded.max_ns), mpi_ns = max(mpi_ns, excluded.mpi_ns),"
          " estimated = max(estimated, excluded.estimated)"),
      lost_(c, "UPDATE process SET lost_definitions = max(lost_definitions, ?2) WHERE id = ?1") {}

void DefinitionIntake::put(ProcessKey process, WorldId world, Rank rank,
                           const wire::Definitions& definitions) {
  for (const wire::CommunicatorRow& row : definitions.communicators) {
    communicator_.run(world, row.comm, wire::communicator_kind_name(row.kind), row.parent,
                      key(row.group), row.size, row.second_size);
  }
  for (const wire::MemberRow& row : definitions.members) {
    member_.run(world, key(row.group), row.is_second, row.place, rank);
  }
  for (const wire::CommunicatorNameRow& row : definitions.names) {
    name_.run(world, row.comm, row.name);
  }
  for (const wire::DimensionRow& row : definitions.dimensions) {
    dimension_.run(world, row.comm, row.position, row.size, row.is_periodic);
  }
  for (const wire::NeighbourRow& row : definitions.neighbours) {
    neighbour_.run(world, row.comm, rank, row.is_source, row.position, row.rank);
  }
  for (const wire::ThreadRow& row : definitions.threads) {
    thread_.run(process, row.thread, row.os_thread, row.since_ns);
  }
  for (const wire::RecordCostRow& row : definitions.record_costs) {
    const char* const shape = wire::record_shape_name(row.shape);
    if (shape != nullptr) record_cost_.run(process, shape, row.picoseconds);
  }
  for (const wire::RegionRow& row : definitions.regions) region_.run(key(row.region), row.name);
  for (const wire::RegionSumRow& row : definitions.region_sums) {
    region_sum_.run(process, key(row.region), row.thread, row.visits, row.time_ns, row.max_ns,
                    row.mpi_ns, row.is_estimated);
  }
  if (definitions.lost != 0) lost_.run(process, definitions.lost);
}

void DefinitionIntake::put_call_sites(const std::vector<wire::CallSiteRow>& rows) {
  for (const wire::CallSiteRow& row : rows) {
    call_site_.run(key(raw(row.site)), row.object, std::span(row.build_id), key(row.offset));
  }
}

}  // namespace xylem::storage
