#include <dlfcn.h>

#include <atomic>

#include "capture/core/real_internal.h"
#include "capture/core/say_internal.h"
#include "capture/core/system_internal.h"
#include "capture/core/text_internal.h"

namespace xylem::capture {

void* real_functions[kFunctionCount];
void* own_functions[kFunctionCount];

namespace {

// Sonames of MPI libraries: Open MPI 4 and 5, MPICH (Debian's and its own), Intel MPI.
constexpr const char* kMpiLibraries[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"};

constexpr const char* kProfilingPrefix = "P";
constexpr unsigned kLongestName = 64;

// Finds the function with `prefix` in front of its name. If no global library has it, searches an
// MPI library that was loaded privately.
void* look_up(const char* prefix, std::uint16_t function) {
  Text<kLongestName> name;
  name.add(prefix).add(function_names[function]);
  void* found = find_symbol(RTLD_NEXT, name.c_str());
  if (found == nullptr) {
    if (void* library = private_mpi_library()) found = find_symbol(library, name.c_str());
  }
  return found;
}

void* remembered(void*& slot, const char* prefix, std::uint16_t function) {
  void* address = __atomic_load_n(&slot, __ATOMIC_RELAXED);
  if (address != nullptr) return address;
  address = look_up(prefix, function);
  if (address != nullptr) __atomic_store_n(&slot, address, __ATOMIC_RELAXED);
  return address;
}

Word missing_function() { return static_cast<Word>(find_abi(private_mpi_library()).error_other); }

void* missing(std::uint16_t function) {
  // Static, because the process says this once, whichever function and thread is first.
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    say(function_names[function], " is not in this process's MPI library; it returns an error");
  }
  return reinterpret_cast<void*>(&missing_function);
}

}  // namespace

void* private_mpi_library() noexcept {
  for (const char* name : kMpiLibraries) {
    // The reference is never released, so the library stays loaded.
    if (void* library = find_loaded(name)) return library;
  }
  return nullptr;
}

bool has_own(std::uint16_t function) noexcept {
  return remembered(own_functions[function], kProfilingPrefix, function) != nullptr;
}

void* find_own(std::uint16_t function) noexcept {
  if (!has_own(function)) own_functions[function] = missing(function);
  return own_functions[function];
}

void* find_real(std::uint16_t function) noexcept {
  void* address = remembered(real_functions[function], "", function);
  // Some MPI libraries have a function only under its profiling name.
  if (address == nullptr) address = find_own(function);
  __atomic_store_n(&real_functions[function], address, __ATOMIC_RELAXED);
  return address;
}

}  // namespace xylem::capture
