#pragma once

// Detects processes that make no MPI calls, and finds where they are. Such a process may be inside
// a call that does not return, outside MPI, or stopped by a signal. A process without calls
// produces no windows, so without this detection a hanging job would go unnoticed.
//
// A call is counted before it begins. Its record is written when the call has ended
// (capture/core/ring.h). So if a function is not sampled, a counted call without a record is still
// running. For example:
//
//   12 calls of MPI_Recv counted, 11 in windows, 0 lost   ->  the 12th MPI_Recv has not returned

#include <cstdint>
#include <optional>

#include "backend/agent/segment.h"
#include "backend/leaf/window_builder.h"
#include "base/clock.h"
#include "base/ids.h"

namespace xylem::backend {

/// Decides when to look at a process's counter of calls and when to report its silence. Times are
/// on the host's monotonic clock. Pure.
class Silence {
 public:
  /// A drain looks at a process if its last look was at least this long ago. The reported start of
  /// a silence is too late by at most the time between two looks.
  static constexpr Nanos kLookEvery = 1 * kSecond;
  /// Shorter silences are not reported.
  static constexpr Nanos kShortest = 2 * kSecond;
  /// A silence is reported again when it has grown by 1/kGrowth of its length, and by at least a
  /// second. This gives about ninety reports in a day.
  static constexpr Nanos kGrowth = 8;

  explicit Silence(Nanos now) : since_(now), looked_(now), tell_at_(now + kShortest) {}

  bool is_time_to_look(Nanos now) const { return now >= looked_ + kLookEvery || now >= tell_at_; }
  /// `calls` is the number of calls so far, including those under way.
  void look(std::uint64_t calls, Nanos now);
  /// True if the silence has lasted long enough to be reported.
  bool is_silent(Nanos now) const { return now >= since_ + kShortest; }
  /// True if the silence must be reported now. Ask after look().
  bool is_due(Nanos now) const { return now >= tell_at_; }
  void told(Nanos now);
  /// Makes a reported silence due again, because the receiver of the report may be gone.
  void tell_again();

  /// Start of the silence. No call has begun since then.
  Nanos since() const { return since_; }
  std::uint64_t calls() const { return calls_; }

 private:
  Nanos since_;
  Nanos looked_;
  Nanos tell_at_;
  std::uint64_t calls_ = 0;
};

/// The place where a process is. If neither field is set, the place is unknown. This happens in two
/// cases. First, a sampled function has calls without a record, and any of them may still be under
/// way. Functions that never wait for other ranks, such as MPI_Test, are ignored here. Second, only
/// some of the process's threads with a ring are inside a call.
struct Whereabouts {
  std::optional<FunctionId> inside;  ///< The function of the call under way.
  bool outside = false;              ///< The process is in no call.
  bool operator==(const Whereabouts&) const = default;
};

/// Finds where a process is. The process's rings must have been read to their ends, into journalled
/// windows or into `builder`.
Whereabouts whereabouts(const Segment& segment, const WindowBuilder& builder, Lane lane);

/// Logs an error for the user if a process ended by a crash, a signal or _exit(). Logs nothing if
/// the process called MPI_Finalize or exited normally. Logs nothing for a process without the
/// capture library. `where` is the place of the process at its end.
void tell_sudden_end(const Segment& segment, const Whereabouts& where);

/// True if a signal (SIGSTOP, SIGTSTP, or a debugger's) has stopped the process. Returns false if
/// this pid namespace has no process with this pid and start time. The start time is field 22 of
/// /proc/PID/stat.
bool is_stopped(std::uint32_t pid, std::uint64_t start_time);

}  // namespace xylem::backend
