#pragma once

// The tables `event` and `completion`: rows that exist only while they are read, made from the
// chunks of the file. A chunk that a query cannot need (by world, rank, time) is not opened.

#include <cstdint>

#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// What reading cost; for tests and `xylem query --verbose`.
struct EventTableCounters {
  std::uint64_t chunks_decoded = 0;
};

/// Makes the tables known to a connection to a run's file; any number of queries may then name
/// them. `counters` may be null, else it outlives the connection. Returns an SQLite code.
///
/// Columns: world, rank, thread, begin_ns, end_ns, kind, function, peer, bytes, tag, comm, request,
/// result, calls. World and rank are NULL for a process that never registered; peer, tag and comm
/// are NULL when there is none or it is not known. `event` shows calls, `completion` the requests
/// that completed inside calls which complete several. Rows come process by process, in the order
/// of their chunks; who needs them in order of time asks for it.
///
/// Comparisons of world, rank, begin_ns and end_ns with values skip chunks, `function = 'NAME'`
/// skips rows cheaply. A damaged chunk ends the query with a sentence that names it.
int register_event_tables(sqlite3* database, EventTableCounters* counters);

}  // namespace xylem::storage
