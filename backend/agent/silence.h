#pragma once

// How long a process has made no MPI call, and where it stands meanwhile: inside a call that does
// not end, outside, stopped by a signal. Who makes no calls makes no windows: without this nobody
// would learn of a job that hangs.
//
// A call is counted before it begins and has its record when it has ended (capture/core/ring.h). So
// a call that is counted, has no record and is not sampled is under way:
//
//   calls[MPI_Recv] = 12    in windows 11, lost 0    ->  it is inside its 12th MPI_Recv

#include <cstdint>
#include <optional>

#include "backend/agent/segment.h"
#include "backend/leaf/window_builder.h"
#include "base/clock.h"
#include "base/ids.h"

namespace xylem::backend {

/// When to look at a process's counter of calls and when to tell that it stands. Times are of the
/// host's monotonic clock. Pure.
class Silence {
 public:
  /// Counters are compared so often: a silence counts from a moment up to this much too late.
  static constexpr Nanos kLookEvery = 1 * kSecond;
  /// Shorter ones are not told.
  static constexpr Nanos kShortest = 2 * kSecond;
  /// Told again when it has grown by this part, and by a second: some ninety times in a day.
  static constexpr Nanos kGrowth = 8;

  explicit Silence(Nanos now) : since_(now), looked_(now), tell_at_(now + kShortest) {}

  bool is_time_to_look(Nanos now) const { return now >= looked_ + kLookEvery || now >= tell_at_; }
  /// The process has made so many calls by now, those under way included.
  void look(std::uint64_t calls, Nanos now);
  /// It has lasted long enough to be told of.
  bool is_silent(Nanos now) const { return now >= since_ + kShortest; }
  /// It is to be told now; after a look.
  bool is_due(Nanos now) const { return now >= tell_at_; }
  void told(Nanos now);
  /// It is due as soon as it has lasted long enough: who was told of it may be gone.
  void tell_again();

  /// No call since then.
  Nanos since() const { return since_; }
  std::uint64_t calls() const { return calls_; }

 private:
  Nanos since_;
  Nanos looked_;
  Nanos tell_at_;
  std::uint64_t calls_ = 0;
};

/// Where a process stands. Neither: that cannot be known, since a sampled function may be under way
/// (one that waits: not MPI_Test, MPI_Iprobe and their kin), or since some of its threads are
/// inside a call and some are not.
struct Whereabouts {
  std::optional<FunctionId> inside;  ///< The function that it is inside of.
  bool outside = false;              ///< It is in none.
  bool operator==(const Whereabouts&) const = default;
};

/// Of a process whose rings have been read to their ends: into journalled windows or into what
/// `builder` holds.
Whereabouts whereabouts(const Segment& segment, const WindowBuilder& builder, Lane lane);

/// Logs that a process has ended in the midst of its work, which whoever started it sees: neither
/// MPI_Finalize nor its own exit was come to, as in a crash, by a signal, or by _exit(). Nothing of
/// other ends, nor of a process that was watched without its calls. `where` is of its last moment.
void tell_sudden_end(const Segment& segment, const Whereabouts& where);

/// A signal (SIGSTOP, SIGTSTP, a debugger's) has stopped the process. False when there is none of
/// this number that began then (field 22 of /proc/PID/stat), as in another space of process ids.
bool is_stopped(std::uint32_t pid, std::uint64_t start_time);

}  // namespace xylem::backend
