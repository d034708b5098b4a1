#pragma once

// A read-only copy of a plugin's file in memory.

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "filters/aggregation.h"

namespace xylem::filters {

/// Copies the file and returns a descriptor of the copy. A process that has this descriptor can
/// load the copy from the path name_of_copy(), even if the file was changed or removed. Fails if
/// plugin_fingerprint() fails. Fails with kCorrupt if `announced` is not null and the file has
/// another SHA-256. Fails with kExhausted if there is no memory or descriptor for the copy.
Result<UniqueFd> copy_plugin(const std::string& path, const Sha256* announced = nullptr);

/// Returns the path of a copy. The path is valid in a process that has this descriptor.
std::string name_of_copy(int copy);

}  // namespace xylem::filters
