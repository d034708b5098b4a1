#pragma once

// Makes the memory that ring.h describes.

#include "capture/ring.h"

namespace xylem::capture {

/// A process's segment and the descriptor to give to the agent; the caller closes it.
struct Segment {
  SegmentHeader* header = nullptr;
  int fd = -1;
};

/// Makes, maps and fills a segment: rings of XYLEM_RING records (fewer where address space is
/// short), sampling from XYLEM_SAMPLE, function table, clock, this process; enabled is 1. It is not
/// in core dumps. Gives a null header with errno when there is no memory.
Segment make_segment() noexcept;

/// Whether the time-stamp counter runs at one rate always, on all processors.
bool has_invariant_tsc() noexcept;

}  // namespace xylem::capture
