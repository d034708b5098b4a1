#pragma once

// The state of the capture library in a process, and the path that every MPI call takes.
//
//   wrapper:  if (!is_on()) return next(f, ...);           capture is off: only the real call
//             if (!enter(call, f))                         nested call, or thread without a ring
//               return pass_unrecorded(call, ...);
//             at(call, comm, peer);                        what it waits for, if that is known now
//             result = pass(call, ...);                    the real call comes before any record
//             if (!call.stop(result)) return result;
//             after_<shape>(call, ...);                    finds the call's meaning, writes records
//             leave();
//
// Nothing on this path locks, allocates, blocks or enters the kernel, with the exceptions that
// capture/README.md lists. One exception is the first call while the agent sleeps: it wakes the
// agent. Another exception is a thread's first call, which takes a ring of the
// segment and maps the ring's memory. When the thread ends, a destructor of thread-specific storage
// makes the ring free for another thread.
//
// Each call of the program counts once, although several wrappers may see it. A wrapper MPI_X calls
// the next MPI_X in line, which may belong to another tool. Tools and language bindings finally
// call PMPI_X. PMPI_X is wrapped too, because some calls do not go through MPI_X: calls from
// Fortran (fortran_internal.h), or from a tool in the program itself. While a wrapper runs, calls
// from MPI and from tools are parts of its call and have no records (nesting_internal.h). This is
// also true if the outer call's thread has no ring.
//
// States: a process is first waiting. Then it is started (its segment is made and registered),
// inert (no XYLEM_ADDRESS), or turned off (something failed). Capture starts in MPI_Init. If no
// wrapper saw MPI_Init, it starts at the first call at which MPI is initialised. After fork() the
// child is inert, because the pointer to the segment's switch is in memory that the kernel wipes in
// children. If the child itself calls MPI_Init, capture starts in it too.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/core/abi_internal.h"
#include "capture/core/message_numbers_internal.h"
#include "capture/core/nesting_internal.h"
#include "capture/core/real_internal.h"
#include "capture/core/ring.h"
#include "capture/core/system_internal.h"

namespace xylem::capture {

struct Members;

/// A request or a matched message that is followed; see request_table_internal.h.
struct TrackedRequest;

/// A request that a call may complete, taken out of the table of requests for the time of the call.
struct ClaimedRequest {
  TrackedRequest* tracked = nullptr;  ///< Null if only its end is followed, or if it is unknown.
  std::uint64_t number = 0;           ///< 0: unknown, or a persistent request that is not active.
};

/// The fields of a record that describe a call's meaning; see Record.
struct Meaning {
  std::uint64_t request = 0;
  std::uint64_t bytes = 0;
  std::uint32_t comm = kNoComm;
  std::int32_t peer = kNoPeer;
  std::int32_t tag = kNoTag;
  std::uint32_t number = 0;
  std::uint16_t flags = 0;
  std::uint64_t room = 0;
};

/// The writer of a ring, in private memory of this process. There is one writer for each ring in
/// use. It stays with the ring when another thread takes over the ring, since `pending` belongs to
/// the ring.
struct Thread {
  ThreadRing* ring = nullptr;
  Record* records = nullptr;
  SegmentHeader* segment = nullptr;
  Record* block = nullptr;         ///< Start of the current block.
  std::uint64_t block_mask = 0;    ///< Number of records in a block, minus 1.
  std::uint64_t room_until = 0;    ///< Number of the first record after the current block.
  std::uint64_t taken_blocks = 0;  ///< A bit for each block that has unread records.
  std::uint64_t oldest_block = 0;  ///< Position, in the order of writing, of the oldest block with
                                   ///< unread records.
  std::uint32_t number = 0;
  std::atomic<std::uint32_t> taken{0};  ///< 1 while a thread writes this ring.
  std::uint64_t started = 0;            ///< Operations with a request that this ring has numbered.

  // State that a completing call (wait, test) saves before the real call.
  std::uint32_t request_room = 0;   ///< Allocated size of the three arrays below, in elements.
  std::uint32_t request_count = 0;  ///< Number of requests of the current call.
  ClaimedRequest* claims = nullptr;
  Word* request_handles = nullptr;
  unsigned char* statuses = nullptr;                ///< Used in place of MPI_STATUSES_IGNORE.
  alignas(8) unsigned char status[kLargestStatus];  ///< Used in place of MPI_STATUS_IGNORE.

  std::uint32_t pending[kMaxFunctions] = {};  ///< Calls since the last record of a function.
};

/// Functions with this macro are always inlined. So the data of a call stay in registers.
#define XYLEM_INLINE inline __attribute__((always_inline))

/// One MPI call under way. It lives in the wrapper's registers if it is passed only to inlined
/// functions.
struct Call {
  Thread* thread;
  bool by_profiling_name;  ///< The program called PMPI_X.
  std::uint64_t begin;
  std::uint64_t end;
  /// Number of calls that the record represents; 0 if sampling leaves the record out.
  std::uint32_t calls;
  std::uint16_t function;
  std::int32_t result;
  const void* site;  ///< Where the program will go on; null if this is unknown.

  // Set for a call that completes one request; see before_wait().
  ClaimedRequest claimed;
  Word request;  ///< The request's handle; 0 if there is none.

  std::uint32_t freed_comm;  ///< Identity of the communicator that MPI_Comm_free frees.

  // Set if the numbers of the call's messages were taken before the real call; see number_early().
  bool is_numbered;
  MessageNumber sent;
  PostedReceive posted;

  /// Call it when MPI has returned. Returns false if the thread has left this call
  /// (nesting_internal.h). Then the call gets no record.
  XYLEM_INLINE bool stop(Word returned) noexcept;
};

/// The latest call of a Fortran function of MPI in this thread. The entries of fortran_internal.h
/// write it in assembly.
struct FortranCall {
  const void* caller;      ///< The address that the program will return to; null if there is none.
  std::uint32_t function;  ///< With kFortranTaken when a wrapper in C has taken the caller.
};
constexpr std::uint32_t kFortranTaken = 1u << 31;

/// State of each thread. It must be small, since it is in the static TLS of the application.
struct ThreadState {
  FortranCall fortran;
  Thread* thread;
  const void* frame;   ///< Frame of the wrapper in which the thread runs; null if it runs in none.
  const void* caller;  ///< Return address of that wrapper.
  /// Regions that the thread is in and that nobody counts: they began before capture.
  std::uint32_t uncounted_regions;
  bool is_starting;  ///< The thread is making the segment and registering.
};

/// The state that a child of fork() must not inherit. It is on a separate page, which the kernel
/// wipes in children.
struct Gate {
  std::atomic<const std::atomic<std::uint32_t>*> enabled;
};

struct Process {
  Gate* gate;                        ///< Never null.
  SegmentHeader* segment = nullptr;  ///< Null unless capture has started.
  Thread* threads = nullptr;         ///< One for each ring of the segment.
  std::uintptr_t mpi_text = 0;       ///< Address of the code of MPI's library.
  std::size_t mpi_text_bytes = 0;
  /// The code of the library of MPI that has called C for Fortran first; set once, bytes last.
  std::atomic<std::uintptr_t> fortran_text{0};
  std::atomic<std::size_t> fortran_text_bytes{0};
  bool use_tsc = false;
  /// Offset, from the thread pointer, of the processor that the kernel keeps for each thread
  /// (rseq); 0 if the C library has none.
  std::ptrdiff_t cpu_at = 0;
  bool many_threads = false;  ///< True if MPI_THREAD_MULTIPLE was granted, or if this is unknown.
  Abi abi;
};

/// Assembly code uses this object too (wrapper_internal.h), and needs `gate` as the first member.
[[gnu::visibility("hidden")]] extern Process process __asm__("xylem_capture_process");
static_assert(offsetof(Process, gate) == 0 && offsetof(Gate, enabled) == 0);
/// The gate that a process uses until it has made one.
[[gnu::visibility("hidden")]] extern Gate first_gate;
extern constinit thread_local ThreadState thread_state
    [[gnu::tls_model("initial-exec"),
      gnu::visibility("hidden")]] __asm__("xylem_capture_thread_state");
static_assert(offsetof(ThreadState, fortran) == 0 && offsetof(FortranCall, caller) == 0 &&
              offsetof(FortranCall, function) == 8);

/// For a call of `function` that begins while `state.fortran` is set. If MPI's Fortran library
/// makes the call for the program, returns the place of the program's call, and marks
/// `state.fortran` as taken. Returns null if the Fortran library makes the call for its own
/// purposes, and `caller` if the call is not from Fortran.
XYLEM_INLINE const void* take_fortran_caller(ThreadState& state, std::uint16_t function,
                                             const void* caller) noexcept;
/// The same, for all calls but the most frequent ones.
[[gnu::cold, gnu::noinline]] const void* look_for_fortran_caller(ThreadState& state,
                                                                 std::uint16_t function,
                                                                 const void* caller) noexcept;

/// Finds a ring for a thread that has none. Returns null if the call cannot be recorded. In this
/// case, take_ring() has already counted the call, unless capture is off.
Thread* take_ring(std::uint16_t function) noexcept;

/// Wakes an agent that sleeps, by one system call, and notes that it is awake. Keeps errno.
[[gnu::cold]] void wake_agent(SegmentHeader& segment) noexcept;

/// Called when the writer has reached the end of a block. Reads the reader's position, and lets the
/// writer continue in the first free block. Returns false if no block is free. Then `calls`, and
/// the payload described by `flags` and `bytes`, count as lost.
[[gnu::cold]] bool make_room(Thread& thread, std::uint64_t head, std::uint16_t function,
                             std::uint32_t calls, std::uint16_t flags,
                             std::uint64_t bytes) noexcept;

/// The same for the record of a region, which counts as lost in the table of regions.
[[gnu::cold]] bool make_room_for_region(Thread& thread, std::uint64_t head) noexcept;

/// Allocates memory for `count` requests in `thread`. Returns false if there is no memory; then the
/// requests are not tracked.
bool make_request_room(Thread& thread, std::uint32_t count) noexcept;

/// The time now, in ticks of the segment's clock.
XYLEM_INLINE std::uint64_t ticks() noexcept;
std::uint64_t monotonic_ns() noexcept;

/// Returns whether wrappers must call enter(). Returns true until the process has decided whether
/// capture starts. After that, returns false in an inert or turned-off process, in a forked child,
/// and while the agent's switch is off.
XYLEM_INLINE bool is_on() noexcept;

/// What wrappers of functions that make, name or free communicators do. They follow these functions
/// also while the agent's switch is off, until the run is over.
enum class CaptureState : std::uint8_t {
  kIdle,     ///< Nothing: is_on() is false, and there is nothing to follow.
  kRecords,  ///< is_on() is true.
  kWatches,  ///< Capture has started, and the agent's switch is off; see begin_watch().
};
XYLEM_INLINE CaptureState capture_state() noexcept;

/// Begins a call that is followed, but neither counted nor recorded. If it returns false, the
/// wrapper makes the real call and does nothing else. Otherwise the wrapper ends with leave().
XYLEM_INLINE bool begin_watch(Call& call, std::uint16_t function) noexcept;

/// Begins a call. If it returns false, the wrapper makes the real call, then calls
/// leave_unrecorded(), and does nothing else.
XYLEM_INLINE bool enter(Call& call, std::uint16_t function) noexcept;

/// The function that the wrapper must call: the next in line, or MPI's own for a call of PMPI_X.
XYLEM_INLINE void* next_of(const Call& call) noexcept;

/// Begins a call of the profiling name PMPI_X. If it returns true, the wrapper continues as the
/// wrapper of MPI_X. If it returns false, the wrapper calls MPI's PMPI_X and does nothing else.
XYLEM_INLINE bool enter_by_profiling_name(std::uint16_t function) noexcept;

/// Writes the call's own record, unless sampling leaves it out. A call that sampling leaves out
/// gets a completion record if it moved payload, started or completed an operation, or was a poll
/// that has found something. So messages, their bytes and requests stay exact.
XYLEM_INLINE void note(const Call& call, const Meaning& meaning) noexcept;

/// Writes another record of the call: the payload of one of several requests.
XYLEM_INLINE void note_completion(const Call& call, const Meaning& meaning) noexcept;

/// Writes a completion record for a call that sampling leaves out. The call has no times, so the
/// record gets the present time.
void note_left_out(Call call, Meaning meaning) noexcept;

/// Makes a timed call visible to the agent as the call under way. enter() does it.
XYLEM_INLINE void publish(const Call& call) noexcept {
  CallUnderWay& now = call.thread->ring->under_way;
  now.begin.store(0, std::memory_order_relaxed);  // A call that was left by longjmp may be there.
  now.where.store(kNowhere, std::memory_order_release);
  now.function.store(call.function, std::memory_order_release);
  now.begin.store(call.begin, std::memory_order_release);
}

/// Adds peer and communicator to a published call.
XYLEM_INLINE void publish_where(const Call& call, std::int32_t peer, std::uint32_t comm) noexcept {
  if (call.calls == 0) return;
  call.thread->ring->under_way.where.store(where_of(peer, comm), std::memory_order_release);
}

/// Ends a call.
XYLEM_INLINE void leave() noexcept { thread_state.frame = nullptr; }

/// Ends a call for which enter() returned false. Even then, the thread's frame may be the frame of
/// this call.
XYLEM_INLINE void leave_unrecorded() noexcept {
  if (thread_state.frame == __builtin_frame_address(0)) leave();
}

/// Writes the record of a call without further meaning, and ends the call.
XYLEM_INLINE void close_plain(Call& call) noexcept {
  if (call.calls != 0) note(call, Meaning{});
  leave();
}

/// Counts a request whose completion cannot be followed.
void count_untracked() noexcept;

// ---------------------------------------------------------------------------------------------

XYLEM_INLINE std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  if (__builtin_expect(process.use_tsc, 1)) return __builtin_ia32_rdtsc();
#endif
  return monotonic_ns();
}

/// The processor on which the thread runs.
XYLEM_INLINE std::uint16_t cpu_now() noexcept {
  const std::ptrdiff_t at = process.cpu_at;
  if (__builtin_expect(at == 0, 0)) return kNoCpu;
  const auto* thread = static_cast<const unsigned char*>(__builtin_thread_pointer());
  const std::uint32_t cpu =
      __atomic_load_n(reinterpret_cast<const std::uint32_t*>(thread + at), __ATOMIC_RELAXED);
  // If the thread is not registered, the value is close to 2^32.
  return cpu < kNoCpu ? static_cast<std::uint16_t>(cpu) : kNoCpu;
}

XYLEM_INLINE bool is_on() noexcept {
  const auto* enabled = process.gate->enabled.load(std::memory_order_relaxed);
  return enabled != nullptr && enabled->load(std::memory_order_relaxed) != 0;
}

XYLEM_INLINE CaptureState capture_state() noexcept {
  const auto* enabled = process.gate->enabled.load(std::memory_order_relaxed);
  if (enabled == nullptr) return CaptureState::kIdle;
  if (enabled->load(std::memory_order_relaxed) != kOff) return CaptureState::kRecords;
  const bool is_followed =
      process.segment != nullptr && process.segment->is_over.load(std::memory_order_relaxed) == 0;
  return is_followed ? CaptureState::kWatches : CaptureState::kIdle;
}

XYLEM_INLINE const void* take_fortran_caller(ThreadState& state, std::uint16_t function,
                                             const void* caller) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(caller) -
                  process.fortran_text.load(std::memory_order_relaxed);
  const bool is_expected = at < process.fortran_text_bytes.load(std::memory_order_acquire) &&
                           function == state.fortran.function;
  if (__builtin_expect(!is_expected, 0)) return look_for_fortran_caller(state, function, caller);
  state.fortran.function |= kFortranTaken;
  return state.fortran.caller;
}

/// Whether a call of `function` is the one that the program has made from Fortran. If so, marks it
/// as taken.
inline bool is_called_for_fortran(std::uint16_t function) noexcept {
  FortranCall& call = thread_state.fortran;
  if (call.caller == nullptr || call.function != function) return false;
  call.function |= kFortranTaken;
  return true;
}

/// Value of ThreadState::frame while the wrapper of PMPI_X jumps to the wrapper of MPI_X.
inline const void* profiling_name() noexcept { return reinterpret_cast<const void*>(1); }

XYLEM_INLINE bool enter_by_profiling_name(std::uint16_t function) noexcept {
  // MPI's library calls functions of the same library by these names. Such calls are parts of a
  // call.
  const auto caller = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  if (caller - process.mpi_text < process.mpi_text_bytes) return false;
  ThreadState& state = thread_state;
  if (state.frame != nullptr &&
      !begins_anew(state, function, __builtin_frame_address(0), __builtin_return_address(0))) {
    return false;
  }
  state.frame = profiling_name();
  return true;
}

XYLEM_INLINE bool enter(Call& call, std::uint16_t function) noexcept {
  ThreadState& state = thread_state;
  call.function = function;
  call.is_numbered = false;
  call.by_profiling_name = false;
  const void* const frame = __builtin_frame_address(0);
  const void* const caller = __builtin_return_address(0);
  if (__builtin_expect(state.frame != nullptr, 0)) {
    call.by_profiling_name = state.frame == profiling_name();
    if (!call.by_profiling_name && !begins_anew(state, function, frame, caller)) return false;
  }
  call.site = caller;
  if (state.fortran.caller != nullptr) {
    call.site = take_fortran_caller(state, function, caller);
    if (call.site == nullptr) {
      state.frame = nullptr;
      return false;
    }
  }
  Thread* thread = state.thread;
  if (__builtin_expect(thread == nullptr, 0)) {
    state.frame = nullptr;
    thread = take_ring(function);
    if (thread == nullptr) {
      state.frame = frame;
      state.caller = caller;
      return false;
    }
  }
  state.frame = frame;
  state.caller = caller;
  call.thread = thread;
  // The wrapper has just read this word, so it is in the cache.
  if (__builtin_expect(thread->segment->enabled.load(std::memory_order_relaxed) == kOnAgentSleeps,
                       0)) {
    wake_agent(*thread->segment);
  }

  // Only this thread writes, so a plain increment is enough. The store is atomic because the agent
  // reads it.
  std::atomic<std::uint64_t>& calls = thread->ring->calls[function];
  const std::uint64_t before = calls.load(std::memory_order_relaxed);
  calls.store(before + 1, std::memory_order_relaxed);

  // Calls number 1, 2, 4, 8, … are timed too. Otherwise a function with few calls would have no
  // time.
  const std::uint32_t pending = thread->pending[function] + 1;
  if (pending < thread->segment->sample_every[function].load(std::memory_order_relaxed) &&
      ((before + 1) & before) != 0) {
    thread->pending[function] = pending;
    std::atomic<std::uint64_t>& untimed = thread->ring->regions.untimed;
    untimed.store(untimed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    call.calls = 0;
    call.begin = call.end = 0;
    return true;
  }
  thread->pending[function] = 0;
  call.calls = pending;
  call.begin = ticks();
  publish(call);
  return true;
}

XYLEM_INLINE bool begin_watch(Call& call, std::uint16_t function) noexcept {
  ThreadState& state = thread_state;
  call = {};
  call.function = function;
  const void* const frame = __builtin_frame_address(0);
  const void* const caller = __builtin_return_address(0);
  if (state.frame != nullptr) {
    call.by_profiling_name = state.frame == profiling_name();
    if (!call.by_profiling_name && !begins_anew(state, function, frame, caller)) return false;
  }
  state.frame = frame;
  state.caller = caller;
  return true;
}

XYLEM_INLINE void* next_of(const Call& call) noexcept {
  return __builtin_expect(call.by_profiling_name, 0) ? own_address(call.function)
                                                     : real_address(call.function);
}

/// Makes the real call with the words that the wrapper got. `Returned` is Word or double.
template <class Returned, class... Words>
XYLEM_INLINE Returned pass(const Call& call, Words... words) noexcept {
  return reinterpret_cast<Returned (*)(Words...)>(next_of(call))(words...);
}

/// Like pass(), for a call for which enter() returned false.
template <class Returned, class... Words>
XYLEM_INLINE Returned pass_unrecorded(const Call& call, Words... words) noexcept {
  const Returned result = pass<Returned>(call, words...);
  leave_unrecorded();
  return result;
}

/// Adds the call to the thread's time in MPI.
XYLEM_INLINE void add_time(const Call& call) noexcept {
  ThreadRing& ring = *call.thread->ring;
  std::uint64_t took = call.end - call.begin;
  if (__builtin_expect(call.calls > 1, 0)) {
    const std::uint64_t room = call.end - ring.mpi_until.load(std::memory_order_relaxed);
    took = took > room / call.calls ? room : took * call.calls;
  }
  ring.mpi_until.store(call.end, std::memory_order_relaxed);
  ring.mpi_ticks.store(ring.mpi_ticks.load(std::memory_order_relaxed) + took,
                       std::memory_order_release);
}

XYLEM_INLINE bool Call::stop(Word returned) noexcept {
  result = static_cast<std::int32_t>(returned);
  // A child of fork() that returns from a call of its parent has its frame and ring, but no gate.
  const bool is_ours = __builtin_expect(thread_state.frame == __builtin_frame_address(0) &&
                                            process.gate->enabled.load(std::memory_order_relaxed),
                                        1);
  if (calls != 0) {
    // Before the time is read, so that a call seen under way ends after it was seen.
    if (is_ours) thread->ring->under_way.begin.store(0, std::memory_order_release);
    end = ticks();
    if (is_ours) add_time(*this);
  }
  return is_ours;
}

/// The largest value that fits into 48 bits of a record.
XYLEM_INLINE std::uint64_t within_record(std::uint64_t value) noexcept {
  return __builtin_expect(value > kMaxRecordBytes, 0) ? kMaxRecordBytes : value;
}

/// `calls` is 0 for a part.
XYLEM_INLINE void write_record(const Call& call, const Meaning& meaning, std::uint32_t calls,
                               std::uint64_t begin, std::uint64_t end) noexcept {
  Thread& thread = *call.thread;
  ThreadRing& ring = *thread.ring;
  const std::uint64_t head = ring.head.load(std::memory_order_relaxed);
  if (__builtin_expect(head >= thread.room_until, 0)) {
    if (!make_room(thread, head, call.function, calls, meaning.flags, meaning.bytes)) return;
  }
  std::uint32_t flags = meaning.flags;
  std::uint64_t room = within_record(meaning.room);
  if (calls == 0) flags |= kRecordPart;
  if (calls > 1) flags |= kRecordEstimated;
  if (call.result != 0) {
    flags |= kRecordFailed;
    room = static_cast<std::uint32_t>(call.result);
  }
  // One store for each word: stores of the parts would make each other wait.
  Record& record = thread.block[head & thread.block_mask];
  record = Record{.begin = begin,
                  .end = end,
                  .request = meaning.request & kMaxRecordBytes,
                  .function = call.function & (kMaxFunctions - 1),
                  .kind = kRecordOfMpi,
                  .bytes = within_record(meaning.bytes) & kMaxRecordBytes,
                  .calls = calls & kMaxRecordCalls,
                  .room = room & kMaxRecordBytes,
                  .flags = flags & 0xffff,
                  .comm = meaning.comm,
                  .peer = meaning.peer,
                  .tag = meaning.tag,
                  .number = meaning.number,
                  .cpu = cpu_now(),
                  .caller = reinterpret_cast<std::uintptr_t>(call.site) & kMaxAddress};
  ring.head.store(head + 1, std::memory_order_release);
}

XYLEM_INLINE void note_completion(const Call& call, const Meaning& meaning) noexcept {
  if (__builtin_expect(call.calls == 0, 0)) return note_left_out(call, meaning);
  write_record(call, meaning, 0, call.begin, call.end);
}

/// Whether a call with this meaning has a record even if sampling leaves it out.
XYLEM_INLINE bool is_kept(const Meaning& meaning) noexcept {
  constexpr std::uint16_t kMatters = kRecordSend | kRecordReceive | kRecordPosts | kRecordCompletes;
  if ((meaning.flags & kMatters) != 0) return true;
  // A test of MPI_REQUEST_NULL always succeeds and says nothing.
  const bool is_of_something = meaning.request != 0 || meaning.comm != kNoComm;
  return (meaning.flags & kRecordSucceeds) != 0 && is_of_something;
}

XYLEM_INLINE void note(const Call& call, const Meaning& meaning) noexcept {
  if (call.calls != 0) {
    write_record(call, meaning, call.calls, call.begin, call.end);
  } else if (is_kept(meaning)) {
    note_left_out(call, meaning);
  }
}

}  // namespace xylem::capture
