#pragma once

// Calls that begin while another call of the same thread is under way, and calls that were left.
//
// A thread remembers the frame of the wrapper that it is in. When another MPI function is called
// before that wrapper has returned, it is one of these:
//
//   a part of it     MPI calls itself, or another tool calls MPI: passed on, not counted
//   an inner call    the program calls, from a signal handler or a callback: counted (inner_calls)
//                    without a record, since the outer call holds what a record needs.
//                    Where the thread has no ring: as any call without one
//   a call anew      the outer wrapper never returns: an exception or longjmp has left it.
//   Forgotten,
//                    and the call is recorded as any other
//
// A frame was left when the new call's frame is not below it on the same stack (stacks grow
// down), or when the return address that stood in it is there no longer. It is the same stack
// unless the thread handles a signal on its alternate stack, or the two frames lie in different
// mappings (fibres). Parts come from MPI's own objects, and from those that hold the next MPI_X in
// line; the caller's return address tells.
//
// A stale frame that nothing has written over, below which the program calls again, is taken for a
// live one: such calls are counted as inner calls, so that they have no records but are not missed.

#include <cstddef>
#include <cstdint>

namespace xylem::capture {

struct ThreadState;

/// Whether a call of `function` by the wrapper at `frame`, which returns to `caller`, is one anew.
/// Counts it when it is an inner call. Async-signal-safe; no locks.
[[gnu::cold, gnu::noinline]] bool begins_anew(ThreadState& state, std::uint16_t function,
                                              const void* frame, const void* caller) noexcept;

/// Finds where the code of the object with `function` lies: [begin, begin + bytes). Both 0 when
/// /proc does not tell.
void find_text(const void* function, std::uintptr_t& begin, std::size_t& bytes) noexcept;

}  // namespace xylem::capture
