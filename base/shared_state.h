#pragma once

// State that several threads share. Code can reach the state only under its lock. A thread can wait
// until the state changes.
//
//   SharedState<Queue> queue;
//
//   auto state = queue.lock();                              auto state = queue.lock();
//   const bool got = state.wait_until(deadline, [&] {       state->items.push_back(item);
//     return !state->items.empty();                         state.notify();
//   });

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/clock.h"

namespace xylem {

/// A value with a lock, for any number of threads.
template <typename Value>
class SharedState {
 public:
  /// Passes its arguments to the value's constructor.
  template <typename... Arguments>
  explicit SharedState(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}
  SharedState(const SharedState&) = delete;
  SharedState& operator=(const SharedState&) = delete;

  /// The value, locked while this object lives or until unlock(). A thread may have only one Access
  /// to a value at a time.
  template <typename Seen>
  class Access {
   public:
    Seen* operator->() const { return seen_; }
    Seen& operator*() const { return *seen_; }

    /// Waits until `done()` returns true or the deadline has passed. The deadline is on
    /// CLOCK_MONOTONIC; kForever means no deadline. Calls `done()` under the lock, and returns its
    /// last result. While this thread waits, the lock is free for other threads.
    template <typename Done>
    bool wait_until(Nanos deadline, const Done& done) {
      const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline)};
      return changed_->wait_until(lock_, until, done);
    }
    /// Wakes all waiting threads, so that they check their condition again.
    void notify() const { changed_->notify_all(); }

    /// The value must not be used between unlock() and lock().
    void unlock() { lock_.unlock(); }
    void lock() { lock_.lock(); }
    /// Returns false after unlock(), and if try_lock() has failed.
    explicit operator bool() const { return lock_.owns_lock(); }

   private:
    friend class SharedState;
    Access(std::unique_lock<std::mutex> lock, std::condition_variable* changed, Seen* seen)
        : lock_(std::move(lock)), changed_(changed), seen_(seen) {}
    std::unique_lock<std::mutex> lock_;
    std::condition_variable* changed_;
    Seen* seen_;
  };
  using Locked = Access<Value>;

  Locked lock() { return {std::unique_lock(mutex_), &changed_, &value_}; }
  Access<const Value> lock() const { return {std::unique_lock(mutex_), &changed_, &value_}; }
  /// Does not wait. The result converts to false when another thread has the lock.
  Locked try_lock() { return {std::unique_lock(mutex_, std::try_to_lock), &changed_, &value_}; }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Value value_;
};

}  // namespace xylem
