#include <sched.h>

#include "capture/core/bounded_lock_internal.h"
#include "capture/core/system_internal.h"

namespace xylem::capture {

bool BoundedLock::wait_for(LockState& lock) noexcept {
  constexpr int kYields = 1'000;
  constexpr int kSleeps = 10'000;
  constexpr std::uint32_t kSleepMicros = 100;
  for (int attempt = 0; attempt < kYields + kSleeps; ++attempt) {
    if (lock.load(std::memory_order_relaxed) == kAbandoned) return false;
    if (try_lock(lock)) return true;
    if (attempt < kYields) {
      sched_yield();
    } else {
      rest(kSleepMicros);
    }
  }
  std::uint32_t state = kHeld;
  lock.compare_exchange_strong(state, kAbandoned, std::memory_order_relaxed);
  return false;
}

}  // namespace xylem::capture
