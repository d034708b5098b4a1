#pragma once

// How capture starts and ends in a process. See process_internal.h for the states.

#include <cstdint>

namespace xylem::capture {

struct Thread;

/// A call before MPI_Init (MPI_Initialized, MPI_T_init_thread, ...): remembered, and recorded when
/// the process starts. One record per function stands for all of them.
void count_early_call(std::uint16_t function) noexcept;

/// Gives the calling thread's ring back when the thread ends.
void watch_thread_end(Thread* thread) noexcept;

/// Before the real MPI_Init: makes the segment, finds or starts the host's agent, registers. On any
/// trouble says one sentence and turns the library off; the job does not notice. Calling it again
/// does nothing, except in a child of fork(), which starts anew.
void start() noexcept;

/// After the real MPI_Init or MPI_Init_thread succeeded: who am I, in which world. A collective
/// operation over MPI_COMM_WORLD when the environment asks for capture, whether or not start()
/// succeeded here: otherwise ranks whose start failed would leave the others waiting.
void enter_world() noexcept;

/// After the real MPI_Finalize succeeded. Calls are recorded still.
void leave_world() noexcept;

}  // namespace xylem::capture
