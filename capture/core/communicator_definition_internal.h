#pragma once

// Tells the agent about a communicator (definitions.h).

#include <cstdint>

#include "capture/core/abi_internal.h"
#include "capture/core/comm_map_internal.h"

namespace xylem::capture {

/// Defines the communicator of `handle`, which has an identity: its kind and size, and the grid or
/// the neighbours of this process. Asks MPI (local operations only). Call it once for each
/// communicator.
void define(Word handle, const CommEntry& entry, std::uint32_t parent) noexcept;

}  // namespace xylem::capture
