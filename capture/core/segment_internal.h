#pragma once

// Makes the memory that ring.h describes.

#include "capture/core/ring.h"

namespace xylem::capture {

/// A process's segment, and the descriptor to give to the agent. The caller closes the descriptor.
struct Segment {
  SegmentHeader* header = nullptr;
  int fd = -1;
};

/// Makes a segment, fills in its header and maps all of it except the records. Rings may have up to
/// XYLEM_RING records. If RLIMIT_FSIZE is too small for this size, the segment gets fewer rings. If
/// four rings are still too large, the rings get fewer records. Sampling comes from XYLEM_SAMPLE,
/// and `enabled` is 1. The segment is excluded from core dumps. Returns a null header and sets
/// errno if there is no memory or descriptor, or if the allowed file size is too small.
Segment make_segment() noexcept;

/// Maps the records of ring 0 with the segment's descriptor. Later map_records() makes the mappings
/// of the other rings from this mapping. So no descriptor stays open in the application. On failure
/// returns false and sets errno.
bool map_first_records(const Segment& segment) noexcept;

/// Unmaps everything that make_segment() and map_first_records() have mapped.
void unmap(const Segment& segment) noexcept;

inline ThreadRing& ring_of(SegmentHeader& segment, std::uint32_t ring) noexcept {
  return *reinterpret_cast<ThreadRing*>(reinterpret_cast<unsigned char*>(&segment) +
                                        ring_offset(ring));
}

/// Maps the records of a ring and sets `limit` to their number. `limit` is less than
/// SegmentHeader::ring_records if there is too little address space. Returns null if no mapping is
/// possible. Call it once per ring; the mapping stays.
Record* map_records(SegmentHeader& segment, std::uint32_t ring, std::uint32_t& limit) noexcept;

/// Start time of this process, in the unit of /proc; 0 without /proc.
std::uint64_t own_start_time() noexcept;

/// Returns whether the time-stamp counter always runs at the same rate, on all processors.
bool has_invariant_tsc() noexcept;

}  // namespace xylem::capture
