#pragma once

// Operations that any coroutine can await: `auto wave = co_await stream.async_receive(...)`.

#include <atomic>
#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace xylem {

/// Receives the outcome of an operation. The operation calls it once, from any thread. Copies are
/// cheap; all copies belong to the same operation.
template <typename T>
class Completion {
 public:
  /// False if the coroutine was destroyed while it waited. Then nobody receives the outcome, so the
  /// operation should not take an item out of a queue.
  bool is_wanted() const { return state_->phase.load() != Phase::kAbandoned; }

  /// Resumes the coroutine within this call. Exception: while the operation's Start function runs,
  /// the coroutine resumes only after the Start function has returned, on that thread. Does nothing
  /// if the coroutine was destroyed.
  void operator()(T outcome) const {
    const auto state = state_;  // The resumed coroutine may destroy all other handles.
    state->outcome.emplace(std::move(outcome));
    auto phase = Phase::kStarting;
    if (state->phase.compare_exchange_strong(phase, Phase::kDone)) return;
    if (phase != Phase::kWaiting) return;
    if (state->phase.compare_exchange_strong(phase, Phase::kDone)) state->waiting.resume();
  }

 private:
  template <typename>
  friend class Awaitable;
  enum class Phase { kStarting, kWaiting, kDone, kAbandoned };
  struct State {
    std::atomic<Phase> phase = Phase::kStarting;
    std::coroutine_handle<> waiting;
    std::optional<T> outcome;
  };
  // Shared, because the coroutine may be destroyed early and the operation may never end.
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// An operation that a coroutine awaits once; awaiting starts it. The coroutine resumes on the
/// thread that ends the operation. This is usually a thread of the library, so the coroutine must
/// not block. If the operation ends during its start, the coroutine continues on the thread that
/// awaited, and the stack does not grow.
///
/// A coroutine may be destroyed while it waits; it is then not resumed. Destroy it on the thread
/// that would resume it, or when no outcome can arrive any more.
template <typename T>
class [[nodiscard]] Awaitable {
 public:
  using Start = std::function<void(Completion<T>)>;

  explicit Awaitable(Start start) : start_(std::move(start)) {}
  Awaitable(const Awaitable&) = delete;
  Awaitable& operator=(const Awaitable&) = delete;
  ~Awaitable() { completion_.state_->phase.store(Phase::kAbandoned); }

  bool await_ready() const noexcept { return false; }
  /// Returns false if the operation has already ended.
  bool await_suspend(std::coroutine_handle<> waiting) {
    const auto state = completion_.state_;
    state->waiting = waiting;
    start_(completion_);
    auto phase = Phase::kStarting;
    return state->phase.compare_exchange_strong(phase, Phase::kWaiting);
  }
  T await_resume() { return std::move(*completion_.state_->outcome); }

 private:
  using Phase = typename Completion<T>::Phase;
  Completion<T> completion_;
  Start start_;
};

}  // namespace xylem
