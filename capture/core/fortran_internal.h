#pragma once

// Calls from Fortran.
//
// MPI's Fortran library has a function for each MPI function: mpi_send_ for the oldest interface
// and `use mpi`, mpi_send_f08_ or mpi_send_f08ts_ for `use mpi_f08`. It converts handles, and then
// calls MPI_Send or PMPI_Send in C, whose wrapper records the call. Two things would be wrong in
// this record: the call site would be in MPI's Fortran library, and some functions call others
// first or afterwards, such as MPI_Comm_size to learn the length of an array, or MPI_Type_vector
// to describe a section of an array.
//
// So each Fortran name has an *entry*, which the program calls in place of MPI's function. It notes
// the address that the program will return to, and jumps to MPI's function. It moves no argument.
// The wrapper in C of the same function takes this address as its call site. Until the next entry,
// calls that MPI's Fortran library makes for its own purposes are not recorded.
//
// A few Fortran functions do their work without a C function. Their entries record the call
// themselves.
//
// Entries exist for names with an underscore at the end, as gfortran, ifort and flang make them,
// and also for the profiling names. The build generates them from prototypes.tsv. Calls of other
// names (MPI_SEND) are recorded too, with a call site in MPI's library. On processors other than
// x86-64 there are no entries.

#include <cstdint>

#include "capture/core/process_internal.h"
#include "capture/core/wrapper_internal.h"

namespace xylem::capture {

// An MPI function has kFortranNames entries, one for each of fortran_names. Entry number n belongs
// to function n / kFortranNames.

/// The functions that the entries jump to; null until the first call. Only
/// xylem_capture_find_fortran() writes them.
[[gnu::visibility("hidden")]] extern void*
    fortran_functions[kFunctionCount * kFortranNames] __asm__("xylem_capture_fortran_functions");

/// Looks up the function of an entry: in the libraries after this one, then in those that the
/// library with the address `caller` was linked with, then in MPI's Fortran libraries. If there is
/// none, says so once, and returns a function that does nothing. Remembers what it finds, except in
/// libraries that were loaded privately and are not MPI's.
extern "C" [[gnu::visibility("hidden")]] void* xylem_capture_find_fortran(
    unsigned entry, const void* caller) noexcept;

/// Calls the function of an entry, which `caller` has called.
template <class... Words>
XYLEM_INLINE Word pass_fortran(unsigned entry, const void* caller, Words... words) noexcept {
  void* address = __atomic_load_n(&fortran_functions[entry], __ATOMIC_RELAXED);
  if (address == nullptr) address = xylem_capture_find_fortran(entry, caller);
  return reinterpret_cast<Word (*)(Words...)>(address)(words...);
}

/// Return code of a Fortran function; `code` points to its argument ierror, which may be absent.
inline Word fortran_result(Word code) noexcept {
  return code == 0 ? 0 : static_cast<Word>(*reinterpret_cast<const std::int32_t*>(code));
}

}  // namespace xylem::capture

// An entry. `offset` is the byte offset of its function in fortran_functions. ThreadState begins
// with the two words that it writes. The entry of a profiling name writes nothing if the function
// is noted already and not taken: then MPI's Fortran library calls it for the program.
#if defined(__x86_64__)
#define XYLEM_FORTRAN_NOTE(function)                     \
  "movq (%rsp), %r11\n\t" /* the address to return to */ \
  "movl $" #function                                     \
  ", %fs:8(%rax)\n\t"                                    \
  "movq %r11, %fs:(%rax)\n"
#define XYLEM_FORTRAN_JUMP(entry, offset)         \
  "2:\n\t"                                        \
  "movq xylem_capture_fortran_functions+" #offset \
  "(%rip), %r11\n\t"                              \
  "testq %r11, %r11\n\t"                          \
  "jz 1f\n\t"                                     \
  "jmp *%r11\n"                                   \
  "1:\n\t"                                        \
  "movl $" #entry                                 \
  ", %eax\n\t"                                    \
  "jmp xylem_capture_first_fortran"
#define XYLEM_FORTRAN_ENTRY(name, function, entry, offset)                                 \
  XYLEM_WRAPPER __attribute__((naked)) void name() {                                       \
    __asm__("movq xylem_capture_thread_state@gottpoff(%rip), %rax\n\t" XYLEM_FORTRAN_NOTE( \
        function) XYLEM_FORTRAN_JUMP(entry, offset));                                      \
  }
#define XYLEM_FORTRAN_PROFILING_ENTRY(name, function, entry, offset)                 \
  XYLEM_WRAPPER __attribute__((naked)) void name() {                                 \
    __asm__(                                                                         \
        "movq xylem_capture_thread_state@gottpoff(%rip), %rax\n\t"                   \
        "cmpl $" #function                                                           \
        ", %fs:8(%rax)\n\t"                                                          \
        "je 2f\n\t" XYLEM_FORTRAN_NOTE(function) XYLEM_FORTRAN_JUMP(entry, offset)); \
  }
#endif
