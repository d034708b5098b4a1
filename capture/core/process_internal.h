#pragma once

// The one state of the capture library in a process, and the path that every MPI call takes.
//
//   wrapper:  if (!is_on()) return next(f, ...);           dormant or inert: nothing else
//             if (!enter(call, f))                         nested, or a thread without a ring
//               return pass_unrecorded(call, ...);
//             result = pass(call, ...);                    the job's call comes first
//             if (!call.stop(result)) return result;
//             after_<shape>(call, ...);                    says what the call meant, writes records
//             leave();
//
// Nothing on this path locks, allocates, blocks or enters the kernel. A thread's first call takes a
// ring of the segment, and maps its memory; a destructor of thread-specific storage gives the ring
// back for the next thread.
//
// One record per call of the program. A wrapper MPI_X calls the next MPI_X in line, which may be
// another tool's, and tools and language bindings call PMPI_X in the end; PMPI_X is wrapped as
// well, for calls that reach MPI without passing MPI_X (Fortran, a tool in the program itself).
// Within the wrapper of one call, calls from MPI and from tools are its parts and pass
// (nesting_internal.h), also where there is no ring to record the outer call in.
//
// Life: waiting -> started (segment made and registered), inert (no XYLEM_ADDRESS), or turned off,
// when something failed. A process starts in MPI_Init, or, where no wrapper saw that, at its first
// call for which MPI is initialised. After fork() the child is inert: the word that leads to the
// segment lies in memory that the kernel wipes in children. A child that calls MPI_Init itself
// starts anew.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/core/abi_internal.h"
#include "capture/core/nesting_internal.h"
#include "capture/core/real_internal.h"
#include "capture/core/ring.h"

namespace xylem::capture {

struct Members;

/// A receive or persistent request that follows its request handle; see request_table_internal.h.
struct TrackedRequest;

/// What one record says beyond times and function; see Record.
struct Meaning {
  std::uint64_t request = 0;
  std::uint64_t bytes = 0;
  std::uint32_t comm = kNoComm;
  std::int32_t peer = kNoPeer;
  std::int32_t tag = kNoTag;
  std::uint8_t flags = 0;
};

/// A ring's writer: private memory of this process, one per ring in use, kept when the ring is
/// passed on to another thread (what is pending belongs to the ring).
struct Thread {
  ThreadRing* ring = nullptr;
  Record* records = nullptr;
  const std::atomic<std::uint32_t>* sample_every = nullptr;
  Record* block = nullptr;         ///< Where the block under way lies.
  std::uint64_t block_mask = 0;    ///< Records in a block - 1.
  std::uint64_t room_until = 0;    ///< The first record after the block under way.
  std::uint64_t taken_blocks = 0;  ///< A bit for each block that holds records not read.
  std::uint64_t oldest_block = 0;  ///< The number of the first block, in order, that is taken.
  std::uint32_t number = 0;
  std::atomic<std::uint32_t> taken{0};  ///< 1 while a thread writes this ring.

  // What a call that completes requests remembers from before it.
  std::uint32_t request_room = 0;       ///< Elements of `requests` and `statuses`.
  std::uint32_t request_count = 0;      ///< Of the call under way.
  TrackedRequest** requests = nullptr;  ///< Null where a request is not tracked.
  Word* request_handles = nullptr;
  unsigned char* statuses = nullptr;                ///< For MPI_STATUSES_IGNORE.
  alignas(8) unsigned char status[kLargestStatus];  ///< For MPI_STATUS_IGNORE.
  std::uint32_t freed_comm = kNoComm;               ///< Of MPI_Comm_free.

  std::uint32_t pending[kMaxFunctions] = {};  ///< Calls since the last record of a function.
};

/// Into its caller always: what a call is and means stays in registers then.
#define XYLEM_INLINE inline __attribute__((always_inline))

/// One MPI call under way. It lives in the wrapper's registers, unless it is passed to a function
/// that is not inlined.
struct Call {
  Thread* thread;
  bool by_profiling_name;  ///< The program called PMPI_X.
  std::uint64_t begin;
  std::uint64_t end;
  std::uint32_t calls;  ///< That its record will stand for; 0: sampling leaves the record out.
  std::uint16_t function;
  std::int32_t result;

  // Of a call that completes one request; see before_wait.
  TrackedRequest* tracked;  ///< Null when the request is not tracked.
  Word request;             ///< Its handle; 0 for none.

  /// MPI has returned. False when the call is no longer the thread's: nothing more is known of it.
  XYLEM_INLINE bool stop(Word returned) noexcept;
};

/// Per thread: small, since it lives in the static TLS of foreign programs.
struct ThreadState {
  Thread* thread;
  const void* frame;   ///< Of the wrapper that the thread is in; null: in none.
  const void* caller;  ///< Where that wrapper returns to.
  bool is_starting;    ///< It makes the segment and registers.
};

/// What a child of fork() must not inherit; on a page of its own that the kernel wipes then.
struct Gate {
  std::atomic<const std::atomic<std::uint32_t>*> enabled;
};

struct Process {
  Gate* gate;                        ///< Never null.
  SegmentHeader* segment = nullptr;  ///< Null unless started.
  Thread* threads = nullptr;         ///< kMaxThreads of them.
  std::uintptr_t mpi_text = 0;       ///< Where the code of MPI's library lies.
  std::size_t mpi_text_bytes = 0;
  bool use_tsc = false;
  bool many_threads = false;  ///< MPI_THREAD_MULTIPLE was granted.
  Abi abi;
};

/// Known to assembly too (wrapper_internal.h), which relies on `gate` being first.
[[gnu::visibility("hidden")]] extern Process process __asm__("xylem_capture_process");
static_assert(offsetof(Process, gate) == 0 && offsetof(Gate, enabled) == 0);
/// Until a process has one of its own.
[[gnu::visibility("hidden")]] extern Gate first_gate;
extern constinit thread_local ThreadState thread_state
    [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];

/// First MPI call of a thread, of a thread without a ring, or before the process has started: gives
/// the thread's ring, or null when there is nothing to record in (which has then been counted).
Thread* take_ring(std::uint16_t function) noexcept;

/// The writer has come to the end of a block: looks how far the reader is, and goes on to the first
/// block that is free. False when none is: then `calls`, and the payload that `flags` and `bytes`
/// tell of, count as lost.
[[gnu::cold]] bool make_room(Thread& thread, std::uint64_t head, std::uint16_t function,
                             std::uint32_t calls, std::uint8_t flags, std::uint64_t bytes) noexcept;

/// Makes room for `count` requests in `thread`; false when memory is out: none is tracked then.
bool make_request_room(Thread& thread, std::uint32_t count) noexcept;

/// Zeroed memory from the kernel, never given back; null when there is none.
void* take_memory(std::size_t bytes) noexcept;

/// Ticks of the segment's clock.
XYLEM_INLINE std::uint64_t ticks() noexcept;
std::uint64_t monotonic_ns() noexcept;

/// Whether calls may be recorded now: false when inert, dormant, switched off or in a forked child.
XYLEM_INLINE bool is_on() noexcept;

/// Begins a call. False: do nothing but pass it on, and then leave_unrecorded().
XYLEM_INLINE bool enter(Call& call, std::uint16_t function) noexcept;

/// The function that a call goes on to: the next in line, or MPI's own for a call of PMPI_X.
XYLEM_INLINE void* next_of(const Call& call) noexcept;

/// Begins a call that came by its profiling name; the wrapper goes on as that of MPI_X. False: pass
/// it to PMPI_X, do nothing else.
XYLEM_INLINE bool enter_by_profiling_name(std::uint16_t function) noexcept;

/// Writes the call's own record, if sampling does not leave it out. A call left out that moved
/// payload leaves a completion record instead, so that messages and bytes stay exact.
XYLEM_INLINE void note(const Call& call, const Meaning& meaning) noexcept;

/// Writes one more record of the call: payload of one of several requests.
XYLEM_INLINE void note_completion(const Call& call, const Meaning& meaning) noexcept;

/// The same for a call that sampling leaves out: it has no times, the record gets the present one.
void note_left_out(Call call, Meaning meaning) noexcept;

/// Ends a call.
XYLEM_INLINE void leave() noexcept { thread_state.frame = nullptr; }

/// Ends a call for which enter() said false: the thread may be in it nevertheless.
XYLEM_INLINE void leave_unrecorded() noexcept {
  if (thread_state.frame == __builtin_frame_address(0)) leave();
}

/// A call without meaning: its record and its end.
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

XYLEM_INLINE bool is_on() noexcept {
  const auto* enabled = process.gate->enabled.load(std::memory_order_relaxed);
  return enabled != nullptr && enabled->load(std::memory_order_relaxed) != 0;
}

/// In ThreadState::frame between PMPI_X and the wrapper of MPI_X, which it jumps to.
inline const void* profiling_name() noexcept { return reinterpret_cast<const void*>(1); }

XYLEM_INLINE bool enter_by_profiling_name(std::uint16_t function) noexcept {
  // MPI's library calls its own functions so: parts of a call, however that came in.
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
  call.by_profiling_name = false;
  const void* const frame = __builtin_frame_address(0);
  const void* const caller = __builtin_return_address(0);
  if (__builtin_expect(state.frame != nullptr, 0)) {
    call.by_profiling_name = state.frame == profiling_name();
    if (!call.by_profiling_name && !begins_anew(state, function, frame, caller)) return false;
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

  // One writer: a plain increment, atomic only against the agent's read.
  std::atomic<std::uint64_t>& calls = thread->ring->calls[function];
  const std::uint64_t before = calls.load(std::memory_order_relaxed);
  calls.store(before + 1, std::memory_order_relaxed);

  // The first, second, fourth, eighth ... call is timed too: else a function with few calls would
  // have no time at all.
  const std::uint32_t pending = thread->pending[function] + 1;
  if (pending < thread->sample_every[function].load(std::memory_order_relaxed) &&
      ((before + 1) & before) != 0) {
    thread->pending[function] = pending;
    call.calls = 0;
    call.begin = call.end = 0;
    return true;
  }
  thread->pending[function] = 0;
  call.calls = pending;
  call.begin = ticks();
  return true;
}

XYLEM_INLINE void* next_of(const Call& call) noexcept {
  return __builtin_expect(call.by_profiling_name, 0) ? own_address(call.function)
                                                     : real_address(call.function);
}

/// Passes a call on with the words that the wrapper got; `Returned` is Word or double.
template <class Returned, class... Words>
XYLEM_INLINE Returned pass(const Call& call, Words... words) noexcept {
  return reinterpret_cast<Returned (*)(Words...)>(next_of(call))(words...);
}

/// The same for a call that enter() does not record.
template <class Returned, class... Words>
XYLEM_INLINE Returned pass_unrecorded(const Call& call, Words... words) noexcept {
  const Returned result = pass<Returned>(call, words...);
  leave_unrecorded();
  return result;
}

XYLEM_INLINE bool Call::stop(Word returned) noexcept {
  result = static_cast<std::int32_t>(returned);
  if (calls != 0) end = ticks();
  return __builtin_expect(thread_state.frame == __builtin_frame_address(0), 1);
}

XYLEM_INLINE void write_record(const Call& call, const Meaning& meaning, RecordKind kind,
                               std::uint32_t calls, std::uint64_t begin,
                               std::uint64_t end) noexcept {
  Thread& thread = *call.thread;
  ThreadRing& ring = *thread.ring;
  const std::uint64_t head = ring.head.load(std::memory_order_relaxed);
  if (__builtin_expect(head >= thread.room_until, 0)) {
    if (!make_room(thread, head, call.function, calls, meaning.flags, meaning.bytes)) return;
  }
  Record& record = thread.block[head & thread.block_mask];
  record.begin = begin;
  record.end = end;
  record.request = meaning.request;
  record.bytes = meaning.bytes;
  record.comm = meaning.comm;
  record.peer = meaning.peer;
  record.tag = meaning.tag;
  record.result = call.result;
  record.calls = calls;
  record.function = call.function;
  record.kind = kind;
  record.flags = static_cast<std::uint8_t>(meaning.flags | (calls > 1 ? kRecordEstimated : 0));
  record.thread = thread.number;
  record.reserved = 0;
  ring.head.store(head + 1, std::memory_order_release);
}

XYLEM_INLINE void note_completion(const Call& call, const Meaning& meaning) noexcept {
  if (__builtin_expect(call.calls == 0, 0)) return note_left_out(call, meaning);
  write_record(call, meaning, RecordKind::kCompletion, 0, call.begin, call.end);
}

XYLEM_INLINE void note(const Call& call, const Meaning& meaning) noexcept {
  if (call.calls != 0) {
    write_record(call, meaning, RecordKind::kMpiCall, call.calls, call.begin, call.end);
  } else if ((meaning.flags & (kRecordSend | kRecordReceive)) != 0) {
    note_left_out(call, meaning);
  }
}

}  // namespace xylem::capture
