#pragma once

// The tables `event` and `completion`. Their rows are decoded from the file's chunks while a query
// reads them. A chunk is not opened if the query cannot need it because of its world, rank or time.

#include <cstdint>

#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// The cost of the queries, for tests and `xylem query --verbose`.
struct EventTableCounters {
  std::uint64_t chunks_decoded = 0;
};

/// Adds both tables to a connection to a run's file, for any number of queries. `counters` may be
/// null; otherwise it must live longer than the connection. Returns an SQLite result code.
///
/// Columns: world, rank, thread, begin_ns, end_ns, kind, function, peer, bytes, tag, comm, request,
/// result, calls, number, stage, success. World and rank are NULL for a process that never
/// registered. Peer, tag, comm and request are NULL if the call has none or if the value is
/// unknown. Number is NULL if the event has none (wire::kEventNumbered). Stage is
/// wire::stage_name, success wire::success_of; both may be NULL. `event` has one row for each call.
/// `completion` has one row for each request that a call has completed: the row of an MPI_Wait or
/// MPI_Test itself (kind 'mpi'), or a row for each request of a call such as MPI_Waitall (kind
/// 'completion'). It also has the other parts of calls: the requests that MPI_Startall has started
/// (kind 'start'), the receive of MPI_Sendrecv, and payload, starts and completions of calls that
/// sampling leaves out. Rows are returned process by process, in the order of the chunks. To get
/// them in the order of time, use ORDER BY.
///
/// If a query compares world, rank, begin_ns or end_ns with a value, chunks that cannot match are
/// skipped. With `function = 'NAME'`, rows that do not match are skipped at low cost. A damaged
/// chunk ends the query with an error that names the chunk.
int register_event_tables(sqlite3* database, EventTableCounters* counters);

}  // namespace xylem::storage
