#pragma once

// The table `region`. Its rows are computed from the file's chunks when a query reads them.

#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// Adds the table to a connection to a run's file, for any number of queries. Returns an SQLite
/// result code.
///
/// region(world, rank, thread, region, depth, begin_ns, end_ns, callsite): a visit of a region that
/// the program has named, see RegionSpan. `region` is the name, `callsite` the key of the table
/// `callsite`. `begin_ns` or `end_ns` is NULL if the event was lost or has not come.
///
/// Each query decodes all chunks, process by process, and keeps the visits of one process. A
/// damaged chunk ends a query with an error that names the chunk.
int register_region_table(sqlite3* database);

}  // namespace xylem::storage
