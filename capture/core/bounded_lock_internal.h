#pragma once

// A lock for rare work of the capture library, such as adding an entry to a table. A thread waits
// for it only for a bounded time, so the program never hangs in it.

#include <sched.h>

#include <atomic>

namespace xylem::capture {

/// Holds the lock while it lives. False if another thread held the lock for too long; then the work
/// must be left out. If the holder asks MPI, an error handler may throw or jump. Then the lock is
/// never released.
class BoundedLock {
 public:
  explicit BoundedLock(std::atomic<bool>& lock) : lock_(lock) {
    constexpr int kMaxYields = 10'000;
    for (int i = 0; i < kMaxYields && !is_held_; ++i) {
      is_held_ = !lock_.exchange(true, std::memory_order_acquire);
      if (!is_held_) sched_yield();
    }
  }
  ~BoundedLock() {
    if (is_held_) lock_.store(false, std::memory_order_release);
  }
  BoundedLock(const BoundedLock&) = delete;
  BoundedLock& operator=(const BoundedLock&) = delete;
  explicit operator bool() const { return is_held_; }

 private:
  std::atomic<bool>& lock_;
  bool is_held_ = false;
};

}  // namespace xylem::capture
