#pragma once

// What a coroutine of any type can wait for: `auto wave = co_await stream.async_receive(...)`.

#include <atomic>
#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace xylem {

/// Where an operation puts its outcome: called once, from any thread. A name for it, cheap to copy.
template <typename T>
class Completion {
 public:
  /// False when the coroutine was destroyed while it waited: nobody will see the outcome, so
  /// nothing should be taken from anywhere for it.
  bool is_wanted() const { return state_->phase.load() != Phase::kAbandoned; }

  /// The coroutine goes on within this call; or after the operation's start, when it ends within
  /// that. Nothing happens when it was destroyed.
  void operator()(T outcome) const {
    const auto state = state_;  // Whoever goes on may destroy all other names of it.
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

/// One operation, to be awaited once; it begins when it is awaited. The coroutine goes on where the
/// operation ends: on the library's thread, which must not be kept; or, when it ends at once, where
/// it was, without a deeper stack. A coroutine that is destroyed while it waits is not resumed; the
/// destroying thread is the one that would resume it, or knows that nothing arrives meanwhile.
template <typename T>
class [[nodiscard]] Awaitable {
 public:
  using Start = std::function<void(Completion<T>)>;

  explicit Awaitable(Start start) : start_(std::move(start)) {}
  Awaitable(const Awaitable&) = delete;
  Awaitable& operator=(const Awaitable&) = delete;
  ~Awaitable() { completion_.state_->phase.store(Phase::kAbandoned); }

  bool await_ready() const noexcept { return false; }
  /// False: the outcome is there already.
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
