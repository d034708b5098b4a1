#pragma once

// Finds the values of hosts in a run's file. Values from services are not included.

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "storage/read/query.h"

namespace xylem::storage {

/// Returns the name of the table of these values: `host_value`. Each row has one value; the columns
/// are leaf, at_ns, name, value. Files before schema 8 have the table `host_metric` instead. In
/// later files `host_metric` is a view, which also has values from services. Fails if the file
/// cannot be read (see RunFile::query).
inline Result<std::string> host_value_table(RunFile& run) {
  const auto found = run.rows("SELECT 1 FROM sqlite_schema WHERE name = 'host_value'");
  if (!found) return unexpected(found.error());
  return std::string(found->empty() ? "host_metric" : "host_value");
}

/// Name of the table's index by leaf, name and time. Files before schema 13 do not have the index.
constexpr const char* kHostValueIndex = "host_value_by_time";

/// Returns SQL that finds, for each leaf and name, the newest value at or before `until_ns`. The
/// first columns of the result are leaf, name, value. `leaves` is SQL that returns the leaves in a
/// column `leaf`. Without the index, the query reads all values. With the index, it reads few
/// values, even if the run is long or a host has been silent for long. Fails if the file cannot be
/// read (see RunFile::query).
Result<std::string> newest_host_values(RunFile& run, const std::string& leaves, Nanos until_ns);

}  // namespace xylem::storage
