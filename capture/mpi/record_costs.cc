// The library's own work for a call is measured with the code of the wrappers. A call that returns
// at once stands for the real call. The thread writes into a ring of its own, which no agent reads.

#include "capture/core/definition_writer_internal.h"
#include "capture/core/record_costs_internal.h"
#include "capture/core/system_internal.h"
#include "capture/mpi/hot_shapes_internal.h"
#include "xylem_capture_functions.h"

namespace xylem::capture {
namespace {

constexpr std::uint32_t kRecords = 64;
constexpr unsigned kCalls = 128;    ///< Calls between two readings of the clock.
constexpr unsigned kRequests = 32;  ///< Requests that are started before the first is completed.
constexpr unsigned kBatches = 5;    ///< The fastest counts. The first one warms the caches.
/// No program uses this tag, so no message of a program is on this channel.
constexpr std::int32_t kTag = 0x7ffffff0;
constexpr std::int32_t kSelf = 0;
constexpr std::int64_t kBytes = 8;

// Static, because a thread of the application may have a small stack. Memory that no call touches
// is never allocated.
struct Bench {
  SegmentHeader segment;
  ThreadRing ring;
  Thread thread;
  Record records[kRecords];
  unsigned char status[kLargestStatus];
  Word requests[kRequests];
};
constinit Bench the_bench{};
Bench& bench() { return the_bench; }

[[gnu::noinline]] Word real_call() {
  __asm__ volatile("");
  return 0;
}

// Each function has the form of a generated wrapper.

[[gnu::noinline]] Word bare() { return real_call(); }

[[gnu::noinline]] Word plain() {
  Call call;
  if (!enter(call, kMPI_Comm_rank)) return 0;
  const Word result = real_call();
  if (!call.stop(result)) return result;
  close_plain(call);
  return result;
}

[[gnu::noinline]] Word with_part() {
  Call call;
  if (!enter(call, kMPI_Comm_rank)) return 0;
  const Word result = real_call();
  if (!call.stop(result)) return result;
  note(call, Meaning{});
  note_completion(call, Meaning{});
  leave();
  return result;
}

[[gnu::noinline]] Word message() {
  Call call;
  if (!enter(call, kMPI_Send)) return 0;
  number_early(call, process.abi.comm_self, kSelf, kTag);
  at(call, process.abi.comm_self, kSelf);
  const Word result = real_call();
  if (!call.stop(result)) return result;
  after_send(call, Mode::kBlocking, 0, kBytes, process.abi.byte, kSelf, kTag,
             process.abi.comm_self);
  leave();
  return result;
}

[[gnu::noinline]] Word start(Word request) {
  Call call;
  if (!enter(call, kMPI_Irecv)) return 0;
  const Word result = real_call();
  if (!call.stop(result)) return result;
  after_irecv(call, Mode::kRequest, request, kBytes, process.abi.byte, kSelf, kTag,
              process.abi.comm_self);
  leave();
  return result;
}

[[gnu::noinline]] Word completion(Word request) {
  Call call;
  if (!enter(call, kMPI_Wait)) return 0;
  const Word status = before_wait(call, request, reinterpret_cast<Word>(&bench().status));
  at_request(call);
  const Word result = real_call();
  if (!call.stop(result)) return result;
  after_wait(call, request, status, 0);
  leave();
  return result;
}

[[gnu::noinline]] Word collective() {
  Call call;
  if (!enter(call, kMPI_Allreduce)) return 0;
  at(call, process.abi.comm_self);
  const Word result = real_call();
  if (!call.stop(result)) return result;
  after_allreduce(call, Mode::kBlocking, 0, process.abi.comm_self, 0, kBytes, process.abi.byte,
                  process.abi.operations[0]);
  leave();
  return result;
}

std::uint64_t less(std::uint64_t from, std::uint64_t what) { return from > what ? from - what : 0; }

/// The time of the fastest of several runs of `body`, in picoseconds.
template <class Body>
std::uint64_t fastest(Body body) {
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned batch = 0; batch < kBatches; ++batch) {
    const std::uint64_t before = monotonic_ns();
    body();
    const std::uint64_t took = monotonic_ns() - before;
    if (took < least) least = took;
  }
  return least * 1000;
}

class Meter {
 public:
  Meter() : clock_(fastest([] {})), call_(fastest_call(&bare)) {}

  /// Picoseconds that the library adds to a call.
  std::uint64_t cost_of(Word (*call)()) const { return less(fastest_call(call), call_); }

  /// The same for the start of a request, and for its completion.
  void measure_requests(std::uint64_t& of_start, std::uint64_t& of_completion) const {
    std::uint64_t starts = ~std::uint64_t{0}, completions = starts;
    for (unsigned batch = 0; batch < kBatches; ++batch) {
      const std::uint64_t before = monotonic_ns();
      for (Word& it : bench().requests) start(reinterpret_cast<Word>(&it));
      const std::uint64_t started = monotonic_ns();
      for (Word& it : bench().requests) completion(reinterpret_cast<Word>(&it));
      const std::uint64_t end = monotonic_ns();
      if (started - before < starts) starts = started - before;
      if (end - started < completions) completions = end - started;
    }
    of_start = less(less(starts * 1000, clock_) / kRequests, call_);
    of_completion = less(less(completions * 1000, clock_) / kRequests, call_);
  }

 private:
  std::uint64_t fastest_call(Word (*call)()) const {
    const std::uint64_t took = fastest([call] {
      for (unsigned i = 0; i < kCalls; ++i) call();
    });
    return less(took, clock_) / kCalls;
  }

  std::uint64_t clock_;  // A reading of the clock.
  std::uint64_t call_;   // A call without this library.
};

void tell(RecordShape shape, std::uint64_t picoseconds) {
  constexpr std::uint64_t kMax = 0xffffffff;
  definitions.record_cost(
      {shape, static_cast<std::uint32_t>(picoseconds < kMax ? picoseconds : kMax)});
}

void make_bench() {
  Bench& it = bench();
  it.segment.enabled.store(kOn, std::memory_order_relaxed);
  it.segment.sample_every[kMPI_Comm_rank].store(0, std::memory_order_relaxed);
  it.ring.calls[kMPI_Comm_rank].store(0, std::memory_order_relaxed);
  it.thread.ring = &it.ring;
  it.thread.segment = &it.segment;
  it.thread.records = it.thread.block = it.records;
  it.thread.block_mask = kRecords - 1;
  it.thread.room_until = ~std::uint64_t{0};  // It writes over its old records.
  // Handles that MPI does not make: addresses in this library.
  for (Word& request : it.requests) request = reinterpret_cast<Word>(&request);
}

void measure() {
  const Meter meter;
  const std::uint64_t call = meter.cost_of(&plain);
  tell(RecordShape::kCall, call);
  tell(RecordShape::kPart, less(meter.cost_of(&with_part), call));
  tell(RecordShape::kMessage, meter.cost_of(&message));
  std::uint64_t of_start = 0, of_completion = 0;
  meter.measure_requests(of_start, of_completion);
  tell(RecordShape::kStart, of_start);
  tell(RecordShape::kCompletion, of_completion);
  tell(RecordShape::kCollective, meter.cost_of(&collective));
  // Sampling leaves out all calls of a function but those with the numbers 1, 2, 4, 8, ...
  bench().segment.sample_every[kMPI_Comm_rank].store(~0U, std::memory_order_relaxed);
  bench().ring.calls[kMPI_Comm_rank].store((std::uint64_t{1} << 40) + 1, std::memory_order_relaxed);
  tell(RecordShape::kCounted, meter.cost_of(&plain));
}

}  // namespace

void measure_record_costs() noexcept {
  const CommEntry* const self = comms.find_known(process.abi.comm_self);
  if (self == nullptr) return;  // No memory for communicators.
  // A handler that calls MPI would write into the ring that nobody reads.
  const SignalsBlocked blocked;
  const std::uint32_t collectives = self->collectives.load(std::memory_order_relaxed);
  const ThreadState before = thread_state;
  make_bench();
  thread_state = ThreadState{};
  thread_state.thread = &bench().thread;
  measure();
  thread_state = before;
  self->collectives.store(collectives, std::memory_order_relaxed);
}

}  // namespace xylem::capture
