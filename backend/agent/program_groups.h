#pragma once

// Process groups of the programs that services run, where their numbers outlive the worker.
//
//   program, before exec --enter()--> memory of the guard <--end_all()-- guard, when a worker ended
//   worker, when it was collected --leave()-->

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "wire/series.h"

namespace xylem::backend {

/// A number a service, in memory that is shared with all processes forked afterwards. The program
/// writes its own before it becomes a program: there is no moment at which it runs unknown.
///
/// A group's number is nobody else's while a process of the group lives, so that end_all() does not
/// meet strangers; but for a group that has ended in the moment before the worker was killed and
/// whose number the kernel has given away at once.
class ProgramGroups {
 public:
  /// Without memory to be had: as if there were no services.
  ProgramGroups();
  ~ProgramGroups();
  ProgramGroups(const ProgramGroups&) = delete;
  ProgramGroups& operator=(const ProgramGroups&) = delete;

  /// The caller's group is the program of service `place`, below wire::kMaxServices. Async-signal
  /// safe: to be called between fork and exec.
  void enter(std::size_t place, pid_t group) noexcept;
  /// All of it has been killed and collected.
  void leave(std::size_t place) noexcept { enter(place, 0); }
  /// Kills what is in a group that was entered and not left. By the guard, when no worker runs.
  void end_all() noexcept;

 private:
  using Slots = std::array<std::atomic<pid_t>, wire::kMaxServices>;
  static_assert(std::atomic<pid_t>::is_always_lock_free);
  Slots* slots_ = nullptr;
};

}  // namespace xylem::backend
