#pragma once

// What a coroutine can wait for, whatever its type: `auto wave = co_await
// stream.async_receive(...)`.

#include <coroutine>
#include <functional>
#include <optional>
#include <utility>

namespace xylem {

/// One operation, to be awaited once. The coroutine goes on where the operation ends: on the
/// library's thread, which must not be kept; or, when it ends at once, where it was.
template <typename T>
class [[nodiscard]] Awaitable {
 public:
  /// `start` begins the operation and is given what to call, once, with its outcome: later from any
  /// thread, or from within.
  explicit Awaitable(std::function<void(std::function<void(T)>)> start)
      : start_(std::move(start)) {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    // Whoever goes on may destroy this object before `start` returns.
    const auto start = std::move(start_);
    start([this, waiting](T outcome) {
      outcome_.emplace(std::move(outcome));
      waiting.resume();
    });
  }
  T await_resume() { return std::move(*outcome_); }

 private:
  std::function<void(std::function<void(T)>)> start_;
  std::optional<T> outcome_;
};

}  // namespace xylem
