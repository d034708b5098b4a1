#include "backend/ring_sizing.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace xylem::backend {
namespace {

// A look finds a ring at most a quarter full.
constexpr double kRoom = 4;

}  // namespace

std::uint32_t wanted_capacity(const RingUse& use, Nanos interval, Nanos longest) {
  if (use.came == 0 || use.capacity >= kMaxGrownRing) return use.capacity;
  const double passed = static_cast<double>(std::max<Nanos>(1, use.passed));
  const double rate = static_cast<double>(use.came) / passed;
  const double steady = kRoom * rate * static_cast<double>(interval);
  const double burst = kBurstRate / static_cast<double>(kSecond) * static_cast<double>(longest);
  const double records = std::ceil(std::clamp<double>(std::max(steady, burst), 1, kMaxGrownRing));
  return std::max(use.capacity, std::bit_ceil(static_cast<std::uint32_t>(records)));
}

}  // namespace xylem::backend
