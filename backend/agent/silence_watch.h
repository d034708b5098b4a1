#pragma once

// Applies the rules of silence.h to all watched processes, and adds silences to their accounts.

#include <cstdint>
#include <functional>

#include "backend/agent/drain.h"
#include "backend/agent/watched_process.h"
#include "backend/leaf/window_builder.h"
#include "wire/profile.h"

namespace xylem::backend {

/// Call look() in each drain, before the windows are made. Call describe() for each account of a
/// window. Call told() when that window is journalled. Not thread-safe. Borrows the processes.
class SilenceWatch {
 public:
  /// `is_stopped` returns whether a signal has stopped the process with this pid and start time.
  SilenceWatch(WatchedProcesses& processes,
               std::function<bool(std::uint32_t pid, std::uint64_t start_time)> is_stopped)
      : processes_(processes), is_stopped_(std::move(is_stopped)) {}

  /// Looks at the counters that are due. If the silence of one process must be reported, marks all
  /// silent processes (tells_silence). So one window reports all of them.
  void look(const Drain& drain);

  /// Sets the silence in `row`. The caller has already set the counters in `row`. `builder` makes
  /// the open window.
  void describe(const WatchedProcess& process, const WindowBuilder& builder, const Drain& drain,
                wire::AccountRow& row) const;
  /// Notes that the account of the process is journalled.
  static void told(WatchedProcess& process, Nanos now);
  /// Makes all silences due again, because the receiver of the last reports may be gone.
  void tell_again();

 private:
  WatchedProcesses& processes_;
  std::function<bool(std::uint32_t, std::uint64_t)> is_stopped_;
};

}  // namespace xylem::backend
