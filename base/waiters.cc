#include "base/waiters.h"

#include <algorithm>
#include <utility>

namespace xylem {

void Waiters::add(Nanos deadline, Attempt attempt) {
  auto state = state_.lock();
  if (!state->ended) {
    state->waiting.push_back({deadline, std::move(attempt)});
    return;
  }
  state.unlock();
  attempt(true);
}

void Waiters::try_all(Nanos now) {
  std::list<Waiter> waiting;
  waiting.swap(state_.lock()->waiting);
  waiting.remove_if([now](const Waiter& one) {
    const bool last = one.deadline <= now;
    return one.attempt(last) || last;
  });
  // Attempts that were added in the meantime come last.
  const auto state = state_.lock();
  state->waiting.splice(state->waiting.begin(), waiting);
}

void Waiters::end() {
  auto state = state_.lock();
  state->ended = true;
  const std::list<Waiter> waiting = std::exchange(state->waiting, {});
  state.unlock();
  for (const Waiter& one : waiting) one.attempt(true);
}

std::optional<Nanos> Waiters::next_timer() {
  const auto state = state_.lock();
  const auto first = std::min_element(
      state->waiting.begin(), state->waiting.end(),
      [](const Waiter& one, const Waiter& other) { return one.deadline < other.deadline; });
  if (first == state->waiting.end() || first->deadline == kForever) return {};
  if (!state->timers.empty() && *state->timers.begin() <= first->deadline) return {};
  state->timers.insert(first->deadline);
  return first->deadline;
}

}  // namespace xylem
