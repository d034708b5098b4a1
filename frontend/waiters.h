#pragma once

// Coroutines that wait for something of a tool's tree.

#include <functional>
#include <list>
#include <optional>
#include <set>

#include "base/clock.h"

namespace xylem::frontend {

/// Waiting coroutines, each with a deadline (ns, CLOCK_MONOTONIC; the largest number means none).
/// Takes the time as an argument; all calls on the loop's thread. An attempt may add others.
///
/// An attempt's memory is freed when it is answered, not at its deadline, so a program that awaits
/// each wave for an hour keeps nothing of earlier waves. Timers cannot be cancelled, so a new one
/// is requested only if no running timer ends as early. The number of timers depends on the number
/// of different timeouts, not of calls.
class Waiters {
 public:
  /// True when it is answered or no longer wanted; it is then dropped. `last`: it will not be
  /// called again.
  using Attempt = std::function<bool(bool last)>;

  /// Adds an attempt that was tried once and must wait.
  void add(Nanos deadline, Attempt attempt);
  /// Tries all in the order of their calls, and for the last time those whose deadline has passed.
  /// Call it after each event, and when a timer ends.
  void try_all(Nanos now);

  /// The time of a timer to start, if one is needed; when it ends, call timer_ended() and
  /// try_all(). Call it after add() and try_all().
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
