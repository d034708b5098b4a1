#pragma once

// Makes the memory that ring.h describes.

#include "capture/core/ring.h"

namespace xylem::capture {

/// A process's segment and the descriptor to give to the agent; the caller closes it.
struct Segment {
  SegmentHeader* header = nullptr;
  int fd = -1;
};

/// Makes and fills a segment, and maps all of it but the records: rings that may grow to XYLEM_RING
/// records (fewer rings, then smaller ones, where RLIMIT_FSIZE asks for it), sampling from
/// XYLEM_SAMPLE, function table, clock, this process; enabled is 1. It is not in core dumps. Gives
/// a null header with errno when there is no memory, no descriptor, or too little of a file
/// allowed.
Segment make_segment() noexcept;

/// Maps the records of ring 0 by the segment's descriptor, and gives their memory to `map_records`
/// to find the others by: no descriptor stays open in the application. False with errno.
bool map_first_records(const Segment& segment) noexcept;

/// Unmaps what make_segment and map_first_records have mapped.
void unmap(const Segment& segment) noexcept;

inline ThreadRing& ring_of(SegmentHeader& segment, std::uint32_t ring) noexcept {
  return *reinterpret_cast<ThreadRing*>(reinterpret_cast<unsigned char*>(&segment) +
                                        ring_offset(ring));
}

/// The records of a ring, mapped; `limit` says how many there are: fewer than ring_records where
/// address space is short. Null when there is none to be had. Once a ring: its memory stays.
Record* map_records(SegmentHeader& segment, std::uint32_t ring, std::uint32_t& limit) noexcept;

/// When this process started, as /proc counts it; 0 without /proc.
std::uint64_t own_start_time() noexcept;

/// Whether the time-stamp counter runs at one rate always, on all processors.
bool has_invariant_tsc() noexcept;

}  // namespace xylem::capture
