#pragma once

// Detects a process that hangs, from the outside.

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace xylem::launch {

/// The work of a process so far, from /proc.
struct Work {
  std::uint64_t bytes = 0;  ///< Read and written, on files and pipes; not on sockets.
  Nanos processor = 0;      ///< Time on processors, in steps of 10 ms.
  bool stopped = false;     ///< By a signal, or by a debugger, at this moment.
};

/// None if there is no such process, or it may not be read.
std::optional<Work> work_of(pid_t pid);

/// Measures how long a process has shown no sign of work: no output, nothing read or written, and
/// less than a tenth of a processor used. A stopped process, or one that waits for an unresponsive
/// disk, shows none; one that copies a large store does.
///
/// The time between two looks counts as at most kLongestPause, since the caller itself may have
/// been stopped. One thread.
class Standstill {
 public:
  static constexpr Nanos kShortestPause = 100 * kMillisecond;  ///< An earlier look has no effect.
  static constexpr Nanos kLongestPause = 2 * kSecond;

  /// Starts to watch `pid`, with no idle time so far.
  void follow(pid_t pid, Nanos now);
  /// The process has sent output.
  void heard() { heard_ = true; }
  /// Looks at the process. Returns how long it has shown no sign of work.
  Nanos look(Nanos now);
  /// The same with given values, for tests without a process.
  Nanos look(Nanos now, const Work& found);

 private:
  pid_t pid_ = -1;
  Nanos looked_at_ = 0;
  Nanos duration_ = 0;
  Work last_;
  bool heard_ = false;
};

}  // namespace xylem::launch
