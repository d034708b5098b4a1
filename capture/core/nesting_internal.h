#pragma once

// Recognises calls that begin while another call of the same thread is under way. Also recognises
// calls that an exception or longjmp has left.
//
// A thread remembers the stack frame of the wrapper in which it runs. If another MPI function is
// called before that wrapper has returned, there are three cases:
//
//   a part           MPI calls itself, or another tool calls MPI. The call goes to the next MPI_X
//                    and is not counted.
//   an inner call    The program calls MPI from a signal handler or a callback. The call counts in
//                    inner_calls and has no record, because the memory for a record's data is in
//                    use by the outer call. If the thread has no ring, the inner call counts like
//                    any other call of this thread.
//   a new call       An exception or longjmp has left the outer wrapper, which never returns. The
//                    outer call is forgotten, and the new call is recorded as any other.
//
// The outer frame was left if the new call's frame is on the same stack but not below the outer
// frame; stacks grow down. The outer frame was also left if its return address has been
// overwritten. Usually both frames are on the same stack. They are on different stacks if the
// thread handles a signal on its alternate stack. They are also on different stacks if they are in
// different mappings (fibres). Whether a call is a part of the outer call depends on the call's
// return address. The call is a part if this address is in a library of MPI, or in the library with
// the next MPI_X in line. It is a part, too, if this address is in a wrapper: then the function
// that a wrapper has called has ended with a jump to another one.
//
// A frame that was left but not overwritten looks live if the program makes its next call below
// that frame. That next call then gets no record, and counts as an inner call.

#include <cstddef>
#include <cstdint>

namespace xylem::capture {

struct ThreadState;

/// Returns whether a call of `function` is a new call, not a part or an inner call. `frame` is its
/// wrapper's frame, and `caller` is the wrapper's return address. If the call is an inner call,
/// counts it. Async-signal-safe; takes no locks.
[[gnu::cold, gnu::noinline]] bool begins_anew(ThreadState& state, std::uint16_t function,
                                              const void* frame, const void* caller) noexcept;

/// Returns whether a return address is in a library of MPI, or in the library with the next MPI_X
/// in line.
bool is_called_by_mpi(const void* caller) noexcept;

/// Finds the code of the library that contains `function`: [begin, begin + bytes). Both are 0 if
/// the library is not found in /proc.
void find_text(const void* function, std::uintptr_t& begin, std::size_t& bytes) noexcept;

}  // namespace xylem::capture
