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
  Name name;
  for (const char* c = function_names[entry / kFortranNames]; *c != 0; ++c) {
    name.add(*c >= 'A' && *c <= 'Z' ? static_cast<char>(*c - 'A' + 'a') : *c);
  }
  name.add(fortran_ends[entry % kFortranNames]);
  return name;
}

// For a Fortran library that was loaded privately, for example by an interpreter's module.
void* look_beside(const void* caller, const char* name) {
  Dl_info of{};
  if (dladdr(caller, &of) == 0 || of.dli_fname == nullptr) return nullptr;
  void* const library = find_loaded(of.dli_fname);
  return library == nullptr ? nullptr : find_symbol(library, name);
}

void missing_function() {}

// Open MPI has three libraries for Fortran. The first one that calls C is remembered, and calls
// from there need no look-up.
bool is_in_fortran_library(const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  if (at - process.fortran_text.load() < process.fortran_text_bytes.load()) return true;
  if (!is_called_by_mpi(caller)) return false;
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  find_text(caller, begin, bytes);
  std::uintptr_t none = 0;
  if (process.fortran_text.compare_exchange_strong(none, begin))
    process.fortran_text_bytes.store(bytes, std::memory_order_release);
  return true;
}

// Functions that MPI's Fortran libraries call for their own purposes. They only ask.
bool only_asks(std::uint16_t function) {
  switch (function) {
    case kMPI_Cartdim_get:
    case kMPI_Comm_rank:
    case kMPI_Comm_remote_size:
    case kMPI_Comm_size:
    case kMPI_Comm_test_inter:
    case kMPI_Dist_graph_neighbors_count:
    case kMPI_Finalized:
    case kMPI_Graph_neighbors_count:
    case kMPI_Graphdims_get:
    case kMPI_Group_size:
    case kMPI_Initialized:
    case kMPI_Query_thread:
    case kMPI_Topo_test:
    case kMPI_Type_get_envelope:
    case kMPI_Type_size:
      return true;
    default:
      return false;
  }
}

}  // namespace

extern "C" void* xylem_capture_find_fortran(unsigned entry, const void* caller) noexcept {
  const Name name = name_of(entry);
  void* found = find_symbol(RTLD_NEXT, name.c_str());
  if (found == nullptr) found = look_beside(caller, name.c_str());
  if (found == nullptr) {
    // Static, because the process says this once, whichever function and thread is first.
    static std::atomic<bool> said{false};
    if (!said.exchange(true))
      say(name.c_str(), " is not in this process's MPI library; it does nothing");
    found = reinterpret_cast<void*>(&missing_function);
  }
  __atomic_store_n(&fortran_functions[entry], found, __ATOMIC_RELAXED);
  return found;
}

const void* look_for_fortran_caller(ThreadState& state, std::uint16_t function,
                                    const void* caller) noexcept {
  FortranCall& call = state.fortran;
  if (!is_in_fortran_library(caller)) {
    call.caller = nullptr;  // The Fortran function has returned.
    return caller;
  }
  if (function != call.function && only_asks(function)) return nullptr;
  const void* const site = call.caller;
  call.caller = nullptr;
  return site;
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
      "jmp *%rax");
}
#endif
