#pragma once

// Processes that share a kernel read the same CLOCK_MONOTONIC. So the offset between them is 0 and
// is not measured. A clock has an identity (clock_identity() in base/this_host.h), and the welcome
// of a link says which clocks the accepting side and the front end have.

#include <cstdint>

#include "base/clock.h"
#include "overlay/clock_filter.h"

namespace xylem::overlay {

/// Identities of the clocks at the ends of a link and at the front end; 0 if unknown. Equal
/// identities that are not 0 mean the same clock, unless a measurement says otherwise.
struct LinkClocks {
  std::uint64_t own = 0;   ///< This process's clock.
  std::uint64_t peer = 0;  ///< The clock of the parent, at the other end.
  std::uint64_t root = 0;  ///< The front end's clock.
};

/// The offset from this process's clock to the front end's clock. `link` is the measured offset to
/// the parent's clock. `root_offset_ns` and `root_error_ns` are the parent's offset to the front
/// end's clock; a negative error means that the parent does not know it. The offset is 0 without
/// error if this process has the front end's clock. The offset of the link is 0 if this process has
/// the parent's clock. If the measured offset excludes 0, the identities are not believed: virtual
/// machines that were resumed from one image have equal ones.
ClockEstimate root_estimate(const ClockEstimate& link, const LinkClocks& clocks,
                            Nanos root_offset_ns, Nanos root_error_ns);

}  // namespace xylem::overlay
