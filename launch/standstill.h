#pragma once

// Detects a hanging process. The caller is another process.

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace xylem::launch {

/// The work of a process so far, from /proc.
struct Work {
  /// Bytes moved by read() and write(), also on sockets. send() and recv() do not count.
  std::uint64_t bytes = 0;
  Nanos processor = 0;   ///< CPU time, in steps of 10 ms.
  bool stopped = false;  ///< True if a signal or a debugger has stopped the process.
};

/// Reads the work of a process. Returns nullopt if the process does not exist.
std::optional<Work> work_of(pid_t pid);

/// Measures how long a process has shown no sign of work. Signs of work are output, reading,
/// writing, and using at least a tenth of a processor. A process that is stopped, or that waits for
/// an unresponsive disk, shows no sign of work. A process that copies a large store shows signs of
/// work.
///
/// The time between two calls of look() counts as at most kLongestPause, since the caller itself
/// may have been stopped. Not thread-safe.
class Standstill {
 public:
  /// look(now) has no effect if the last look with an effect was less than this time ago.
  static constexpr Nanos kShortestPause = 100 * kMillisecond;
  static constexpr Nanos kLongestPause = 2 * kSecond;

  /// Starts to watch `pid`. The time without a sign of work begins at 0.
  void follow(pid_t pid, Nanos now);
  /// Call it when the process has sent output, because output is a sign of work.
  void heard() { heard_ = true; }
  /// Looks at the process. Returns how long the process has shown no sign of work.
  Nanos look(Nanos now);
  /// Uses `found` instead of the work of the process. Tests without a process use it.
  Nanos look(Nanos now, const Work& found);

 private:
  pid_t pid_ = -1;
  Nanos looked_at_ = 0;
  Nanos duration_ = 0;
  Work last_;
  bool heard_ = false;
};

}  // namespace xylem::launch
