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
/// cheap and stand for the same operation.
template <typename T>
class Completion {
 public:
  /// False when the coroutine was destroyed while it waited. The outcome would be lost, so the
  /// operation should not remove anything from a queue for it.
  bool is_wanted() const { return state_->phase.load() != Phase::kAbandoned; }

  /// Resumes the coroutine within this call. If the operation ends while it is being started, the
  /// coroutine resumes after the start instead. Does nothing if the coroutine was destroyed.
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
  // Shared by the coroutine, which may be destroyed, and the operation, which may never end.
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// An operation that a coroutine awaits once; awaiting starts it. The coroutine resumes on the
/// thread that ends the operation. This is the library's thread, so the coroutine must not block
/// it. If the operation ends at once, the coroutine continues on its own thread, without a deeper
/// stack. A coroutine that is destroyed while it waits is not resumed. It must be destroyed on the
/// thread that would resume it, or while no outcome can arrive.
template <typename T>
class [[nodiscard]] Awaitable {
 public:
  using Start = std::function<void(Completion<T>)>;

  explicit Awaitable(Start start) : start_(std::move(start)) {}
  Awaitable(const Awaitable&) = delete;
  Awaitable& operator=(const Awaitable&) = delete;
  ~Awaitable() { completion_.state_->phase.store(Phase::kAbandoned); }

  bool await_ready() const noexcept { return false; }
  /// Returns false if the outcome is already there.
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
