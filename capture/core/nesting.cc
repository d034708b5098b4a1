#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "capture/core/comm_map_internal.h"
#include "capture/core/life_internal.h"
#include "capture/core/mappings_internal.h"
#include "capture/core/nesting_internal.h"
#include "capture/core/process_internal.h"
#include "capture/core/request_table_internal.h"

// The linker defines these: where the section of XYLEM_RECORDING begins and ends in memory.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): names of the linker.
extern "C" [[gnu::visibility("hidden")]] const char __start_xylem_recording;
extern "C" [[gnu::visibility("hidden")]] const char __stop_xylem_recording;
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace xylem::capture {
namespace {

using Address = std::uintptr_t;

// A longer path is cut; its end is not needed unless it is the name of an MPI library.
using Line = Text<512>;

// Recognizes MPI's libraries by name. Some of them have no MPI function, but call MPI functions:
// bindings and I/O components.
bool is_name_of_mpi(const char* path) {
  const char* name = strrchr(path, '/');
  if (name == nullptr) return false;
  for (const char* begin : {"/libmpi", "/libmpich", "/libpmpi", "/libompi", "/libopen-", "/mca_"}) {
    if (strncmp(name, begin, strlen(begin)) == 0) return true;
  }
  return false;
}

// The range's path is in `line`.
bool mapping_of(Address at, MappedRange& found, Line& line) {
  return any_mapping(line, [&](const MappedRange& range) {
    if (!range.holds(at)) return false;
    found = range;
    return true;
  });
}

bool holds_function(const MappedRange& range) {
  for (std::uint32_t f = 0; f < kFunctionCount; ++f) {
    for (void* const* table : {real_functions, own_functions}) {
      void* const address = __atomic_load_n(&table[f], __ATOMIC_RELAXED);
      if (address != nullptr && range.holds(reinterpret_cast<Address>(address))) return true;
    }
  }
  return false;
}

bool look_whether_part_of_mpi(Address caller) {
  MappedRange of;
  Line line;
  // Without /proc, every caller counts as part of MPI.
  if (!mapping_of(caller, of, line)) return true;
  if (of.inode == 0) return false;
  if (is_name_of_mpi(of.path)) return true;
  return any_mapping(line, [&](const MappedRange& range) {
    return range.is_same_file(of) && holds_function(range);
  });
}

// Remembers the result for each page of return addresses. A set has room for several pages, which
// replace each other in turn; then /proc is read again.
bool is_part_of_mpi(const void* caller) {
  constexpr std::size_t kSets = 128, kWays = 8;
  constexpr Address kIsPart = 1;
  static std::atomic<Address> remembered[kSets][kWays];
  static std::atomic<unsigned> next{0};
  const Address page = reinterpret_cast<Address>(caller) & ~Address{kPage - 1};
  std::atomic<Address>(&set)[kWays] = remembered[page / kPage % kSets];
  for (const std::atomic<Address>& one : set) {
    const Address known = one.load(std::memory_order_relaxed);
    if ((known & ~Address{kPage - 1}) == page) return (known & kIsPart) != 0;
  }
  const bool is_part = look_whether_part_of_mpi(reinterpret_cast<Address>(caller));
  set[next.fetch_add(1, std::memory_order_relaxed) % kWays].store(page | (is_part ? kIsPart : 0),
                                                                  std::memory_order_relaxed);
  return is_part;
}

// Whether a call returns into a wrapper of this library. Wrappers call no other wrapper. So the
// function that one has called, in MPI or in another tool, has ended with a jump to another one:
// MPI_Type_hvector of MPICH jumps to PMPI_Type_create_hvector.
//
// This function is in the section itself, so that there is one in programs without wrappers too.
[[gnu::noinline, gnu::section("xylem_recording")]] bool returns_to_a_wrapper(const void* caller) {
  return caller >= &__start_xylem_recording && caller < &__stop_xylem_recording;
}

bool is_on_alternate_stack() {
  stack_t stack{};
  return syscall(SYS_sigaltstack, nullptr, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
}

bool are_on_one_stack(const void* one, const void* other) {
  if (is_on_alternate_stack()) return false;
  MappedRange range;
  Line line;
  if (!mapping_of(reinterpret_cast<Address>(one), range, line)) return true;
  return range.holds(reinterpret_cast<Address>(other));
}

// Returns whether eight bytes at `at` can be read. The kernel copies the signal set before it
// checks the operation, which is invalid here. So the call changes nothing.
bool is_readable(const void* at) {
  constexpr int kNothing = -1;
  constexpr std::size_t kSetBytes = 8;
  const int before = errno;
  const bool fails = syscall(SYS_rt_sigprocmask, kNothing, at, nullptr, kSetBytes) != 0;
  const bool is_fault = fails && errno == EFAULT;
  errno = before;
  return !is_fault;
}

// Returns whether a frame still has the expected return address, which is behind the caller's frame
// pointer. A frame on a fibre's stack disappears with the fibre.
bool holds_return_address(const void* frame, const void* expected) {
  const void* const* const at = static_cast<const void* const*>(frame) + 1;
  return is_readable(at) && *at == expected;
}

bool was_left(const ThreadState& state, const void* frame) {
  const bool is_below = reinterpret_cast<Address>(frame) < reinterpret_cast<Address>(state.frame);
  if (!is_below && are_on_one_stack(frame, state.frame)) return true;
  return !holds_return_address(state.frame, state.caller);
}

// A call that makes communicators may have succeeded in other processes.
void note_left_call(const ThreadState& state) {
  if (state.thread == nullptr) return;  // It was not followed: give_up_numbers() knows.
  const CallUnderWay& left = state.thread->ring->under_way;
  const std::uint32_t function = left.function.load(std::memory_order_relaxed);
  if (left.begin.load(std::memory_order_relaxed) == 0 || function >= kFunctionCount) return;
  if (makes_communicator[function]) comms.lose_all();
}

}  // namespace

bool is_called_by_mpi(const void* caller) noexcept { return is_part_of_mpi(caller); }

void find_text(const void* function, std::uintptr_t& begin, std::size_t& bytes) noexcept {
  MappedRange range;
  Line line;
  const bool found = mapping_of(reinterpret_cast<Address>(function), range, line);
  begin = found ? range.begin : 0;
  bytes = found ? range.end - range.begin : 0;
}

bool begins_anew(ThreadState& state, std::uint16_t function, const void* frame,
                 const void* caller) noexcept {
  if (was_left(state, frame)) {
    state.frame = nullptr;
    // The call that was left may have sent or received a message.
    message_numbers.give_up();
    requests.give_up();
    note_left_call(state);
    return true;
  }
  if (returns_to_a_wrapper(caller)) return false;
  // A callback in Fortran calls MPI's Fortran library, which calls this function.
  if (is_part_of_mpi(caller) && !is_called_for_fortran(function)) return false;
  give_up_numbers(function);
  if (capture_state() == CaptureState::kWatches) return false;  // Nothing is counted.
  if (state.thread == nullptr) {
    count_without_ring(function);
  } else {
    state.thread->ring->inner_calls[function].fetch_add(1, std::memory_order_relaxed);
  }
  return false;
}

}  // namespace xylem::capture
