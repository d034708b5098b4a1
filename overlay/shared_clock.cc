#include "overlay/shared_clock.h"

#include <cstdlib>

namespace xylem::overlay {
namespace {

// Maximum difference between readings of one clock on several processors.
constexpr Nanos kReadingError = 1 * kMicrosecond;

// Virtual machines that were resumed from one image have the same identity and other clocks.
bool are_one(std::uint64_t a, std::uint64_t b, bool is_measured, Nanos offset_ns, Nanos error_ns) {
  return a != 0 && a == b && !(is_measured && std::abs(offset_ns) > error_ns + kReadingError);
}

}  // namespace

ClockEstimate root_estimate(const ClockEstimate& link, const LinkClocks& clocks,
                            Nanos root_offset_ns, Nanos root_error_ns) {
  ClockEstimate estimate = link;
  const bool is_measured = link.known && root_error_ns >= 0;
  if (are_one(clocks.own, clocks.root, is_measured, link.offset_ns + root_offset_ns,
              link.error_ns + root_error_ns)) {
    estimate.known = true;
    estimate.offset_ns = estimate.error_ns = 0;
    return estimate;
  }
  if (are_one(clocks.own, clocks.peer, link.known, link.offset_ns, link.error_ns)) {
    estimate.known = true;
    estimate.offset_ns = estimate.error_ns = 0;
  }
  estimate.known = estimate.known && root_error_ns >= 0;
  estimate.offset_ns += root_offset_ns;
  estimate.error_ns += root_error_ns;
  return estimate;
}

}  // namespace xylem::overlay
