#pragma once

// The table `callsite_total`. Its rows are computed from the file's chunks when a query reads them.

#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// Adds the table to a connection to a run's file, for any number of queries. Returns an SQLite
/// result code.
///
/// callsite_total(world, rank, callsite, function, calls, time_ns, max_ns, bytes, estimated): sums
/// over the events of a rank that come from one call site and are calls of one function. `callsite`
/// is the key of the table `callsite`; NULL for calls whose place is not known. An event that
/// stands for several calls counts for all of them, each with its duration; then `estimated` is 1,
/// and some of these calls may come from other places.
/// `max_ns` is the longest call that was timed. `bytes` counts what `function_total.bytes` counts.
/// If no event is missing, the sums of `calls` and `bytes` are those of `function_total`.
///
/// Each query decodes all chunks. It keeps a row for each rank, call site and function. A damaged
/// chunk ends a query with an error that names the chunk.
int register_call_site_table(sqlite3* database);

}  // namespace xylem::storage
