#pragma once

// State that threads share: it can only be reached under its lock, and a thread can wait for it to
// change.
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

/// A value with a lock. Any thread.
template <typename Value>
class SharedState {
 public:
  /// The arguments are those of the value's constructor.
  template <typename... Arguments>
  explicit SharedState(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}
  SharedState(const SharedState&) = delete;
  SharedState& operator=(const SharedState&) = delete;

  /// The value, locked as long as this object lives or until unlock(). A thread has one at a time.
  template <typename Seen>
  class Access {
   public:
    Seen* operator->() const { return seen_; }
    Seen& operator*() const { return *seen_; }

    /// Waits until `done()` or the deadline (CLOCK_MONOTONIC; kForever: none), and returns
    /// `done()`. `done` is called under the lock, which other threads can take meanwhile.
    template <typename Done>
    bool wait_until(Nanos deadline, const Done& done) {
      const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline)};
      return changed_->wait_until(lock_, until, done);
    }
    /// Lets all that wait look again.
    void notify() const { changed_->notify_all(); }

    /// Between the two the value must not be touched.
    void unlock() { lock_.unlock(); }
    void lock() { lock_.lock(); }
    /// False if try_lock() has failed.
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
  /// Does not wait: the result is false when another thread has it.
  Locked try_lock() { return {std::unique_lock(mutex_, std::try_to_lock), &changed_, &value_}; }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Value value_;
};

}  // namespace xylem
