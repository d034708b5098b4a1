#pragma once

// Estimates the time of all calls that a record stands for, if sampling has left out some of them.
//
// The simple estimate, duration times calls, is wrong when the timed call was unusual. For example,
// 1000 polls of 200 ns take 4.2 ms if the kernel preempts one of them for 4 ms. If that poll is
// timed, the simple estimate is 4 s. But all calls of a record lie between the end of the
// function's previous record and the record's own end, and the thread did nothing else during these
// calls. So:
//
//   Iprobe                Send               Iprobe (1000 calls)
//   ...---|               |--|               |----| end
//       ^ end of its previous record
//
//   free = time between the two ends of Iprobe, less the time that other records there stand for
//
//   time = min(duration * calls, free), and never less than the duration itself.
//
// For consecutive records of a thread, the sum of estimates never exceeds the time since the
// thread's first record began. Reads no clock and does no I/O. Not thread-safe.

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
  /// Time in ns that a record stands for; calls >= 1, begin <= end, `thread` any number. Records of
  /// a thread must come in order. If records overlap, the sum may exceed the time passed. `since`
  /// is used for the first record of a thread: its calls began no earlier. (A worker that replaces
  /// a dead worker has not seen the previous records.)
  std::uint64_t take(std::uint32_t thread, FunctionId function, Nanos begin, Nanos end,
                     std::uint64_t calls, Nanos since) {
    // A hostile record may name any thread.
    const std::uint32_t number = std::min(thread, capture::kMaxThreads - 1);
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

  /// Time in ns of `calls` calls that have no record. It is the mean time of the function's
  /// recorded calls times `calls`, but at most the threads' free time since the function's last
  /// record. In each thread the free time ends with the thread's last record, or at `until` if that
  /// record is the function's. 0 if no call was ever timed.
  std::uint64_t of_unrecorded(FunctionId function, std::uint64_t calls, Nanos until) const;

 private:
  struct Timed {
    Nanos end = 0;             // End of the function's last record.
    std::uint64_t before = 0;  // Time that all records of the thread stood for until then.
    std::uint64_t time_ns = 0;
    std::uint64_t calls = 0;
  };
  struct Thread {
    Nanos first = 0;
    Nanos last = 0;
    std::uint64_t given = 0;                                 // Time that its records stand for.
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
