#pragma once

// Finds, in a run's file, the values of hosts that do not come from services.

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "storage/read/query.h"

namespace xylem::storage {

/// Returns the name of the table that has one number in each row: `host_value`. Its columns are
/// leaf, at_ns, name, value. In files before schema 8 the table is `host_metric`, which has only
/// these values there. Fails if the file cannot be read (see RunFile::query).
inline Result<std::string> host_value_table(RunFile& run) {
  const auto found = run.rows("SELECT 1 FROM sqlite_schema WHERE name = 'host_value'");
  if (!found) return unexpected(found.error());
  return std::string(found->empty() ? "host_metric" : "host_value");
}

/// Index by leaf, name and time. Files before schema 13 do not have it.
constexpr const char* kHostValueIndex = "host_value_by_time";

/// Returns SQL that finds, for each leaf and name, the newest number at or before `until_ns`. The
/// columns of its result are leaf, name, value. `leaves` is SQL that returns the leaves, in a
/// column `leaf`. With the index, the time of the query does not grow with the length of the run or
/// of a host's silence. Without the index, all numbers are read. Fails if the file cannot be read
/// (see RunFile::query).
Result<std::string> newest_host_values(RunFile& run, const std::string& leaves, Nanos until_ns);

}  // namespace xylem::storage
