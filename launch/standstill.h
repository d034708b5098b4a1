#pragma once

// Tells a process that works from one that stands still, as whoever waits for it sees it.

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace xylem::launch {

/// What a process has done so far, by /proc.
struct Work {
  std::uint64_t bytes = 0;  ///< Read and written, of files and pipes; not of sockets.
  Nanos processor = 0;      ///< Time on processors, in steps of 10 ms.
  bool stopped = false;     ///< By a signal, or by a debugger, at this moment.
};

/// None when there is no such process, or it is not ours to look at.
std::optional<Work> work_of(pid_t pid);

/// Measures for how long a process has shown no sign of work: it has said nothing, read and written
/// nothing, and used less than a tenth of a processor. A stopped process shows none, nor does one
/// that waits for a disk that does not answer; one that copies a large store does.
///
/// The time between two looks counts as kLongestPause at most, since whoever looks may have been
/// stopped itself. One thread.
class Standstill {
 public:
  static constexpr Nanos kShortestPause = 100 * kMillisecond;  ///< A look sooner changes nothing.
  static constexpr Nanos kLongestPause = 2 * kSecond;

  /// From now on `pid` is looked at; nothing has been missed of it.
  void follow(pid_t pid, Nanos now);
  /// It has said something.
  void heard() { heard_ = true; }
  /// Looks at it: for how long it has stood still.
  Nanos look(Nanos now);
  /// The same, with what was found: for tests, and without a process.
  Nanos look(Nanos now, const Work& found);

 private:
  pid_t pid_ = -1;
  Nanos looked_at_ = 0;
  Nanos duration_ = 0;
  Work last_;
  bool heard_ = false;
};

}  // namespace xylem::launch
