// The life of capture in a process, and the wrappers that are written by hand because they are it.

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/run_contract.h"
#include "capture/core/agent_start_internal.h"
#include "capture/core/comm_map_internal.h"
#include "capture/core/life_internal.h"
#include "capture/core/process_internal.h"
#include "capture/core/request_table_internal.h"
#include "capture/core/run_key_internal.h"
#include "capture/core/say_internal.h"
#include "capture/core/segment_internal.h"
#include "capture/core/system_internal.h"
#include "capture/core/text_internal.h"
#include "capture/core/world_internal.h"
#include "capture/core/wrapper_internal.h"

namespace xylem::capture {
namespace {

constexpr int kThreadMultiple = 3;  // MPICH's and Open MPI's.

// Calls before the process has started: MPI_Initialized, MPI_T_init_thread, ...
struct EarlyCalls {
  std::atomic<std::uint32_t> calls;
  std::atomic<std::uint64_t> begin;  // Of the first one.
};

// What a process knows before and while it starts. A child of fork() knows nothing: what its parent
// called is the parent's, and a thread of the parent that was just starting is not in the child.
struct Beginning {
  std::atomic<bool> is_original;  // False in a child of fork(): only its own MPI_Init starts it.
  std::atomic<bool> is_starting;  // By one thread; others wait for it no longer than it may take.
  std::atomic<bool> is_inside_init;
  std::atomic<bool> is_turned_off;
  EarlyCalls early[kMaxFunctions];
};
constexpr int kMaxStartPauses = 6000;
constexpr long kStartPauseNs = 1'000'000;

// In memory that the kernel empties in children, or in `spare_beginning` where there is no memory.
// Neither needs a constructor: programs call MPI in constructors that run before this library's.
constinit std::atomic<Beginning*> own_beginning{nullptr};
constinit Beginning spare_beginning{};
std::atomic<bool> has_session{false};  // MPI_Session_init has succeeded.

void empty_beginning() { memset(static_cast<void*>(own_beginning.load()), 0, sizeof(Beginning)); }

// Made before main, or when it is first asked for: in a signal handler perhaps.
Beginning& beginning() {
  if (Beginning* known = own_beginning.load(std::memory_order_acquire)) return *known;
  void* memory = take_memory(sizeof(Beginning));
  const bool is_emptied =
      memory != nullptr && madvise(memory, sizeof(Beginning), MADV_WIPEONFORK) == 0;
  Beginning* made = memory != nullptr ? static_cast<Beginning*>(memory) : &spare_beginning;
  made->is_original.store(true, std::memory_order_relaxed);
  Beginning* before = nullptr;
  if (!own_beginning.compare_exchange_strong(before, made)) {
    if (memory != nullptr) munmap(memory, sizeof(Beginning));
    return *before;
  }
  // Before Linux 4.14: children that the C library makes, at least.
  if (!is_emptied) pthread_atfork(nullptr, nullptr, &empty_beginning);
  return *made;
}

bool is_asked_for() {
  const char* address = getenv(kEnvAddress);
  return address != nullptr && *address != 0;
}

// Before any process can be forked: so a child knows that it is one.
__attribute__((constructor)) void know_the_original() {
  if (is_asked_for()) beginning();
}

// Whoever sees it closed sees also why.
void close_gate() { process.gate->enabled.store(nullptr, std::memory_order_release); }
bool is_gate_open() { return process.gate->enabled.load(std::memory_order_acquire) != nullptr; }

void give_ring_back(void* thread) {
  if (thread_state.thread == thread) thread_state.thread = nullptr;
  static_cast<Thread*>(thread)->taken.store(0, std::memory_order_release);
}

void turn_off(const char* why, const char* more = nullptr) {
  beginning().is_turned_off.store(true, std::memory_order_relaxed);
  close_gate();
  say("capture is off in this process: ", why, more);
}

// In a child of fork() that starts MPI itself: nothing of the parent's is ours.
void forget_parent() {
  process.segment = nullptr;
  process.threads = nullptr;
  process.many_threads = false;
  thread_state = ThreadState{};
  memset(static_cast<void*>(&comms), 0, sizeof comms);
  memset(static_cast<void*>(&requests), 0, sizeof requests);
}

bool has_own_gate() { return process.gate != &first_gate; }

// A page that the kernel empties in children, so that no child ever writes into our rings.
bool make_gate() {
  if (has_own_gate()) return true;
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = take_memory(bytes);
  if (page == nullptr) return false;
  // Before Linux 4.14: children that the C library makes, at least.
  if (madvise(page, bytes, MADV_WIPEONFORK) != 0) pthread_atfork(nullptr, nullptr, &close_gate);
  Gate* gate = static_cast<Gate*>(page);
  gate->enabled.store(process.gate->enabled.load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
  process.gate = gate;
  return true;
}

bool says_yes(std::uint16_t function) {
  int flag = 0;
  return has_own(function) && call_mpi(function, &flag) == 0 && flag != 0;
}

bool is_initialised() {
  if (has_session.load(std::memory_order_relaxed)) return true;
  return says_yes(kMPI_Initialized) && !says_yes(kMPI_Finalized);
}

void count_early_call(std::uint16_t function) {
  EarlyCalls& early = beginning().early[function];
  if (early.begin.load(std::memory_order_relaxed) == 0) {
    process.use_tsc = has_invariant_tsc();
    early.begin.store(ticks(), std::memory_order_relaxed);
  }
  early.calls.fetch_add(1);
  // Another thread may have started the process meanwhile, and taken the counts before this one.
  SegmentHeader* segment = __atomic_load_n(&process.segment, __ATOMIC_SEQ_CST);
  if (segment != nullptr && is_gate_open())
    segment->ringless_calls.fetch_add(early.calls.exchange(0), std::memory_order_relaxed);
}

void record_early_calls() {
  if (!is_on()) return;
  for (std::uint16_t f = 0; f < kFunctionCount; ++f) {
    EarlyCalls& early = beginning().early[f];
    const std::uint32_t calls = early.calls.exchange(0);
    if (calls == 0) continue;
    Call call;
    if (!enter(call, f)) {  // No ring is left; it has counted one of them.
      leave_unrecorded();
      process.segment->ringless_calls.fetch_add(calls - 1, std::memory_order_relaxed);
      continue;
    }
    std::atomic<std::uint64_t>& count = call.thread->ring->calls[f];
    count.store(count.load(std::memory_order_relaxed) + calls - 1, std::memory_order_relaxed);
    call.thread->pending[f] = 0;
    call.calls = calls;
    call.begin = early.begin.load(std::memory_order_relaxed);
    call.result = 0;
    call.end = call.begin;  // When was kept, how long was not.
    note(call, Meaning{});
    leave();
  }
}

void name_library(char (&into)[sizeof SegmentHeader::mpi_library]) {
  static char version[8192 + 1];  // The longest MPI_MAX_LIBRARY_VERSION_STRING, MPICH's.
  int length = 0;
  if (call_mpi(kMPI_Get_library_version, static_cast<char*>(version), &length) != 0) return;
  Text<sizeof SegmentHeader::mpi_library> name;
  const char* at = version;
  if (strncmp(at, "Open MPI v", 10) == 0) {
    name.add("Open MPI ");
    at += 10;
  } else if (strncmp(at, "MPICH Version:", 14) == 0) {
    name.add("MPICH ");
    at += 14;
    while (*at == ' ' || *at == '\t') ++at;
  }
  for (; *at != 0 && *at != ',' && *at != '\n' && name.fits(); ++at) name.add(*at);
  memcpy(into, name.c_str(), name.size() + 1);
}

// Gives the agent what it needs, or says why this process cannot be watched: to the agent as well,
// which may be there although this process is short of something.
bool make_and_register() {
  Segment segment = make_segment();
  Text<kReasonBytes> short_of;
  if (segment.header == nullptr || !map_first_records(segment)) {
    short_of.add("no shared memory: ").add(error_text(errno));
  } else if ((process.threads = static_cast<Thread*>(
                  take_memory(segment.header->max_rings * sizeof(Thread)))) == nullptr) {
    short_of.add("no memory");
  }
  char reason[kReasonBytes] = "";
  const bool is_registered = register_with_agent(segment.fd, short_of.c_str(), reason);
  if (segment.fd >= 0) close(segment.fd);
  if (is_registered && short_of.size() == 0) {
    process.use_tsc = segment.header->clock == ClockKind::kTsc;
    process.abi = find_abi(private_mpi_library());  // Other threads record from now on.
    __atomic_store_n(&process.segment, segment.header, __ATOMIC_RELEASE);
    return true;
  }
  if (segment.header != nullptr) unmap(segment);
  turn_off(short_of.size() != 0 ? short_of.c_str() : reason);
  return false;
}

// True for the one thread that is to start the process.
bool is_first_to_start() {
  std::atomic<bool>& is_starting = beginning().is_starting;
  if (!is_starting.exchange(true)) return true;
  const timespec pause{0, kStartPauseNs};
  for (int i = 0; i < kMaxStartPauses && is_starting.load(std::memory_order_acquire); ++i)
    nanosleep(&pause, nullptr);
  return false;
}

}  // namespace

bool has_started(std::uint16_t function) noexcept {
  if (__atomic_load_n(&process.segment, __ATOMIC_ACQUIRE) != nullptr) return true;
  if (!is_asked_for()) {
    close_gate();
    return false;
  }
  // A signal handler of the thread that is just starting must not wait for it.
  if (thread_state.is_starting || beginning().is_inside_init.load(std::memory_order_relaxed) ||
      !beginning().is_original.load(std::memory_order_relaxed) || !is_initialised()) {
    count_early_call(function);
    return false;
  }
  start();
  if (process.segment == nullptr) return false;
  if (process.segment->state.load(std::memory_order_relaxed) == ProcessState::kStarting)
    enter_world();
  return true;
}

void count_without_ring(std::uint16_t function) noexcept {
  SegmentHeader* segment = __atomic_load_n(&process.segment, __ATOMIC_ACQUIRE);
  if (segment == nullptr) return count_early_call(function);
  segment->ringless_calls.fetch_add(1, std::memory_order_relaxed);
}

void watch_thread_end(Thread* thread) noexcept { watch_thread(&give_ring_back, thread); }

void start() noexcept {
  if (!is_asked_for()) return;
  if (!is_gate_open()) {
    if (!has_own_gate() || beginning().is_turned_off.load(std::memory_order_relaxed)) return;
    forget_parent();  // The gate is empty: a child.
  } else if (process.segment != nullptr) {
    return;
  }
  if (!is_first_to_start()) return;
  const int before = errno;
  thread_state.is_starting = true;
  take_key();
  if (!make_gate()) {
    turn_off("there is no memory");
  } else if (make_and_register()) {
    watch_thread(&give_ring_back, nullptr);
    find_text(own_address(kMPI_Init), process.mpi_text, process.mpi_text_bytes);
    process.gate->enabled.store(&process.segment->enabled, std::memory_order_release);
    record_early_calls();
  }
  errno = before;
  thread_state.is_starting = false;
  beginning().is_starting.store(false, std::memory_order_release);
}

void enter_world() noexcept {
  if (process.segment == nullptr || !is_gate_open()) return;
  const LaunchPlace place = launch_place();
  int rank = place.rank == kNoLaunchRank ? 0 : static_cast<int>(place.rank);
  int size = place.size == 0 ? rank + 1 : static_cast<int>(place.size);
  int provided = 0;
  // A program that has sessions only has no MPI_COMM_WORLD; it stands where the launcher put it.
  const bool has_world = says_yes(kMPI_Initialized) && !says_yes(kMPI_Finalized);
  if (has_world) {
    call_mpi(kMPI_Comm_rank, process.abi.comm_world, &rank);
    call_mpi(kMPI_Comm_size, process.abi.comm_world, &size);
  }
  SegmentHeader& segment = *process.segment;
  process.many_threads =
      !has_world || call_mpi(kMPI_Query_thread, &provided) != 0 || provided >= kThreadMultiple;
  if (has_world && !comms.begin(rank, size))
    say("no memory for communicators: records have no peers");
  find_world_key(segment.world_key);
  segment.rank = static_cast<std::uint32_t>(rank);
  segment.world_size = static_cast<std::uint32_t>(size);
  name_library(segment.mpi_library);
  segment.state.store(ProcessState::kRunning, std::memory_order_release);
}

void leave_world() noexcept {
  if (process.segment == nullptr) return;
  if (process.gate->enabled.load(std::memory_order_relaxed) == nullptr) return;
  process.segment->state.store(ProcessState::kFinalized, std::memory_order_release);
}

namespace {

// By MPI_X or by its profiling name.
template <class... Words>
Word go_on(bool by_profiling_name, std::uint16_t function, Words... words) {
  return by_profiling_name ? own<Word>(function, words...) : real(function, words...);
}

// A tool's MPI_Init may come here a second time, by its profiling name: that is MPI's alone.
template <class... Words>
Word initialise(bool by_profiling_name, std::uint16_t function, Words... words) {
  if (!is_asked_for()) return go_on(by_profiling_name, function, words...);
  std::atomic<bool>& is_inside_init = beginning().is_inside_init;
  if (is_inside_init.exchange(true)) return go_on(by_profiling_name, function, words...);
  start();
  Call call;
  const bool recorded = is_on() && enter(call, function);
  const Word result = go_on(by_profiling_name, function, words...);
  is_inside_init.store(false);
  const bool is_ours = recorded && call.stop(result);
  if (static_cast<int>(result) == 0) enter_world();
  if (is_ours) close_plain(call);
  if (!recorded) leave_unrecorded();
  return result;
}

// One of the other calls by hand: `then` is done after it has succeeded.
template <class Then, class... Words>
Word record(bool by_profiling_name, std::uint16_t function, Then then, Words... words) {
  Call call;
  const bool recorded = is_on() && enter(call, function);
  const Word result = go_on(by_profiling_name, function, words...);
  const bool is_ours = recorded && call.stop(result);
  if (is_ours) close_plain(call);
  if (!recorded) leave_unrecorded();
  if (static_cast<int>(result) == 0) then();
  return result;
}

Word finalise(bool by_profiling_name) {
  return record(by_profiling_name, kMPI_Finalize, [] { leave_world(); });
}

Word open_session(bool by_profiling_name, Word info, Word handler, Word session) {
  return record(
      by_profiling_name, kMPI_Session_init, [] { has_session.store(true); }, info, handler,
      session);
}

Word control(bool by_profiling_name, Word level, Word a1, Word a2, Word a3, Word a4, Word a5) {
  return record(
      by_profiling_name, kMPI_Pcontrol, [] {}, level, a1, a2, a3, a4, a5);
}

__attribute__((destructor)) void end_of_process() {
  if (process.segment == nullptr || !is_gate_open()) return;
  process.segment->state.store(ProcessState::kExited, std::memory_order_release);
}

}  // namespace
}  // namespace xylem::capture

using namespace xylem::capture;

XYLEM_WRAPPER Word MPI_Init(Word argc, Word argv) {
  return initialise(false, kMPI_Init, argc, argv);
}
XYLEM_WRAPPER Word PMPI_Init(Word argc, Word argv) {
  return initialise(true, kMPI_Init, argc, argv);
}

XYLEM_WRAPPER Word MPI_Init_thread(Word argc, Word argv, Word required, Word provided) {
  return initialise(false, kMPI_Init_thread, argc, argv, required, provided);
}
XYLEM_WRAPPER Word PMPI_Init_thread(Word argc, Word argv, Word required, Word provided) {
  return initialise(true, kMPI_Init_thread, argc, argv, required, provided);
}

XYLEM_WRAPPER Word MPI_Finalize() { return finalise(false); }
XYLEM_WRAPPER Word PMPI_Finalize() { return finalise(true); }

XYLEM_WRAPPER Word MPI_Session_init(Word info, Word handler, Word session) {
  return open_session(false, info, handler, session);
}
XYLEM_WRAPPER Word PMPI_Session_init(Word info, Word handler, Word session) {
  return open_session(true, info, handler, session);
}

// Variadic: what came in registers goes on in registers. It is a request to a profiler that MPI
// libraries ignore; no floating-point argument is passed on.
XYLEM_WRAPPER Word MPI_Pcontrol(Word level, Word a1, Word a2, Word a3, Word a4, Word a5) {
  return control(false, level, a1, a2, a3, a4, a5);
}
XYLEM_WRAPPER Word PMPI_Pcontrol(Word level, Word a1, Word a2, Word a3, Word a4, Word a5) {
  return control(true, level, a1, a2, a3, a4, a5);
}
