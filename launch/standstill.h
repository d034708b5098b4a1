#pragma once

// Detects from the outside that a process hangs.

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace xylem::launch {

/// The work of a process so far, from /proc.
struct Work {
  std::uint64_t bytes = 0;  ///< Bytes read and written, on files and pipes but not on sockets.
  Nanos processor = 0;      ///< CPU time, in steps of 10 ms.
  bool stopped = false;     ///< The process is stopped, by a signal or by a debugger.
};

/// Reads the work of a process. Returns nothing if there is no such process.
std::optional<Work> work_of(pid_t pid);

/// Measures how long a process has shown no sign of work: no output, nothing read or written, and
/// less than a tenth of a processor used. A process that is stopped, or waits for an unresponsive
/// disk, shows no sign of work. A process that copies a large store shows signs of work.
///
/// The time between two looks counts as at most kLongestPause, since the caller itself may have
/// been stopped. Not thread-safe.
class Standstill {
 public:
  /// A look has no effect if the last one was less than this ago.
  static constexpr Nanos kShortestPause = 100 * kMillisecond;
  static constexpr Nanos kLongestPause = 2 * kSecond;

  /// Starts to watch `pid`, with no idle time so far.
  void follow(pid_t pid, Nanos now);
  /// Call it when the process has sent output, which is a sign of work.
  void heard() { heard_ = true; }
  /// Looks at the process. Returns how long it has shown no sign of work.
  Nanos look(Nanos now);
  /// As look() above, but with the given work instead of the work of the process. For tests without
  /// a process.
  Nanos look(Nanos now, const Work& found);

 private:
  pid_t pid_ = -1;
  Nanos looked_at_ = 0;
  Nanos duration_ = 0;
  Work last_;
  bool heard_ = false;
};

}  // namespace xylem::launch
