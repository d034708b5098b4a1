#include "base/clock.h"

#include <time.h>

namespace xylem {
namespace {

Nanos read(clockid_t id) noexcept {
  timespec t{};
  ::clock_gettime(id, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}

}  // namespace

Nanos monotonic_now() noexcept { return read(CLOCK_MONOTONIC); }
Nanos realtime_now() noexcept { return read(CLOCK_REALTIME); }

}  // namespace xylem
