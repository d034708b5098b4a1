#pragma once

// All tables that are computed from a run's chunks, in one list for the programs and the loadable
// extension.

#include <memory>

#include "storage/read/call_site_table_internal.h"
#include "storage/read/event_table_internal.h"
#include "storage/read/matching_tables_internal.h"
#include "storage/read/region_table_internal.h"
#include "storage/read/wait_tables_internal.h"

namespace xylem::storage {

/// Adds the tables to a connection to a run's file. `counters`, which may be null, and `kept` are
/// those of register_event_tables() and register_wait_tables(). Returns an SQLite result code.
inline int register_run_tables(sqlite3* database, EventTableCounters* counters,
                               const std::shared_ptr<KeptWaitStates>& kept) {
  int code = register_event_tables(database, counters);
  if (code == SQLITE_OK) code = register_wait_tables(database, kept);
  if (code == SQLITE_OK) code = register_matching_tables(database);
  if (code == SQLITE_OK) code = register_call_site_table(database);
  return code == SQLITE_OK ? register_region_table(database) : code;
}

}  // namespace xylem::storage
