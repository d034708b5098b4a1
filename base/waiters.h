#pragma once

// Coroutines that wait for something which a loop's thread may bring.

#include <functional>
#include <list>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/shared_state.h"

namespace xylem {

/// A queue of waiting coroutines, each with a deadline (ns, CLOCK_MONOTONIC; kForever: none). Any
/// thread may add; the loop's thread calls the rest. An attempt is called without a lock and may
/// add others.
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

  /// Adds an attempt that must wait. Afterwards the caller makes the loop call try_all(), since the
  /// event may have come before. After end() it tries the attempt at once, for the last time.
  void add(Nanos deadline, Attempt attempt);
  /// Tries all in the order of their calls, and for the last time those whose deadline has passed.
  /// Call it after each event, and when a timer ends.
  void try_all(Nanos now);
  /// Tries all for the last time: no event will come any more.
  void end();

  /// The time of a timer to start, if one is needed; when it ends, call timer_ended() and
  /// try_all(). Call it after try_all().
  std::optional<Nanos> next_timer();
  void timer_ended(Nanos when) { state_.lock()->timers.erase(when); }

  bool empty() const { return state_.lock()->waiting.empty(); }

 private:
  struct Waiter {
    Nanos deadline;
    Attempt attempt;
  };
  struct State {
    std::list<Waiter> waiting;
    std::set<Nanos> timers;  // Under way.
    bool ended = false;
  };
  SharedState<State> state_;
};

}  // namespace xylem
