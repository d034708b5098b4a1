#pragma once

// The events of a replay, in the order of their time and creation. A radix heap: events lie in
// buckets by the highest bit in which their time differs from the current time. An event moves only
// to lower buckets, so its cost depends on the spread of the times and not on the number of events.
//
// R. K. Ahuja, K. Mehlhorn, J. Orlin, R. Tarjan: Faster algorithms for the shortest path problem,
// J. ACM 37 (1990).

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "predict/network/loggps.h"
#include "predict/trace/program.h"

namespace xylem::predict {

/// What happens. The first three are the values of Kind.
enum class EventKind : std::uint8_t { kSend, kReceive, kCompute, kMessage };

/// An operation starts, or the message of a send arrives.
struct Event {
  Event(Ticks event_time, std::uint64_t created, std::uint32_t of_operation, std::uint32_t of_rank,
        EventKind what)
      : time(event_time),
        order(created),
        operation(of_operation),
        rank(of_rank & (kMaxRanks - 1)),
        kind(what) {}

  Ticks time;
  std::uint64_t order;  ///< Increases with each event that is created.
  std::uint32_t operation;
  std::uint32_t rank : 24;  ///< The operation's. Of a message: the sender.
  EventKind kind : 7;
  /// The event waited, and the resource is expected to be free now. `operation` is its entry in
  /// WaitingLines.
  bool is_call : 1 = false;
};
static_assert(sizeof(Event) == 24);

/// Returns events by (time, order). A value type; not thread-safe.
class EventQueue {
 public:
  bool empty() const { return next_ == now_.size() && filled_ == 0; }

  /// `event.time` is not before the time of the event that pop() returned last.
  void push(const Event& event) {
    if (event.time != time_) {
      const std::size_t bucket = bucket_of(event.time);
      buckets_[bucket].push_back(event);
      filled_ |= std::uint64_t{1} << bucket;
    } else {
      push_now(event);
    }
  }

  /// Removes the first event. The queue is not empty.
  Event pop() {
    if (next_ == now_.size()) advance();
    return now_[next_++];
  }

 private:
  static bool is_before(const Event& a, const Event& b) { return a.order < b.order; }

  /// The highest bit in which another time differs from the current one.
  std::size_t bucket_of(Ticks time) const {
    return static_cast<std::size_t>(63 - std::countl_zero(time ^ time_));
  }

  /// An event of the current time. New events have the highest order; others have waited.
  void push_now(const Event& event) {
    if (next_ == now_.size()) {
      now_.clear();
      next_ = 0;
    }
    const auto first = now_.begin() + static_cast<std::ptrdiff_t>(next_);
    now_.insert(now_.empty() || now_.back().order < event.order
                    ? now_.end()
                    : std::upper_bound(first, now_.end(), event, is_before),
                event);
  }

  /// Moves to the earliest time: spreads the lowest bucket over the buckets below it.
  void advance() {
    std::vector<Event>& bucket = buckets_[std::countr_zero(filled_)];
    filled_ &= filled_ - 1;
    time_ = bucket.front().time;
    for (const Event& it : bucket) time_ = std::min(time_, it.time);
    now_.clear();
    next_ = 0;
    for (const Event& it : bucket) {
      if (it.time == time_) {
        now_.push_back(it);
      } else {
        const std::size_t lower = bucket_of(it.time);
        buckets_[lower].push_back(it);
        filled_ |= std::uint64_t{1} << lower;
      }
    }
    bucket.clear();
    if (!std::is_sorted(now_.begin(), now_.end(), is_before)) {
      std::sort(now_.begin(), now_.end(), is_before);
    }
  }

  Ticks time_ = 0;
  std::vector<Event> now_;  ///< Events of the current time, by order. Those before next_ are gone.
  std::size_t next_ = 0;
  std::array<std::vector<Event>, 64> buckets_;
  std::uint64_t filled_ = 0;  ///< Bit i: buckets_[i] is not empty.
};

}  // namespace xylem::predict
