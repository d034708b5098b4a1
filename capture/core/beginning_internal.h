#pragma once

// The state of a process before capture has started. It shows whether the process is a child of
// fork(), and whether a thread is starting capture. It also counts the calls that were already
// made.

#include <atomic>
#include <cstdint>

#include "capture/core/ring.h"

namespace xylem::capture {

// Calls of one function before capture has started, for example MPI_Initialized or
// MPI_T_init_thread.
struct EarlyCalls {
  std::atomic<std::uint32_t> calls;
  std::atomic<std::uint64_t> begin;  // Begin of the first call.
};

// State before and while capture starts. In a child of fork() this state is empty: the calls of the
// parent do not count in the child. A thread of the parent that was starting capture does not exist
// in the child.
struct Beginning {
  std::atomic<bool> is_original;  // False in a child of fork(). In a child, only a call of MPI_Init
                                  // starts capture.
  std::atomic<bool> is_starting;  // A thread is starting capture; other threads wait for it, with a
                                  // time limit.
  std::atomic<bool> is_inside_init;
  std::atomic<bool> is_turned_off;
  EarlyCalls early[kMaxFunctions];
};

/// The state of this process. It is made by a constructor or at the first use. Async-signal-safe.
Beginning& beginning() noexcept;

/// Returns whether the environment contains a run's address, so that capture is wanted.
bool is_asked_for() noexcept;

/// Remembers a call for record_early_calls(). If another thread has started capture meanwhile, the
/// call counts in `ringless_calls` (ring.h) instead. Async-signal-safe.
void count_early_call(std::uint16_t function) noexcept;

/// Writes one record per function for all its early calls. Call it when capture has started.
void record_early_calls() noexcept;

}  // namespace xylem::capture
