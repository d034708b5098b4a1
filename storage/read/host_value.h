#pragma once

// Where a run's file keeps the values of hosts that do not come from services.

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "storage/read/query.h"

namespace xylem::storage {

/// The table with one number a row (leaf, at_ns, name, value): `host_value`, or `host_metric` in
/// files before schema 8, where nothing else is in it. Fails as RunFile::query does.
inline Result<std::string> host_value_table(RunFile& run) {
  const auto found = run.rows("SELECT 1 FROM sqlite_schema WHERE name = 'host_value'");
  if (!found) return unexpected(found.error());
  return std::string(found->empty() ? "host_metric" : "host_value");
}

/// The index by leaf, name and time; files before schema 13 have none.
constexpr const char* kHostValueIndex = "host_value_by_time";

/// SQL for the newest number of each of `leaves`, itself SQL for one column `leaf`, and each name,
/// none of them after `until_ns`: leaf, name, value. Where there is an index it is found host by
/// host, however long the run is and however long the host has told nothing; else all are read.
/// Fails as RunFile::query does.
Result<std::string> newest_host_values(RunFile& run, const std::string& leaves, Nanos until_ns);

}  // namespace xylem::storage
