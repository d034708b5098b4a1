#pragma once

// Estimates the time of all calls that a record represents. With sampling, only one of these calls
// was timed.
//
// The simple estimate, duration times calls, is wrong when the timed call was unusual. For example,
// 1000 polls of 200 ns take 4.2 ms if the kernel preempts one of them for 4 ms. If the preempted
// poll is the timed one, the simple estimate is 4 s. But all calls of a record lie between the end
// of the function's previous record and the record's own end. During each of these calls, the
// thread was in no other call. So:
//
//   Iprobe                Send               Iprobe (1000 calls)
//   ...---|               |--|               |----| end
//       ^ end of its previous record
//
//   free = time between the two ends of Iprobe, minus the time of the other records between them
//
//   time = min(duration * calls, free), but at least the duration
//
// If the records of a thread do not overlap, the sum of their estimates never exceeds the time
// since the thread's first calls began. If the first record represents several calls, this time is
// `since`. Reads no clock and does no I/O. Not thread-safe.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "capture/core/ring.h"

namespace xylem::backend {

/// The estimates for one process, over all its threads and windows. Uses about 2 KiB per thread.
class TimeEstimate {
 public:
  /// Returns the time in ns of all calls that a record represents. `calls` must be at least 1, and
  /// `begin` must not be after `end`. `thread` may be any number. Records of a thread must come in
  /// order. If records overlap, the sum may exceed the time passed.
  ///
  /// `since` is the earliest possible begin of the record's calls. It is used only for a thread's
  /// first record, and only if this record represents several calls. A worker that replaces a dead
  /// worker needs it, because it has not seen the previous records.
  std::uint64_t take(ThreadIndex thread, FunctionId function, Nanos begin, Nanos end,
                     std::uint64_t calls, Nanos since) {
    // A hostile record may name any thread.
    const std::uint32_t number = std::min(raw(thread), capture::kMaxThreads - 1);
    if (number >= threads_.size() || threads_[number] == nullptr) {
      meet(number, calls > 1 ? std::min(begin, since) : begin);
    }
    Thread& in = *threads_[number];
    const std::uint16_t at = in.at[raw(function)];
    Timed& timed = at != 0 ? in.timed[at - 1] : meet(in, function);

    const auto duration = static_cast<std::uint64_t>(end - begin);
    const std::uint64_t time = calls > 1 ? time_of_many(in, timed, duration, end, calls) : duration;
    in.given = sum(in.given, time);
    in.last = std::max(in.last, end);
    timed.end = end;
    timed.before = in.given;
    timed.time_ns = sum(timed.time_ns, time);
    timed.calls = sum(timed.calls, calls);
    return time;
  }

  /// A sampled record represents several calls, but only one was timed. Returns the earliest time
  /// at which the others may have begun: the end of the function's previous record in this thread,
  /// or the begin of the thread's first calls. Call it before take(), with the same arguments.
  Nanos earliest(ThreadIndex thread, FunctionId function, Nanos begin, Nanos since) const;

  /// A span of time in which a thread may have made calls of a function that have no record.
  struct Span {
    ThreadIndex thread{};
    Nanos begin = 0;
    Nanos end = 0;
  };
  /// Returns a span for each thread that has a record of the function. The span begins after the
  /// thread's last record of the function. of_unrecorded() looks for free time in these spans.
  std::vector<Span> unrecorded_spans(FunctionId function, Nanos until) const;

  /// Time in ns of `calls` calls that have no record. It is `calls` times the mean time of the
  /// function's recorded calls, but at most the threads' free time since the function's last
  /// record. The free time of a thread ends with the thread's last record. If this last record is
  /// of the same function, the free time ends at `until`. Returns 0 if no call of the function was
  /// timed.
  std::uint64_t of_unrecorded(FunctionId function, std::uint64_t calls, Nanos until) const;

 private:
  struct Timed {
    Nanos end = 0;             // End of the function's last record.
    std::uint64_t before = 0;  // Time of all records of the thread up to `end`.
    std::uint64_t time_ns = 0;
    std::uint64_t calls = 0;
  };
  struct Thread {
    Nanos first = 0;
    Nanos last = 0;
    std::uint64_t given = 0;                                 // Time of all records so far.
    std::array<std::uint16_t, capture::kMaxFunctions> at{};  // Index into `timed`, plus 1; 0: none.
    std::vector<Timed> timed;
  };

  // Sums stop at 2^64 - 1.
  static std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    std::uint64_t result = 0;
    return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<std::uint64_t>::max()
                                                 : result;
  }
  void meet(std::uint32_t number, Nanos first);
  static Timed& meet(Thread& in, FunctionId function);
  static std::uint64_t time_of_many(const Thread& in, const Timed& timed, std::uint64_t duration,
                                    Nanos end, std::uint64_t calls);

  std::vector<std::unique_ptr<Thread>> threads_;  // By thread number; null: no record yet.
};

}  // namespace xylem::backend
