#pragma once

// Tells the agent about a communicator (definitions.h).

#include <cstdint>

#include "capture/core/abi_internal.h"
#include "capture/core/comm_map_internal.h"

namespace xylem::capture {

/// Defines the communicator `comm` with this handle: its kind and size, its grid, the neighbours of
/// this process, and its place. Asks MPI (local operations only). Call it once for each
/// communicator.
///
/// All members know kind, size and grid, so only a few of them tell it: the first two, the one in
/// the middle and the last one, of each group.
void define(Word handle, std::uint32_t comm, Members& members, std::uint32_t parent) noexcept;

}  // namespace xylem::capture
