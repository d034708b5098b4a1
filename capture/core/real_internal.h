#pragma once

// The functions that the wrappers call: the next MPI_X in line, and MPI's own PMPI_X.
//
// A call of the program goes to the next MPI_X. This function belongs to another tool if one is
// loaded after this library, else to MPI. The capture library itself calls PMPI_X, so that no tool
// sees these calls. These calls never communicate.
//
// The library is not linked with MPI. A function is looked up at its first call. The search begins
// in the libraries after this one. Then it continues in MPI libraries that were loaded later and
// privately, for example by an interpreter's module. So the capture library can be preloaded into
// programs without MPI. It also works with an MPI library that does not have all functions.

#include <cstdint>

#include "capture/core/abi_internal.h"
#include "xylem_capture_functions.h"  // Made by generate/generate_wrappers.py.

namespace xylem::capture {

/// Addresses found so far: `real_functions` has the next functions in line, `own_functions` has
/// MPI's own. An address is null until the function is looked up. Only find_real(), find_own() and
/// has_own() write these addresses.
[[gnu::visibility("hidden")]] extern void* real_functions[kFunctionCount] __asm__(
    "xylem_capture_real_functions");
[[gnu::visibility("hidden")]] extern void* own_functions[kFunctionCount];

/// These two functions look `function` up and remember its address. The result is never null. If
/// this MPI library does not have `function`, the result is a function that returns MPI_ERR_OTHER.
/// One line on standard error reports the first such function.
void* find_real(std::uint16_t function) noexcept;
void* find_own(std::uint16_t function) noexcept;

/// Returns whether this MPI library has `function`. Prints nothing.
bool has_own(std::uint16_t function) noexcept;

/// The dlopen handle of the MPI library, also if it is loaded outside the global scope. Null if no
/// library with a known name is loaded.
void* private_mpi_library() noexcept;

inline void* real_address(std::uint16_t function) noexcept {
  void* address = __atomic_load_n(&real_functions[function], __ATOMIC_RELAXED);
  return __builtin_expect(address != nullptr, 1) ? address : find_real(function);
}

inline void* own_address(std::uint16_t function) noexcept {
  void* address = __atomic_load_n(&own_functions[function], __ATOMIC_RELAXED);
  return __builtin_expect(address != nullptr, 1) ? address : find_own(function);
}

/// Returns whether `function` was already looked up.
inline bool is_found(std::uint16_t function) noexcept {
  return __builtin_expect(__atomic_load_n(&real_functions[function], __ATOMIC_RELAXED) != nullptr,
                          1);
}

/// Calls `function`, for which is_found() has returned true. Unlike real(), it needs no look-up, so
/// the compiler can make it a jump.
template <class... Words>
inline Word found(std::uint16_t function, Words... words) noexcept {
  return reinterpret_cast<Word (*)(Words...)>(real_functions[function])(words...);
}
template <class... Words>
inline double found_double(std::uint16_t function, Words... words) noexcept {
  return reinterpret_cast<double (*)(Words...)>(real_functions[function])(words...);
}

/// Calls `function` with the words that a wrapper got.
template <class... Words>
inline Word real(std::uint16_t function, Words... words) noexcept {
  return reinterpret_cast<Word (*)(Words...)>(real_address(function))(words...);
}

/// Like real(), for functions that return a double (MPI_Wtime, MPI_Wtick).
template <class... Words>
inline double real_double(std::uint16_t function, Words... words) noexcept {
  return reinterpret_cast<double (*)(Words...)>(real_address(function))(words...);
}

/// Calls MPI's own `function` with the words that a wrapper of PMPI_X got.
template <class Returned, class... Words>
inline Returned own(std::uint16_t function, Words... words) noexcept {
  return reinterpret_cast<Returned (*)(Words...)>(own_address(function))(words...);
}

/// Calls MPI's own `function` with typed arguments, and returns its return code.
template <class... Arguments>
inline int call_mpi(std::uint16_t function, Arguments... arguments) noexcept {
  return reinterpret_cast<int (*)(Arguments...)>(own_address(function))(arguments...);
}

}  // namespace xylem::capture
