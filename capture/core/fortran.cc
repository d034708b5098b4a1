#include <dlfcn.h>

#include <atomic>

#include "capture/core/fortran_internal.h"
#include "capture/core/mappings_internal.h"
#include "capture/core/say_internal.h"
#include "capture/core/system_internal.h"
#include "capture/core/text_internal.h"

namespace xylem::capture {

void* fortran_functions[kFunctionCount * kFortranNames];

namespace {

constexpr unsigned kLongestName = 80;
using Name = Text<kLongestName>;

Name name_of(unsigned entry) {
  const FortranName& form = fortran_names[entry % kFortranNames];
  Name name;
  name.add(form.before);
  // Without "MPI".
  for (const char* c = function_names[entry / kFortranNames] + 3; *c != 0; ++c)
    name.add(*c >= 'A' && *c <= 'Z' ? static_cast<char>(*c - 'A' + 'a') : *c);
  name.add(form.after);
  return name;
}

// MPI's Fortran libraries: MPICH's, Open MPI's, Intel MPI's.
constexpr const char* kFortranLibraries[] = {
    "libmpichfort.so.12",  "libmpi_usempif08.so.40", "libmpi_usempi_ignore_tkr.so.40",
    "libmpi_usempi.so.40", "libmpi_mpifh.so.40",     "libmpifort.so.12",
};

// Looks in what the library with the code `caller` was linked with.
void* look_beside(const void* caller, const char* name) {
  const char* const path = path_of_code(caller);
  void* const library = path == nullptr ? nullptr : find_loaded(path);
  if (library == nullptr) return nullptr;
  void* const found = find_symbol(library, name);
  release_loaded(library);
  return found;
}

// Looks in an MPI that was loaded privately. Its libraries stay loaded from now on.
void* look_in_mpi(const char* name) {
  for (const char* soname : kFortranLibraries) {
    void* const library = find_loaded(soname);
    void* const found = library == nullptr ? nullptr : find_symbol(library, name);
    if (found != nullptr) return found;
  }
  return nullptr;
}

// The library with `address` stays loaded.
void keep_loaded(const void* address) {
  if (const char* path = path_of_code(address)) find_loaded(path);
}

void missing_function() {}

// Ranges of code of MPI's Fortran libraries; Open MPI has three. The first one is in `process`,
// where wrappers look. `bytes` is 0 until both numbers are written. Threads that find a range at
// the same time may add it twice.
struct Range {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};
};
constexpr unsigned kMaxRanges = 8;
constinit Range ranges[kMaxRanges];
constinit std::atomic<unsigned> ranges_taken{0};

void remember_range_of(const void* caller) {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  find_text(caller, begin, bytes);
  std::uintptr_t none = 0;
  if (process.fortran_text.compare_exchange_strong(none, begin))
    return process.fortran_text_bytes.store(bytes, std::memory_order_release);
  const unsigned place = ranges_taken.fetch_add(1, std::memory_order_relaxed);
  if (place >= kMaxRanges) return;
  ranges[place].begin.store(begin, std::memory_order_relaxed);
  ranges[place].bytes.store(bytes, std::memory_order_release);
}

bool is_in_fortran_library(const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  if (at - process.fortran_text.load() < process.fortran_text_bytes.load()) return true;
  for (const Range& range : ranges) {
    const std::size_t bytes = range.bytes.load(std::memory_order_acquire);
    if (bytes == 0) break;
    if (at - range.begin.load(std::memory_order_relaxed) < bytes) return true;
  }
  if (!is_called_by_mpi(caller)) return false;
  if (ranges_taken.load(std::memory_order_relaxed) < kMaxRanges) remember_range_of(caller);
  return true;
}

// Functions that MPI's Fortran libraries call for their own purposes: to learn how long an array
// is, and to describe a section of an array.
bool is_help(std::uint16_t function) {
  switch (function) {
    case kMPI_Cartdim_get:
    case kMPI_Comm_remote_size:
    case kMPI_Comm_size:
    case kMPI_Comm_test_inter:
    case kMPI_Dist_graph_neighbors_count:
    case kMPI_Graph_neighbors_count:
    case kMPI_Graphdims_get:
    case kMPI_Topo_test:
    case kMPI_Type_commit:
    case kMPI_Type_contiguous:
    case kMPI_Type_contiguous_c:
    case kMPI_Type_create_hvector:
    case kMPI_Type_create_hvector_c:
    case kMPI_Type_free:
    case kMPI_Type_get_envelope:
    case kMPI_Type_size:
    case kMPI_Type_vector:
      return true;
    default:
      return false;
  }
}

// Whether `function` is the twin of `other` with large counts.
bool is_large_twin(std::uint16_t function, std::uint32_t other) {
  const char* a = function_names[function];
  const char* b = function_names[other];
  for (; *b != 0 && *a == *b; ++a, ++b) {
  }
  return *b == 0 && a[0] == '_' && a[1] == 'c' && a[2] == 0;
}

}  // namespace

extern "C" void* xylem_capture_find_fortran(unsigned entry, const void* caller) noexcept {
  const Name name = name_of(entry);
  void* found = find_symbol(RTLD_NEXT, name.c_str());
  const bool is_global = found != nullptr;
  if (found == nullptr) found = look_beside(caller, name.c_str());
  if (found == nullptr) found = look_in_mpi(name.c_str());
  if (found == nullptr) {
    // Static, because the process says this once, whichever function and thread is first.
    static std::atomic<bool> said{false};
    if (!said.exchange(true))
      say(name.c_str(), " is not in this process's MPI library; it does nothing");
    return reinterpret_cast<void*>(&missing_function);
  }
  // Two libraries that were loaded privately may have functions of their own with this name.
  if (is_global || is_called_by_mpi(found)) {
    keep_loaded(found);
    __atomic_store_n(&fortran_functions[entry], found, __ATOMIC_RELAXED);
  }
  return found;
}

const void* look_for_fortran_caller(ThreadState& state, std::uint16_t function,
                                    const void* caller) noexcept {
  FortranCall& call = state.fortran;
  if (!is_in_fortran_library(caller)) {
    call.caller = nullptr;  // The Fortran function has returned.
    return caller;
  }
  const bool is_taken = (call.function & kFortranTaken) != 0;
  const std::uint32_t announced = call.function & ~kFortranTaken;
  const bool is_it = function == announced || is_large_twin(function, announced);
  if (!is_it && is_help(function)) return nullptr;
  if (is_taken) return caller;
  call.function |= kFortranTaken;
  return call.caller;
}

}  // namespace xylem::capture

#if defined(__x86_64__)
// The first call of an entry, whose number is in %eax. Saves the registers with arguments, looks
// the function up, and jumps to it.
extern "C" [[gnu::visibility("hidden"), gnu::naked]] void xylem_capture_first_fortran() {
  __asm__(
      "pushq %rdi\n\t"
      "pushq %rsi\n\t"
      "pushq %rdx\n\t"
      "pushq %rcx\n\t"
      "pushq %r8\n\t"
      "pushq %r9\n\t"
      "subq $8, %rsp\n\t"  // The stack pointer must be a multiple of 16 at the call.
      ".cfi_adjust_cfa_offset 56\n\t"
      "movl %eax, %edi\n\t"
      "movq 56(%rsp), %rsi\n\t"
      "call xylem_capture_find_fortran\n\t"
      "addq $8, %rsp\n\t"
      "popq %r9\n\t"
      "popq %r8\n\t"
      "popq %rcx\n\t"
      "popq %rdx\n\t"
      "popq %rsi\n\t"
      "popq %rdi\n\t"
      ".cfi_adjust_cfa_offset -56\n\t"
      "jmp *%rax");
}
#endif
