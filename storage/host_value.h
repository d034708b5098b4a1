#pragma once

// Where a run's file keeps what is known of its hosts by other means than services.

#include <string>

#include "base/result.h"
#include "storage/query.h"

namespace xylem::storage {

/// The table with one number a row (leaf, at_ns, name, value): `host_value`, or `host_metric` in
/// files before schema 8, where nothing else is in it. Fails as RunFile::query does.
inline Result<std::string> host_value_table(RunFile& run) {
  const auto found = run.rows("SELECT 1 FROM sqlite_schema WHERE name = 'host_value'");
  if (!found) return unexpected(found.error());
  return std::string(found->empty() ? "host_metric" : "host_value");
}

}  // namespace xylem::storage
