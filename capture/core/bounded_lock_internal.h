#pragma once

// A lock for rare work of the capture library, such as adding an entry to a table. A thread waits
// for it only for a bounded time, so the program never hangs in it.
//
// The holder may be without a processor for a long time: the system, or the host of a virtual
// machine, gives the processor to others. So a thread first yields, and then sleeps between its
// attempts, up to about a second in total. Only a holder that has ended or has jumped out of the
// work keeps the lock for longer. Then the lock is *abandoned*: until the holder releases it after
// all, all threads leave the work out at once.

#include <atomic>
#include <cstdint>

namespace xylem::capture {

/// The state of a lock. Zeroed memory is a free lock.
using LockState = std::atomic<std::uint32_t>;

/// Holds the lock while it lives. False if another thread held the lock for too long; then the work
/// must be left out. If the holder asks MPI, an error handler may throw or jump. Then the lock is
/// never released. Keeps errno. Not a cancellation point.
class BoundedLock {
 public:
  explicit BoundedLock(LockState& lock) noexcept
      : lock_(lock), is_held_(try_lock(lock) || wait_for(lock)) {}
  ~BoundedLock() {
    if (is_held_) lock_.store(kFree, std::memory_order_release);
  }
  BoundedLock(const BoundedLock&) = delete;
  BoundedLock& operator=(const BoundedLock&) = delete;
  explicit operator bool() const { return is_held_; }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kAbandoned = 2;

  static bool try_lock(LockState& lock) noexcept {
    std::uint32_t state = kFree;
    return lock.compare_exchange_strong(state, kHeld, std::memory_order_acquire,
                                        std::memory_order_relaxed);
  }
  [[gnu::noinline]] static bool wait_for(LockState& lock) noexcept;

  LockState& lock_;
  const bool is_held_;
};

}  // namespace xylem::capture
