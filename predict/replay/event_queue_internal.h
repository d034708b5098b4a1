#pragma once

// The events of a replay, in the order of their time and creation. A radix heap: events lie in
// buckets by the highest bit in which their time differs from a base. An event moves only to lower
// buckets, so its cost depends on the spread of the times and not on the number of events. The next
// few events are sorted.
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

/// What happens. The first four are the values of Kind.
enum class EventKind : std::uint8_t {
  kSend = 0,
  kReceive = 1,
  kCompute = 2,
  kFile = 3,
  kInsideSend = 4,     ///< A send to a rank of the same node.
  kMessage = 8,        ///< A message arrives at its destination.
  kInsideMessage = 9,  ///< The message of an inside send arrives.
  kOnTheWay = 16,      ///< A message goes on in the network. `operation` is its number there.
  kStorage = 17,       ///< The storage goes on. `operation` is its number there.
  kCore = 18,          ///< The scheduler looks at a rank's core. `operation` has no meaning.
};
/// One test of a bit, because each event needs it.
constexpr bool is_message(EventKind kind) { return (static_cast<unsigned>(kind) & 8) != 0; }
/// Whether the event happens outside of ranks: nothing must be free for it.
constexpr bool is_outside(EventKind kind) { return kind >= EventKind::kOnTheWay; }

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
  std::uint32_t rank : 24;  ///< The operation's. Of a message: the sender. 0 for kStorage.
  EventKind kind : 7;
  /// The event waited, and the resource is expected to be free now. `operation` is its entry in
  /// WaitingLines.
  bool is_call : 1 = false;
};
static_assert(sizeof(Event) == 24);

/// Returns events by (time, order). A value type; not thread-safe.
class EventQueue {
 public:
  bool empty() const { return next_ == soon_.size() && filled_ == 0; }

  /// `event.time` is not before the time of the event that pop() returned last.
  void push(const Event& event) {
    const Ticks distance = event.time ^ base_;
    if (distance < span_) {
      insert(event);
    } else {
      put(event, distance);
    }
  }

  /// Removes the first event. The queue is not empty.
  Event pop() {
    if (next_ == soon_.size()) advance();
    return soon_[next_++];
  }

 private:
  /// A bucket with at most so many events is sorted, a larger one is spread over the buckets below.
  static constexpr std::size_t kFew = 16;
  /// With more events, `soon_` is spread again: to insert an event moves half of the others.
  static constexpr std::size_t kMany = 64;
  static_assert(kMany > kFew);
  /// With more events that are gone, they are removed from `soon_`.
  static constexpr std::size_t kMaxGone = 1024;

  static bool is_before(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.order < b.order;
  }

  void put(const Event& event, Ticks distance) {
    const auto bucket = static_cast<std::size_t>(63 - std::countl_zero(distance));
    buckets_[bucket].push_back(event);
    filled_ |= std::uint64_t{1} << bucket;
  }

  void insert(const Event& event) {
    if (next_ > kMaxGone && 2 * next_ > soon_.size()) {
      soon_.erase(soon_.begin(), soon_.begin() + static_cast<std::ptrdiff_t>(next_ - 1));
      next_ = 1;
    }
    std::size_t at = soon_.size();
    soon_.push_back(event);
    for (; at > next_ && is_before(event, soon_[at - 1]); --at) soon_[at] = soon_[at - 1];
    soon_[at] = event;
    if (span_ > 1 && soon_.size() - next_ > kMany) {
      const std::vector<Event> all(soon_.begin() + static_cast<std::ptrdiff_t>(next_), soon_.end());
      // New events may be earlier than all of these, but not than the one that was returned last.
      spread(all, soon_[next_ - 1].time);
    }
  }

  /// Moves to the earliest bucket.
  void advance() {
    const auto lowest = static_cast<std::size_t>(std::countr_zero(filled_));
    std::vector<Event>& bucket = buckets_[lowest];
    filled_ &= filled_ - 1;
    if (bucket.size() > kFew) {
      const auto earliest = std::min_element(bucket.begin(), bucket.end(), is_before);
      spread(bucket, earliest->time);
    } else {
      span_ = Ticks{1} << lowest;
      base_ = bucket.front().time & ~(span_ - 1);
      soon_.clear();
      next_ = 0;
      for (const Event& it : bucket) insert(it);
    }
    bucket.clear();
  }

  /// All buckets below that of `events` are empty. Events of the time `base` become `soon_`.
  void spread(const std::vector<Event>& events, Ticks base) {
    base_ = base;
    span_ = 1;
    soon_.clear();
    next_ = 0;
    for (const Event& it : events) {
      it.time == base_ ? soon_.push_back(it) : put(it, it.time ^ base_);
    }
    if (!std::is_sorted(soon_.begin(), soon_.end(), is_before)) {
      std::sort(soon_.begin(), soon_.end(), is_before);
    }
  }

  // All events of the times base_ to base_ + span_ - 1, sorted. Those before next_ are gone. span_
  // is a power of two, and base_ a multiple of it.
  std::vector<Event> soon_;
  std::size_t next_ = 0;
  Ticks base_ = 0;
  Ticks span_ = 1;
  /// Bucket i has the events whose time differs from base_ in bit i, and in no higher bit.
  std::array<std::vector<Event>, 64> buckets_;
  std::uint64_t filled_ = 0;  ///< Bit i: buckets_[i] is not empty.
};

}  // namespace xylem::predict
