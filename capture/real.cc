#include <dlfcn.h>

#include <atomic>

#include "capture/real_internal.h"
#include "capture/say_internal.h"

namespace xylem::capture {

void* real_functions[kFunctionCount];

namespace {

// Sonames of MPI libraries: Open MPI 4 and 5, MPICH (Debian's and its own), Intel MPI.
constexpr const char* kMpiLibraries[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"};

// A profiling name is "P" before the function's.
constexpr unsigned kLongestName = 64;

void* look_up(std::uint16_t function) {
  char name[kLongestName] = "P";
  unsigned length = 1;
  for (const char* from = function_names[function]; *from != 0 && length + 1 < kLongestName; ++from)
    name[length++] = *from;
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    if (void* library = private_mpi_library()) found = dlsym(library, name);
  }
  return found;
}

Word missing_function() { return static_cast<Word>(find_abi(private_mpi_library()).error_other); }

}  // namespace

void* private_mpi_library() noexcept {
  for (const char* name : kMpiLibraries) {
    // NOLOAD: gives what is loaded and loads nothing. The reference stays, as the library does.
    if (void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return library;
  }
  return nullptr;
}

bool has_real(std::uint16_t function) noexcept {
  if (__atomic_load_n(&real_functions[function], __ATOMIC_RELAXED) == nullptr) {
    void* found = look_up(function);
    if (found == nullptr) return false;
    __atomic_store_n(&real_functions[function], found, __ATOMIC_RELAXED);
  }
  return true;
}

void* find_real(std::uint16_t function) noexcept {
  if (!has_real(function)) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      say(function_names[function], " is not in this process's MPI library; it returns an error");
    }
    __atomic_store_n(&real_functions[function], reinterpret_cast<void*>(&missing_function),
                     __ATOMIC_RELAXED);
  }
  return __atomic_load_n(&real_functions[function], __ATOMIC_RELAXED);
}

}  // namespace xylem::capture
