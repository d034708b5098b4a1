#pragma once

// Coroutines that wait for something to happen in an event loop.

#include <functional>
#include <list>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/shared_state.h"

namespace xylem {

/// A queue of waiting coroutines. Each coroutine has an *attempt*: a function that is called until
/// it delivers an outcome or its deadline has passed. Deadlines are on CLOCK_MONOTONIC; kForever
/// means no deadline.
///
/// Any thread may call add(); only the loop's thread calls the other functions. Attempts are called
/// without a lock, so an attempt may add other attempts.
///
/// The memory of an attempt is freed when the attempt succeeds, not at the deadline. A program that
/// awaits each wave with a timeout of an hour therefore keeps no memory of earlier waves. Timers
/// cannot be cancelled. A new timer is requested only if all running timers end after the next
/// deadline. The number of timers depends on the number of different timeouts, not on the number of
/// calls.
class Waiters {
 public:
  /// Returns true if the outcome was delivered, or if nobody wants it any more. The attempt is then
  /// removed. If `last` is true, this is the last call.
  using Attempt = std::function<bool(bool last)>;

  /// Adds an attempt that must wait. Afterwards the caller must make the loop call try_all(), since
  /// the outcome may have come before add(). After end(), add() calls the attempt immediately, for
  /// the last time.
  void add(Nanos deadline, Attempt attempt);
  /// Tries all attempts in the order in which they were added. If an attempt's deadline has passed,
  /// this is its last try. Call try_all() after each event, and when a timer ends.
  void try_all(Nanos now);
  /// Tries all attempts for the last time, because no more events will come.
  void end();

  /// If a new timer is needed, returns the time at which it must end. The caller starts this timer.
  /// When the timer ends, the caller calls timer_ended() and try_all(). Call next_timer() after
  /// each try_all().
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
    std::set<Nanos> timers;  // Ends of the running timers.
    bool ended = false;
  };
  SharedState<State> state_;
};

}  // namespace xylem
