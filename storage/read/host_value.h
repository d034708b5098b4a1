#pragma once

// Finds the table of host values that do not come from services in a run's file.

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "storage/read/query.h"

namespace xylem::storage {

/// Returns the table with one number in each row (leaf, at_ns, name, value): `host_value`. In files
/// before schema 8 it is `host_metric`, which has no other values there. Fails like RunFile::query.
inline Result<std::string> host_value_table(RunFile& run) {
  const auto found = run.rows("SELECT 1 FROM sqlite_schema WHERE name = 'host_value'");
  if (!found) return unexpected(found.error());
  return std::string(found->empty() ? "host_metric" : "host_value");
}

/// Index by leaf, name and time. Files before schema 13 do not have it.
constexpr const char* kHostValueIndex = "host_value_by_time";

/// Returns SQL for the newest number of each leaf and each name, not after `until_ns`. Its columns
/// are leaf, name, value. `leaves` is SQL for one column `leaf`. With the index, the time does not
/// grow with the length of the run or of a host's silence. Without the index, all numbers are read.
/// Fails like RunFile::query.
Result<std::string> newest_host_values(RunFile& run, const std::string& leaves, Nanos until_ns);

}  // namespace xylem::storage
