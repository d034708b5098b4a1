// The life of capture in a process, and the wrappers that are written by hand because they are it.

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "capture/agent_start_internal.h"
#include "capture/life_internal.h"
#include "capture/meaning_internal.h"
#include "capture/run_key_internal.h"
#include "capture/say_internal.h"
#include "capture/segment_internal.h"
#include "capture/text_internal.h"
#include "capture/wrapper_internal.h"

namespace xylem::capture {
namespace {

constexpr int kThreadMultiple = 3;  // MPICH's and Open MPI's.

// MPI functions that may be called before MPI_Init. A program that calls more of them than this
// before it starts, or never starts, is not followed further.
constexpr std::uint32_t kMostEarlyCalls = 4096;

struct EarlyCalls {
  std::atomic<std::uint32_t> calls;
  std::uint64_t begin;
};
EarlyCalls early[kMaxFunctions];
std::atomic<std::uint32_t> early_calls;

// The gate's target between load and start: lets calls through to be counted as early.
constinit const std::atomic<std::uint32_t> kWaiting{1};

pthread_key_t thread_end;
bool has_thread_end = false;
bool asked_for = false;  // The environment names a front end: equal in all ranks of a world.

void give_ring_back(void* thread) {
  if (thread_state.thread == thread) thread_state.thread = nullptr;
  static_cast<Thread*>(thread)->taken.store(0, std::memory_order_release);
}

void turn_off(const char* why, const char* more = nullptr) {
  process.gate->enabled.store(nullptr, std::memory_order_relaxed);
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

void forget_segment_in_child() { process.gate->enabled.store(nullptr, std::memory_order_relaxed); }

// A page that the kernel empties in children, so that no child ever writes into our rings.
bool make_gate() {
  if (process.gate->enabled.load(std::memory_order_relaxed) != &kWaiting) return true;
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = take_memory(bytes);
  if (page == nullptr) return false;
  // Before Linux 4.14: children that the C library makes, at least.
  if (madvise(page, bytes, MADV_WIPEONFORK) != 0)
    pthread_atfork(nullptr, nullptr, &forget_segment_in_child);
  Gate* gate = static_cast<Gate*>(page);
  gate->enabled.store(&kWaiting, std::memory_order_relaxed);
  process.gate = gate;
  return true;
}

void record_early_calls() {
  for (std::uint16_t f = 0; f < kFunctionCount; ++f) {
    const std::uint32_t calls = early[f].calls.exchange(0, std::memory_order_relaxed);
    if (calls == 0) continue;
    Call call;
    if (!is_on() || !enter(call, f)) return;
    std::atomic<std::uint64_t>& count = call.thread->ring->calls[f];
    count.store(count.load(std::memory_order_relaxed) + calls - 1, std::memory_order_relaxed);
    call.thread->pending[f] = 0;
    call.calls = calls;
    call.begin = early[f].begin;
    call.stop(0);
    call.end = call.begin;  // When was kept, how long was not.
    note(call, Meaning{});
    leave();
  }
}

bool world_key_of_launcher(std::uint8_t (&key)[16]) {
  // Open MPI 4's mpirun draws 128 bits for a job, "16 hex digits-16 hex digits", and names the job
  // (a spawned one anew). All ranks of a world have both or none.
  const char* drawn = getenv("OMPI_MCA_orte_precondition_transports");
  const char* name = getenv("PMIX_NAMESPACE");
  if (drawn == nullptr || name == nullptr) return false;
  std::uint64_t halves[2] = {0, 0};
  unsigned digits = 0;
  for (; *drawn != 0; ++drawn) {
    const char c = *drawn;
    if (c == '-') continue;
    const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (value < 0 || digits == 32) return false;
    halves[digits / 16] = halves[digits / 16] << 4 | static_cast<unsigned>(value);
    ++digits;
  }
  if (digits != 32) return false;
  for (; *name != 0; ++name)
    halves[0] = (halves[0] ^ static_cast<unsigned char>(*name)) * 0x100000001b3u;
  memcpy(key, halves, sizeof key);
  return true;
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

}  // namespace

void count_early_call(std::uint16_t function) noexcept {
  if (early_calls.fetch_add(1, std::memory_order_relaxed) >= kMostEarlyCalls) {
    process.gate->enabled.store(nullptr, std::memory_order_relaxed);
    return;
  }
  if (early[function].calls.fetch_add(1, std::memory_order_relaxed) == 0) {
    process.use_tsc = has_invariant_tsc();
    early[function].begin = ticks();
  }
}

void watch_thread_end(Thread* thread) noexcept {
  if (has_thread_end) pthread_setspecific(thread_end, thread);
}

void start() noexcept {
  if (!asked_for) return;
  const bool open_gate = process.gate->enabled.load(std::memory_order_relaxed) != nullptr;
  if (process.segment != nullptr) {
    if (open_gate) return;
    forget_parent();
  }
  const int before = errno;
  take_key();
  if (!make_gate()) return turn_off("there is no memory");
  Segment segment = make_segment();
  if (segment.header == nullptr) {
    turn_off("cannot make shared memory: ", strerrordesc_np(errno));
    errno = before;
    return;
  }
  process.threads = static_cast<Thread*>(take_memory(kMaxThreads * sizeof(Thread)));
  char reason[kReasonBytes] = "there is no memory";
  if (process.threads == nullptr || !register_with_agent(segment.fd, reason)) {
    munmap(segment.header, segment.header->segment_bytes);
    close(segment.fd);
    turn_off(reason);
    errno = before;
    return;
  }
  close(segment.fd);
  if (!has_thread_end) has_thread_end = pthread_key_create(&thread_end, &give_ring_back) == 0;
  process.use_tsc = segment.header->clock == ClockKind::kTsc;
  process.segment = segment.header;
  process.gate->enabled.store(&segment.header->enabled, std::memory_order_release);
  record_early_calls();
  errno = before;
}

void enter_world() noexcept {
  if (!asked_for) return;
  process.abi = find_abi(private_mpi_library());
  std::uint8_t key[16] = {};
  int rank = 0, size = 1, provided = 0;
  call_mpi(kMPI_Comm_rank, process.abi.comm_world, &rank);
  call_mpi(kMPI_Comm_size, process.abi.comm_world, &size);
  if (!world_key_of_launcher(key)) {
    // Every rank with the library comes here, also one whose own capture is off.
    if (rank == 0 && getrandom(key, sizeof key, 0) != sizeof key) memcpy(key, &rank, sizeof rank);
    call_mpi(kMPI_Bcast, static_cast<void*>(key), static_cast<int>(sizeof key), process.abi.byte, 0,
             process.abi.comm_world);
  }
  if (process.segment == nullptr) return;
  SegmentHeader& segment = *process.segment;
  if (process.gate->enabled.load(std::memory_order_relaxed) == nullptr) return;
  process.many_threads = call_mpi(kMPI_Query_thread, &provided) != 0 || provided >= kThreadMultiple;
  if (!comms.begin(rank, size)) say("no memory to follow communicators: peers are left out");
  memcpy(segment.world_key, key, sizeof key);
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

template <class... Words>
Word initialise(std::uint16_t function, Words... words) {
  start();
  Call call;
  const bool recorded = is_on() && enter(call, function);
  const Word result = real(function, words...);
  if (recorded) call.stop(result);
  if (static_cast<int>(result) == 0) enter_world();
  if (recorded) close_plain(call);
  return result;
}

__attribute__((constructor)) void wait_for_init() {
  const char* address = getenv(kEnvAddress);
  if (address == nullptr || *address == 0) return;
  asked_for = true;
  process.gate->enabled.store(&kWaiting, std::memory_order_relaxed);
}

__attribute__((destructor)) void end_of_process() {
  if (process.segment == nullptr) return;
  if (process.gate->enabled.load(std::memory_order_relaxed) == nullptr) return;
  process.segment->state.store(ProcessState::kExited, std::memory_order_release);
}

}  // namespace
}  // namespace xylem::capture

using namespace xylem::capture;

XYLEM_WRAPPER Word MPI_Init(Word argc, Word argv) { return initialise(kMPI_Init, argc, argv); }

XYLEM_WRAPPER Word MPI_Init_thread(Word argc, Word argv, Word required, Word provided) {
  return initialise(kMPI_Init_thread, argc, argv, required, provided);
}

XYLEM_WRAPPER Word MPI_Finalize() {
  Call call;
  if (!is_on() || !enter(call, kMPI_Finalize)) return real(kMPI_Finalize);
  const Word result = real(kMPI_Finalize);
  call.stop(result);
  close_plain(call);
  if (static_cast<int>(result) == 0) leave_world();
  return result;
}

// Variadic: what came in registers goes on in registers. It is a request to a profiler that MPI
// libraries ignore; no floating-point argument is passed on.
XYLEM_WRAPPER Word MPI_Pcontrol(Word level, Word a1, Word a2, Word a3, Word a4, Word a5) {
  Call call;
  if (!is_on() || !enter(call, kMPI_Pcontrol))
    return real(kMPI_Pcontrol, level, a1, a2, a3, a4, a5);
  const Word result = real(kMPI_Pcontrol, level, a1, a2, a3, a4, a5);
  call.stop(result);
  close_plain(call);
  return result;
}
