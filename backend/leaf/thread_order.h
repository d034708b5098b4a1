#pragma once

// Keeps the calls of a thread in order. A thread is in one call at a time. Its processor's counter
// may be a few ns behind when the thread has moved, so a record may claim to have begun before the
// thread's previous call ended.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "capture/core/ring.h"

namespace xylem::backend {

/// The newest record of a ring. To convert records without taking them, use a copy. Pure.
class ThreadOrder {
 public:
  /// A larger overlap is left as it is: only a step of the clock or a hostile process causes it.
  static constexpr Nanos kMaxOverlap = 1 * kSecond;

  ThreadOrder() = default;
  /// Continues the order of a predecessor, whose last record has ended at `last_end_ns`; 0: it had
  /// none.
  explicit ThreadOrder(Nanos last_end_ns)
      : has_any_(last_end_ns != 0), begin_ns_(last_end_ns), end_ns_(last_end_ns) {}

  /// The times of the ring's next record. `begin_ns` and `end_ns` are its ticks on the run's clock.
  /// A call begins no earlier than the previous call has ended, and does not end before it begins.
  /// A completion has the times of its call.
  std::pair<Nanos, Nanos> next(const capture::Record& record, Nanos begin_ns, Nanos end_ns) {
    const bool is_part = capture::is_part(record) && has_any_ && record.begin == begin_ticks_ &&
                         record.end == end_ticks_;
    if (is_part) return {begin_ns_, end_ns_};
    // The predecessor has read the call of this completion.
    const bool is_continued = begin_ticks_ == 0 && end_ticks_ == 0;
    if (capture::is_part(record) && is_continued && end_ns <= end_ns_) {
      return {begin_ns, end_ns};
    }
    begin_ns_ = after_last(begin_ns);
    end_ns_ = std::max(begin_ns_, end_ns);
    begin_ticks_ = record.begin;
    end_ticks_ = record.end;
    has_any_ = true;
    return {begin_ns_, end_ns_};
  }

  /// The begin of a call that comes after the newest record.
  Nanos after_last(Nanos begin_ns) const {
    const bool overlaps = has_any_ && begin_ns < end_ns_ && end_ns_ - begin_ns <= kMaxOverlap;
    return overlaps ? end_ns_ : begin_ns;
  }

  /// True if a call that began at these ticks has a record that next() has seen.
  bool has_ended(std::uint64_t begin_ticks) const noexcept {
    return has_any_ && begin_ticks <= begin_ticks_;
  }

  /// End of the newest record; 0: there is none.
  Nanos last_end() const noexcept { return end_ns_; }
  /// Ticks at which the newest record's call began; 0: there is no record.
  std::uint64_t last_begin() const noexcept { return begin_ticks_; }

 private:
  bool has_any_ = false;
  std::uint64_t begin_ticks_ = 0;
  std::uint64_t end_ticks_ = 0;
  Nanos begin_ns_ = 0;
  Nanos end_ns_ = 0;
};

}  // namespace xylem::backend
