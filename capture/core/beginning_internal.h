#pragma once

// A process before capture has started in it: is it the original or a child of fork(), who starts
// it, and which calls it has made already.

#include <atomic>
#include <cstdint>

#include "capture/core/ring.h"

namespace xylem::capture {

// Calls before the process has started: MPI_Initialized, MPI_T_init_thread, ...
struct EarlyCalls {
  std::atomic<std::uint32_t> calls;
  std::atomic<std::uint64_t> begin;  // Of the first one.
};

// What a process knows before and while it starts. A child of fork() knows nothing: what its parent
// called is the parent's, and a thread of the parent that was just starting is not in the child.
struct Beginning {
  std::atomic<bool> is_original;  // False in a child of fork(): only its own MPI_Init starts it.
  std::atomic<bool> is_starting;  // By one thread; others wait for it no longer than it may take.
  std::atomic<bool> is_inside_init;
  std::atomic<bool> is_turned_off;
  EarlyCalls early[kMaxFunctions];
};

/// The process's own, from a constructor on or from the first use. Async-signal-safe.
Beginning& beginning() noexcept;

/// The environment names a run: capture is wanted.
bool is_asked_for() noexcept;

/// Remembers a call for record_early_calls(), or counts it as ringless if another thread has
/// started the process meanwhile. Async-signal-safe.
void count_early_call(std::uint16_t function) noexcept;

/// When the process has started: writes one record per function for all its calls so far.
void record_early_calls() noexcept;

}  // namespace xylem::capture
