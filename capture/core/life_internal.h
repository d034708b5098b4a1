#pragma once

// How capture starts and ends in a process. See process_internal.h for the states.

#include <cstdint>

namespace xylem::capture {

struct Thread;

/// Whether calls can be recorded. Starts the process where MPI turns out to be initialised although
/// no wrapper of MPI_Init saw it; else remembers a call of `function`: when the process starts, one
/// record per function stands for all of them.
bool has_started(std::uint16_t function) noexcept;

/// The process has its own segment, or may still get one: it is not turned off, and no child of
/// fork() without an MPI_Init of its own. Async-signal-safe.
bool is_gate_open() noexcept;

/// Counts a call of a thread that has no ring: as lost, or, before the process has started, for the
/// record of the early calls. Async-signal-safe.
void count_without_ring(std::uint16_t function) noexcept;

/// Gives the calling thread's ring back when the thread ends.
void watch_thread_end(Thread* thread) noexcept;

/// Before the real MPI_Init: makes the segment, finds or starts the host's agent, registers. On any
/// trouble says one sentence and turns the library off; the job does not notice. Calling it again
/// does nothing, except in a child of fork(), which starts anew. Threads that come at the same time
/// wait for the first.
void start() noexcept;

/// After MPI is initialised: who am I, in which world. Asks MPI and the environment, and no other
/// rank.
void enter_world() noexcept;

/// MPI_Session_init has succeeded: MPI is initialised from now on.
void note_session() noexcept;

/// After the real MPI_Finalize succeeded. Calls are recorded still.
void leave_world() noexcept;

}  // namespace xylem::capture
