// The life of capture in a process: its start, its place in the world, its end. The wrappers that
// call this are in life_wrappers.cc. The state before the start is in beginning_internal.h.

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "capture/core/agent_start_internal.h"
#include "capture/core/beginning_internal.h"
#include "capture/core/comm_map_internal.h"
#include "capture/core/definition_writer_internal.h"
#include "capture/core/life_internal.h"
#include "capture/core/mappings_internal.h"
#include "capture/core/process_internal.h"
#include "capture/core/record_costs_internal.h"
#include "capture/core/regions_internal.h"
#include "capture/core/request_table_internal.h"
#include "capture/core/run_key_internal.h"
#include "capture/core/say_internal.h"
#include "capture/core/segment_internal.h"
#include "capture/core/system_internal.h"
#include "capture/core/text_internal.h"
#include "capture/core/world_internal.h"

namespace xylem::capture {
namespace {

constexpr int kThreadMultiple = 3;  // MPICH's and Open MPI's.
constexpr int kMaxStartPauses = 6000;
constexpr long kStartPauseNs = 1'000'000;

std::atomic<bool> has_session{false};  // MPI_Session_init has succeeded.

// A thread that sees the closed gate also sees the reason.
void close_gate() { process.gate->enabled.store(nullptr, std::memory_order_release); }

void give_ring_back(void* thread) {
  if (thread_state.thread == thread) thread_state.thread = nullptr;
  auto* ended = static_cast<Thread*>(thread);
  // The thread may have ended inside a call. A child of fork() shares the ring, but not the call.
  if (is_gate_open()) {
    ended->ring->under_way.begin.store(0, std::memory_order_release);
    end_regions(*ended);
  }
  ended->taken.store(0, std::memory_order_release);
}

void turn_off(const char* why, const char* more = nullptr) {
  beginning().is_turned_off.store(true, std::memory_order_relaxed);
  close_gate();
  say("capture is off in this process: ", why, more);
}

// Called in a child of fork() that starts MPI itself. It drops all state of the parent.
void forget_parent() {
  process.segment = nullptr;
  process.threads = nullptr;
  process.many_threads = false;
  thread_state = ThreadState{};
  memset(static_cast<void*>(&comms), 0, sizeof comms);
  memset(static_cast<void*>(&requests), 0, sizeof requests);
  memset(static_cast<void*>(&definitions), 0, sizeof definitions);
  forget_regions();
}

bool has_own_gate() { return process.gate != &first_gate; }

// Puts the gate on a page that the kernel clears in children. So no child writes into our rings.
bool make_gate() {
  if (has_own_gate()) return true;
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = take_memory(bytes);
  if (page == nullptr) return false;
  // Before Linux 4.14, only children that the C library makes are covered.
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

void name_library(char (&into)[sizeof SegmentHeader::mpi_library]) {
  // Static, because a thread of the application may have a small stack. MPICH has the largest
  // MPI_MAX_LIBRARY_VERSION_STRING.
  static char version[8192 + 1];
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

// Registers the process with the agent. If the process cannot be watched, reports the reason on
// standard error, and to the agent if there is one.
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
    process.cpu_at = find_cpu();
    process.abi = find_abi(private_mpi_library());  // Other threads record from now on.
    definitions.begin(segment.header);
    __atomic_store_n(&process.segment, segment.header, __ATOMIC_RELEASE);
    return true;
  }
  if (segment.header != nullptr) unmap(segment);
  turn_off(short_of.size() != 0 ? short_of.c_str() : reason);
  return false;
}

// Returns true in the one thread that must start capture. Other threads wait, with a time limit,
// and get false.
bool is_first_to_start() {
  std::atomic<bool>& is_starting = beginning().is_starting;
  if (!is_starting.exchange(true)) return true;
  const timespec pause{0, kStartPauseNs};
  for (int i = 0; i < kMaxStartPauses && is_starting.load(std::memory_order_acquire); ++i)
    nanosleep(&pause, nullptr);
  return false;
}

}  // namespace

bool is_gate_open() noexcept {
  return process.gate->enabled.load(std::memory_order_acquire) != nullptr;
}

void note_session() noexcept { has_session.store(true); }

bool has_started(std::uint16_t function) noexcept {
  if (__atomic_load_n(&process.segment, __ATOMIC_ACQUIRE) != nullptr) return true;
  if (!is_asked_for()) {
    close_gate();
    return false;
  }
  // A signal handler in the starting thread must not wait for that thread.
  if (thread_state.is_starting || beginning().is_inside_init.load(std::memory_order_relaxed) ||
      !beginning().is_original.load(std::memory_order_relaxed) || !is_initialised()) {
    count_early_call(function);
    return false;
  }
  start();
  if (process.segment == nullptr) return false;
  if (process.segment->state.load(std::memory_order_relaxed) == ProcessState::kStarting)
    enter_world(false);
  return true;
}

void give_up_numbers(std::uint16_t function) noexcept {
  const FunctionClass its_class = function_classes[function];
  const bool communicates = its_class == FunctionClass::kPointToPoint ||
                            its_class == FunctionClass::kCollective ||
                            its_class == FunctionClass::kProbe;
  if (communicates) message_numbers.give_up();
  if (communicates || its_class == FunctionClass::kCompletion) requests.give_up();
  if (makes_communicator[function]) comms.lose_all();
  if (its_class == FunctionClass::kCompletion) comms.note_unseen_completion();
}

void count_without_ring(std::uint16_t function) noexcept {
  give_up_numbers(function);
  SegmentHeader* segment = __atomic_load_n(&process.segment, __ATOMIC_ACQUIRE);
  if (segment == nullptr) return count_early_call(function);
  segment->ringless_calls.fetch_add(1, std::memory_order_relaxed);
}

void watch_thread_end(Thread* thread) noexcept { watch_thread(&give_ring_back, thread); }

void start() noexcept {
  if (!is_asked_for()) return;
  if (!is_gate_open()) {
    if (!has_own_gate() || beginning().is_turned_off.load(std::memory_order_relaxed)) return;
    forget_parent();  // An empty gate means that this is a child of fork().
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

void enter_world(bool from_start) noexcept {
  if (process.segment == nullptr || !is_gate_open()) return;
  const LaunchPlace place = launch_place();
  int rank = place.rank == kNoLaunchRank ? 0 : static_cast<int>(place.rank);
  int size = place.size == 0 ? rank + 1 : static_cast<int>(place.size);
  int provided = 0;
  // A program with sessions only has no MPI_COMM_WORLD. Its rank comes from the launcher.
  const bool has_world = says_yes(kMPI_Initialized) && !says_yes(kMPI_Finalized);
  if (has_world) {
    call_mpi(kMPI_Comm_rank, process.abi.comm_world, &rank);
    call_mpi(kMPI_Comm_size, process.abi.comm_world, &size);
  }
  SegmentHeader& segment = *process.segment;
  const bool knows_level = has_world && call_mpi(kMPI_Query_thread, &provided) == 0;
  process.many_threads = !knows_level || provided >= kThreadMultiple;
  segment.thread_level = knows_level ? static_cast<std::uint32_t>(provided) + 1 : 0;
  if (has_world && !comms.begin(rank, size, from_start))
    say("no memory for communicators: records have no peers");
  find_world_key(segment.world_key);
  segment.rank = static_cast<std::uint32_t>(rank);
  segment.world_size = static_cast<std::uint32_t>(size);
  name_library(segment.mpi_library);
  define_mapped_files();
  if (has_world && from_start) measure_record_costs();
  segment.state.store(ProcessState::kRunning, std::memory_order_release);
}

void leave_world() noexcept {
  if (process.segment == nullptr) return;
  if (process.gate->enabled.load(std::memory_order_relaxed) == nullptr) return;
  define_mapped_files();  // Again, with the libraries that the program has loaded since its start.
  process.segment->state.store(ProcessState::kFinalized, std::memory_order_release);
}

namespace {

__attribute__((destructor)) void end_of_process() {
  if (process.segment == nullptr || !is_gate_open()) return;
  process.segment->state.store(ProcessState::kExited, std::memory_order_release);
}

}  // namespace
}  // namespace xylem::capture
