#pragma once

// Process groups of the programs that services run, kept in memory that outlives the worker.
//
//   program, before exec --enter()--> memory of the guard <--end_all()-- guard, when a worker ended
//   worker, after it has collected the program --leave()-->

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "wire/series.h"

namespace xylem::backend {

/// One process group number per service. All processes that are forked later share the memory of
/// these numbers. The child enters its group before exec, so the program never runs without an
/// entry.
///
/// The kernel does not reuse a group's number while a process of the group lives, so end_all()
/// kills no other processes. There is one exception: a group ends just before the worker is killed,
/// and the group's number is reused immediately. Every entry is one atomic number, so the worker,
/// its children and the guard may use the object at the same time.
class ProgramGroups {
 public:
  /// If there is no memory, all calls do nothing.
  ProgramGroups();
  ~ProgramGroups();
  ProgramGroups(const ProgramGroups&) = delete;
  ProgramGroups& operator=(const ProgramGroups&) = delete;

  /// Enters the caller's `group` as the program of service number `place`. `place` must be below
  /// wire::kMaxServices. Async-signal-safe, for use between fork and exec.
  void enter(std::size_t place, pid_t group) noexcept;
  /// Removes the entry. Call it after the group was killed and the program was collected.
  void leave(std::size_t place) noexcept { enter(place, 0); }
  /// Kills all groups that still have an entry. The guard calls it when no worker runs.
  void end_all() noexcept;

 private:
  using Slots = std::array<std::atomic<pid_t>, wire::kMaxServices>;
  static_assert(std::atomic<pid_t>::is_always_lock_free);
  Slots* slots_ = nullptr;
};

}  // namespace xylem::backend
