#pragma once

// Coroutines that wait for something of a tool's tree.

#include <functional>
#include <list>
#include <optional>
#include <set>

#include "base/clock.h"

namespace xylem::frontend {

/// Who waits, each until a deadline (ns, CLOCK_MONOTONIC; the largest is never). Told the time; all
/// calls on the loop's thread. An attempt may add others.
///
/// What an attempt holds goes when it is answered, not at its deadline: a program that awaits waves
/// for an hour each keeps nothing of those that came. Timers cannot be taken back, so one is asked
/// for only where none is under way that ends as early: as many as there are different time-outs
/// under way, whatever the number of calls.
class Waiters {
 public:
  /// True when it is answered, or nobody wants the answer: it is dropped then. `last`: it will not
  /// be asked again.
  using Attempt = std::function<bool(bool last)>;

  /// One that was tried already, and has to wait.
  void add(Nanos deadline, Attempt attempt);
  /// Tries all, in the order in which they came; for the last time those whose deadline is `now` or
  /// was before. After each event, and when a timer ends.
  void try_all(Nanos now);

  /// A timer to be started, for this time: then timer_ended() and try_all(). Nothing when none is
  /// needed. After add() and try_all().
  std::optional<Nanos> next_timer();
  void timer_ended(Nanos when) { timers_.erase(when); }

  bool empty() const noexcept { return waiting_.empty(); }

 private:
  struct Waiter {
    Nanos deadline;
    Attempt attempt;
  };

  std::list<Waiter> waiting_;
  std::set<Nanos> timers_;  // Under way.
};

}  // namespace xylem::frontend
