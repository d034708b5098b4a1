#include "frontend/waiters.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace xylem::frontend {

void Waiters::add(Nanos deadline, Attempt attempt) {
  waiting_.push_back({deadline, std::move(attempt)});
}

void Waiters::try_all(Nanos now) {
  std::list<Waiter> waiting = std::exchange(waiting_, {});  // An attempt may add to the others.
  waiting.remove_if([now](const Waiter& one) {
    const bool last = one.deadline <= now;
    return one.attempt(last) || last;
  });
  waiting_.splice(waiting_.begin(), waiting);
}

std::optional<Nanos> Waiters::next_timer() {
  const auto first = std::min_element(
      waiting_.begin(), waiting_.end(),
      [](const Waiter& one, const Waiter& other) { return one.deadline < other.deadline; });
  if (first == waiting_.end() || first->deadline == kForever) return {};
  if (!timers_.empty() && *timers_.begin() <= first->deadline) return {};
  timers_.insert(first->deadline);
  return first->deadline;
}

}  // namespace xylem::frontend
