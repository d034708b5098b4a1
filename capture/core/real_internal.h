#pragma once

// The functions that the wrappers lead to: the next MPI_X in line, and MPI's own PMPI_X.
//
// The program's calls go to the next MPI_X, which is another tool's where one stands behind this
// library, and MPI's own else. What this library asks of MPI for itself goes to PMPI_X, so that no
// tool sees it; it never communicates.
//
// Nothing is linked: a function is looked up when it is first called, behind this library, then in
// MPI libraries that were loaded later and privately (an interpreter's module). So the
// capture library can be preloaded into programs without MPI, and serves MPIs that lack functions.

#include <cstdint>

#include "capture/core/abi_internal.h"
#include "xylem_capture_functions.h"  // Made by generate/generate_wrappers.py.

namespace xylem::capture {

/// Addresses found so far, the next in line and MPI's own; null until a function is first called.
/// Written by find_real and find_own only.
[[gnu::visibility("hidden")]] extern void* real_functions[kFunctionCount] __asm__(
    "xylem_capture_real_functions");
[[gnu::visibility("hidden")]] extern void* own_functions[kFunctionCount];

/// Look `function` up and remember it. Never null: for a function that this MPI does not have,
/// they say so once on standard error and give one that returns MPI_ERR_OTHER.
void* find_real(std::uint16_t function) noexcept;
void* find_own(std::uint16_t function) noexcept;

/// Whether this MPI has `function`; says nothing.
bool has_own(std::uint16_t function) noexcept;

/// The dlopen handle of an MPI library that is loaded outside the global scope, or null.
void* private_mpi_library() noexcept;

inline void* real_address(std::uint16_t function) noexcept {
  void* address = __atomic_load_n(&real_functions[function], __ATOMIC_RELAXED);
  return __builtin_expect(address != nullptr, 1) ? address : find_real(function);
}

inline void* own_address(std::uint16_t function) noexcept {
  void* address = __atomic_load_n(&own_functions[function], __ATOMIC_RELAXED);
  return __builtin_expect(address != nullptr, 1) ? address : find_own(function);
}

/// Whether `function` was looked up already.
inline bool is_found(std::uint16_t function) noexcept {
  return __builtin_expect(__atomic_load_n(&real_functions[function], __ATOMIC_RELAXED) != nullptr,
                          1);
}

/// Calls `function` with words, after is_found said yes: a jump, where real() may have to look it
/// up.
template <class... Words>
inline Word found(std::uint16_t function, Words... words) noexcept {
  return reinterpret_cast<Word (*)(Words...)>(real_functions[function])(words...);
}
template <class... Words>
inline double found_double(std::uint16_t function, Words... words) noexcept {
  return reinterpret_cast<double (*)(Words...)>(real_functions[function])(words...);
}

/// Calls `function` with words, as a wrapper got them.
template <class... Words>
inline Word real(std::uint16_t function, Words... words) noexcept {
  return reinterpret_cast<Word (*)(Words...)>(real_address(function))(words...);
}

/// The same for functions that return a double (MPI_Wtime, MPI_Wtick).
template <class... Words>
inline double real_double(std::uint16_t function, Words... words) noexcept {
  return reinterpret_cast<double (*)(Words...)>(real_address(function))(words...);
}

/// Calls MPI's own `function` with words, as a wrapper of PMPI_X got them.
template <class Returned, class... Words>
inline Returned own(std::uint16_t function, Words... words) noexcept {
  return reinterpret_cast<Returned (*)(Words...)>(own_address(function))(words...);
}

/// Calls MPI's own `function` with pointers and integers of our own; gives its return code.
template <class... Arguments>
inline int call_mpi(std::uint16_t function, Arguments... arguments) noexcept {
  return reinterpret_cast<int (*)(Arguments...)>(own_address(function))(arguments...);
}

}  // namespace xylem::capture
