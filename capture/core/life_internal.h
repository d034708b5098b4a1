#pragma once

// Starts and ends capture in a process. See process_internal.h for the states.

#include <cstdint>

namespace xylem::capture {

struct Thread;

/// Returns whether calls can be recorded. Starts capture if MPI is already initialised but no
/// wrapper of MPI_Init saw that. If capture has not started but may still start, remembers a call
/// of `function`. When capture starts, each function gets one record for all its remembered calls.
bool has_started(std::uint16_t function) noexcept;

/// Returns whether the process has a segment or may still get one. Returns false if capture is
/// turned off. Also returns false in a child of fork() if the parent had started capture and the
/// child has not called MPI_Init itself. Async-signal-safe.
bool is_gate_open() noexcept;

/// Counts a call of a thread that has no ring. The call counts as lost, or, if capture has not
/// started yet, as an early call. Async-signal-safe.
void count_without_ring(std::uint16_t function) noexcept;

/// Gives up the numbers of messages if a call of `function`, which is not recorded, may send or
/// receive a message, and those of communicators if it may make one.
void give_up_numbers(std::uint16_t function) noexcept;

/// Makes sure that the calling thread's ring becomes free when the thread ends.
void watch_thread_end(Thread* thread) noexcept;

/// Makes the segment, finds or starts the host's agent, and registers. The wrapper of MPI_Init
/// calls it before the real call. If no wrapper saw MPI_Init, has_started() calls it. On any
/// failure, start() prints one sentence and turns capture off; the job continues. Further calls do
/// nothing. But in a child of fork(), the first call starts capture for the child. If several
/// threads call it at the same time, the other threads wait for the first one, a few seconds at
/// most.
void start() noexcept;

/// Finds out this process's rank and world. Call it when MPI is initialised. It asks MPI and the
/// environment, and does not communicate with other ranks. `from_start` is false if the program may
/// have called MPI before.
void enter_world(bool from_start) noexcept;

/// Notes that MPI_Session_init has succeeded: MPI is initialised from now on.
void note_session() noexcept;

/// Notes that the real MPI_Finalize has succeeded. Later calls are still recorded.
void leave_world() noexcept;

}  // namespace xylem::capture
