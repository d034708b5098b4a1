#pragma once

// The tables `collective` and `unmatched`. Their rows are computed from the file's chunks while a
// query reads them.

#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// Adds the tables to a connection to a run's file, for any number of queries. Returns an SQLite
/// result code.
///
/// collective(world, comm, number, function, ranks, members, root, operation, bytes,
/// received_bytes, first_ns, last_ns): one row for each collective, by its number on its
/// communicator. `ranks` is the number of ranks whose call is in the trace, `members` the number of
/// ranks that belong to the communicator, NULL if this is not known. `bytes` and `received_bytes`
/// are sums over the ranks. `first_ns` is the earliest begin and `last_ns` the latest end of the
/// calls; the call of an immediate collective is the one that starts it. If ranks have called
/// different functions, each function has a row. Calls of an unknown communicator or without a
/// number are in no row; `unmatched` counts them.
///
/// unmatched(world, rank, kind, count, reason): what is missing in the trace of each rank. It is
/// empty if no call of a rank is missing, each message has its send and its receive, and each
/// collective has a call of each member. Calls that sampling leaves out, and calls inside other
/// calls, have no events and are not missed. Kinds, which may overlap:
///
///   call        calls that are not in the trace
///   part        parts of calls, and requests, that are not in the trace
///   send        sends that are not in the trace, or whose receive is not known
///   receive     receives that are not in the trace, or whose send is not known
///   collective  calls of collectives in which other members are missing, or which have no number
///   rank        1: the rank was not watched, or its host was lost
///
/// Each query decodes all chunks. It keeps the halves of messages that have no pair yet;
/// `collective` keeps a row for each collective, with its ranks, and `unmatched` one for each
/// collective in which a member is missing. A damaged chunk ends a query with an error that names
/// the chunk.
int register_matching_tables(sqlite3* database);

}  // namespace xylem::storage
