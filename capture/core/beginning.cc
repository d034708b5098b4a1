#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/run_contract.h"
#include "capture/core/beginning_internal.h"
#include "capture/core/life_internal.h"
#include "capture/core/process_internal.h"
#include "capture/core/segment_internal.h"
#include "capture/core/system_internal.h"

namespace xylem::capture {
namespace {

// Points to memory that the kernel clears in children, or to `spare_beginning` if there is no
// memory. Neither needs a constructor, since programs may call MPI in constructors that run before
// those of this library.
constinit std::atomic<Beginning*> own_beginning{nullptr};
constinit Beginning spare_beginning{};

void empty_beginning() { memset(static_cast<void*>(own_beginning.load()), 0, sizeof(Beginning)); }

// Runs before any process can be forked. So a child of fork() knows that it is a child.
__attribute__((constructor)) void know_the_original() {
  if (is_asked_for()) beginning();
}

}  // namespace

// The first call makes the state. It may come from the constructor above or from a signal handler.
Beginning& beginning() noexcept {
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
  // Before Linux 4.14, only children that the C library makes are recognized.
  if (!is_emptied) pthread_atfork(nullptr, nullptr, &empty_beginning);
  return *made;
}

bool is_asked_for() noexcept {
  const char* address = getenv(kEnvAddress);
  return address != nullptr && *address != 0;
}

void count_early_call(std::uint16_t function) noexcept {
  EarlyCalls& early = beginning().early[function];
  if (early.begin.load(std::memory_order_relaxed) == 0) {
    process.use_tsc = has_invariant_tsc();
    early.begin.store(ticks(), std::memory_order_relaxed);
  }
  early.calls.fetch_add(1);
  // Another thread may have started capture and taken the counts before this call was counted.
  SegmentHeader* segment = __atomic_load_n(&process.segment, __ATOMIC_SEQ_CST);
  if (segment != nullptr && is_gate_open())
    segment->ringless_calls.fetch_add(early.calls.exchange(0), std::memory_order_relaxed);
}

void record_early_calls() noexcept {
  if (!is_on()) return;
  // Recording them must not take the place of the call that starts capture.
  const FortranCall fortran = thread_state.fortran;
  thread_state.fortran.caller = nullptr;
  // Sorts by the first call, since a thread's records are in the order of their begin.
  std::array<std::uint16_t, kFunctionCount> order{};
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  std::sort(order.begin(), order.end(), [](std::uint16_t a, std::uint16_t b) {
    return beginning().early[a].begin.load(std::memory_order_relaxed) <
           beginning().early[b].begin.load(std::memory_order_relaxed);
  });
  for (const std::uint16_t f : order) {
    EarlyCalls& early = beginning().early[f];
    const std::uint32_t calls = early.calls.exchange(0);
    if (calls == 0) continue;
    Call call;
    if (!enter(call, f)) {  // No ring is left. enter() has counted one call.
      leave_unrecorded();
      process.segment->ringless_calls.fetch_add(calls - 1, std::memory_order_relaxed);
      continue;
    }
    std::atomic<std::uint64_t>& count = call.thread->ring->calls[f];
    count.store(count.load(std::memory_order_relaxed) + calls - 1, std::memory_order_relaxed);
    call.thread->pending[f] = 0;
    call.site = nullptr;
    call.begin = early.begin.load(std::memory_order_relaxed);
    call.result = 0;
    call.end = call.begin;  // The begin is known, the duration is not.
    call.thread->ring->under_way.begin.store(0, std::memory_order_release);
    for (std::uint32_t left = calls; left != 0; left -= call.calls) {
      call.calls = std::min(left, kMaxRecordCalls);
      note(call, Meaning{});
    }
    leave();
  }
  thread_state.fortran = fortran;
}

}  // namespace xylem::capture
