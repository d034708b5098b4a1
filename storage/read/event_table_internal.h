#pragma once

// The tables `event` and `completion`. Their rows are decoded from the chunks of the file while a
// query reads them. Chunks that a query cannot need (by world, rank or time) are not opened.

#include <cstdint>

#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// The cost of reading, for tests and `xylem query --verbose`.
struct EventTableCounters {
  std::uint64_t chunks_decoded = 0;
};

/// Adds both tables to a connection to a run's file, for any number of queries. `counters` may be
/// null, else it must live longer than the connection. Returns an SQLite code.
///
/// Columns: world, rank, thread, begin_ns, end_ns, kind, function, peer, bytes, tag, comm, request,
/// result, calls. World and rank are NULL for a process that never registered. Peer, tag and comm
/// are NULL if there is none or if it is not known. `event` has the calls. `completion` has the
/// requests that calls such as MPI_Waitall have completed, one row for each request. Rows come
/// process by process, in the order of the chunks. For the order of time use ORDER BY.
///
/// A comparison of world, rank, begin_ns or end_ns with a value lets the query skip whole chunks.
/// `function = 'NAME'` lets it skip rows at low cost. A damaged chunk ends the query with an error
/// that names the chunk.
int register_event_tables(sqlite3* database, EventTableCounters* counters);

}  // namespace xylem::storage
