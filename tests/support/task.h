#pragma once

// A minimal coroutine type, as a user of the library would write it.

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <utility>

namespace xylem::testing {

/// The coroutine starts immediately. Its owner may destroy it after wait(), or while the coroutine
/// waits for an event that never comes. At any other time another thread may still run it.
struct Task {
  using Ended = std::shared_ptr<std::atomic<bool>>;
  struct promise_type {
    struct Last {
      bool await_ready() noexcept { return false; }
      // The thread that waits may destroy the coroutine before this function returns.
      void await_suspend(std::coroutine_handle<promise_type> of) noexcept {
        const Ended flag = of.promise().ended;
        flag->store(true);
        flag->notify_all();
      }
      void await_resume() noexcept {}
    };
    Task get_return_object() {
      return Task{std::coroutine_handle<promise_type>::from_promise(*this), ended};
    }
    std::suspend_never initial_suspend() { return {}; }
    Last final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
    Ended ended = std::make_shared<std::atomic<bool>>(false);
  };
  Task(std::coroutine_handle<promise_type> its, Ended flag) : handle(its), ended(std::move(flag)) {}
  Task(Task&& other) noexcept
      : handle(std::exchange(other.handle, nullptr)), ended(std::move(other.ended)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle) handle.destroy();
  }

  /// Waits until the coroutine has ended, on any thread.
  void wait() const { ended->wait(false); }
  bool has_ended() const { return ended->load(); }

  std::coroutine_handle<promise_type> handle;
  Ended ended;
};

}  // namespace xylem::testing
