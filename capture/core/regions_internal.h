#pragma once

// Regions that a program names: capture/region/region.h, and the levels of MPI_Pcontrol.
//
// A region has sums in the segment (RegionTable in ring.h), which the agent reads. They count in
// threads that have called MPI, and while capture is switched off too, so that begins and ends stay
// in pairs. The first use of a name writes a definition, under a lock with a bounded wait.

#include <cstdint>

#include "capture/core/process_internal.h"

namespace xylem::capture {

/// The thread is in the region of a level of MPI_Pcontrol until it calls it again. Level 1 is the
/// normal one, and no region. `site` is the place of the call in the program; null if it is
/// unknown.
void enter_level(std::int32_t level, const void* site) noexcept;

/// Ends all regions of a thread that ends.
void end_regions(Thread& thread) noexcept;

/// Forgets which names were told to the agent. For a child of fork() that starts MPI itself.
void forget_regions() noexcept;

}  // namespace xylem::capture
