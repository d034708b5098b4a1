#pragma once

// A read-only copy of a plugin's file in memory.

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "filters/aggregation.h"

namespace xylem::filters {

/// Copies the file as it is now. A process that gets the descriptor can load the copy by
/// name_of_copy(), with the same SHA-256, even if the file has changed or gone. Fails as
/// plugin_fingerprint(), with kCorrupt when the SHA-256 differs from `announced`, and with
/// kExhausted when there is no memory or descriptor.
Result<UniqueFd> copy_plugin(const std::string& path, const Sha256* announced = nullptr);

/// The path of such a copy, valid in the process that has this descriptor.
std::string name_of_copy(int copy);

}  // namespace xylem::filters
