#pragma once

// A plugin's file in memory that nobody can change any more.

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "filters/aggregation.h"

namespace xylem::filters {

/// The file as it is now: whoever is handed the descriptor loads it by name_of_copy(), with the
/// same SHA-256, when the file has changed or gone. Fails as plugin_fingerprint(), with kCorrupt
/// when `announced` is another SHA-256, and with kExhausted when there is no memory or descriptor.
Result<UniqueFd> copy_plugin(const std::string& path, const Sha256* announced = nullptr);

/// A path of such a copy, good in the process that has this descriptor.
std::string name_of_copy(int copy);

}  // namespace xylem::filters
