#include "overlay/shared_clock.h"

namespace xylem::overlay {
namespace {

bool are_one(std::uint64_t a, std::uint64_t b) { return a != 0 && a == b; }

}  // namespace

ClockEstimate root_estimate(const ClockEstimate& link, const LinkClocks& clocks,
                            Nanos root_offset_ns, Nanos root_error_ns) {
  ClockEstimate estimate = link;
  if (are_one(clocks.own, clocks.root)) {
    estimate.known = true;
    estimate.offset_ns = estimate.error_ns = 0;
    return estimate;
  }
  if (are_one(clocks.own, clocks.peer)) {
    estimate.known = true;
    estimate.offset_ns = estimate.error_ns = 0;
  }
  estimate.known = estimate.known && root_error_ns >= 0;
  estimate.offset_ns += root_offset_ns;
  estimate.error_ns += root_error_ns;
  return estimate;
}

}  // namespace xylem::overlay
