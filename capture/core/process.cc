#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/core/definition_writer_internal.h"
#include "capture/core/life_internal.h"
#include "capture/core/process_internal.h"
#include "capture/core/request_table_internal.h"
#include "capture/core/segment_internal.h"

namespace xylem::capture {
namespace {

// The gate's value until the first call decides whether this process is watched. A constructor
// cannot set it in time, since programs may call MPI in their own constructors.
constinit const std::atomic<std::uint32_t> kWaiting{1};
constexpr std::uint32_t kFirstRequestRoom = 64;

// Rings that were given back come first, so that short-lived threads share few rings.
Thread* claim_ring() {
  for (std::uint32_t number = 0; number < process.segment->max_rings; ++number) {
    Thread& thread = process.threads[number];
    std::uint32_t free = 0;
    if (thread.taken.load(std::memory_order_relaxed) != 0) continue;
    if (thread.taken.compare_exchange_strong(free, 1, std::memory_order_acquire)) return &thread;
  }
  return nullptr;
}

// Returns false if there is no address space for the thread's records.
bool prepare_ring(Thread& thread) {
  SegmentHeader& segment = *process.segment;
  const auto number = static_cast<std::uint32_t>(&thread - process.threads);
  std::uint32_t limit = 0;
  Record* records = map_records(segment, number, limit);
  if (records == nullptr) return false;
  ThreadRing& ring = ring_of(segment, number);
  ring.limit.store(limit, std::memory_order_relaxed);
  thread.records = records;
  thread.segment = &segment;
  thread.block_mask = limit / kRingBlocks - 1;
  thread.number = number;
  thread.ring = &ring;
  ring.used.store(1, std::memory_order_release);
  std::uint32_t used = segment.threads.load(std::memory_order_relaxed);
  while (used <= number && !segment.threads.compare_exchange_weak(used, number + 1)) {
  }
  return true;
}

// Frees the blocks that the reader has passed.
void free_blocks(Thread& thread, std::uint64_t head) {
  const std::uint64_t records = thread.block_mask + 1;
  const std::uint64_t tail = thread.ring->tail.load(std::memory_order_acquire);
  while (thread.oldest_block < head / records && (thread.oldest_block + 1) * records <= tail) {
    const std::uint8_t block =
        thread.ring->block_of[thread.oldest_block % kRingBlocks].load(std::memory_order_relaxed);
    thread.taken_blocks &= ~(std::uint64_t{1} << block);
    ++thread.oldest_block;
  }
}

// Takes a block for the thread's next records. Returns false if the ring is full.
bool take_block(Thread& thread, std::uint64_t head) {
  free_blocks(thread, head);
  if (~thread.taken_blocks == 0) return false;
  const auto block = static_cast<unsigned>(__builtin_ctzll(~thread.taken_blocks));
  const std::uint64_t records = thread.block_mask + 1;
  thread.ring->block_of[head / records % kRingBlocks].store(static_cast<std::uint8_t>(block),
                                                            std::memory_order_relaxed);
  thread.taken_blocks |= std::uint64_t{1} << block;
  thread.block = thread.records + block * records;
  thread.room_until = head + records;
  return true;
}

// Tells the agent which thread has taken the ring. The first threads of a process are told: a
// program may start any number of threads, and the log of definitions is needed for more.
void define_thread(std::uint32_t ring) {
  constexpr std::uint32_t kMaxThreadsTold = 4096;
  static constinit std::atomic<std::uint32_t> told{0};
  if (told.load(std::memory_order_relaxed) >= kMaxThreadsTold) return;
  told.fetch_add(1, std::memory_order_relaxed);
  definitions.thread({ring, static_cast<std::uint32_t>(syscall(SYS_gettid)), monotonic_ns()});
}

// Needs no atomic addition, since there is one writer.
void add(std::atomic<std::uint64_t>& counter, std::uint64_t more) {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_release);
}

}  // namespace

// Static, because MPI's functions have no argument for state: the state is that of the process and
// of the thread that call them. Constant-initialised, because a call may come before any
// constructor of this library has run.
constinit Gate first_gate{{&kWaiting}};
constinit Process process{.gate = &first_gate, .abi = {}};
constinit thread_local ThreadState thread_state{};

Thread* take_ring(std::uint16_t function) noexcept {
  if (!has_started(function)) return nullptr;
  if (thread_state.thread != nullptr) return thread_state.thread;  // Recording early calls took it.
  Thread* thread = claim_ring();
  if (thread != nullptr && thread->ring == nullptr && !prepare_ring(*thread)) {
    thread->taken.store(0, std::memory_order_release);
    thread = nullptr;
  }
  if (thread == nullptr) {
    count_without_ring(function);
    return nullptr;
  }
  thread_state.thread = thread;
  watch_thread_end(thread);
  define_thread(thread->number);
  return thread;
}

// Several threads may see that the agent sleeps. One of them makes the system call.
void wake_agent(SegmentHeader& segment) noexcept {
  std::uint32_t asleep = kOnAgentSleeps;
  if (!segment.enabled.compare_exchange_strong(asleep, kOn)) return;
  const int before = errno;
  syscall(SYS_futex, &segment.enabled, FUTEX_WAKE, 1, nullptr, nullptr, nullptr, 0);
  errno = before;
}

bool make_room(Thread& thread, std::uint64_t head, std::uint16_t function, std::uint32_t calls,
               std::uint16_t flags, std::uint64_t bytes) noexcept {
  ThreadRing& ring = *thread.ring;
  if (take_block(thread, head)) return true;
  add(ring.lost[function], calls);
  if ((flags & kRecordSend) != 0) {
    add(ring.lost_messages, 1);
    add(ring.lost_message_bytes, bytes);
  }
  if ((flags & kRecordReceive) != 0) add(ring.lost_receives, 1);
  const bool is_counted = calls != 0 || (flags & (kRecordSend | kRecordReceive)) != 0;
  if (!is_counted) add(ring.lost_parts, 1);
  return false;
}

bool make_room_for_region(Thread& thread, std::uint64_t head) noexcept {
  if (take_block(thread, head)) return true;
  add(thread.ring->regions.lost_records, 1);
  return false;
}

void note_left_out(Call call, Meaning meaning) noexcept {
  const std::uint64_t now = ticks();
  write_record(call, meaning, 0, now, now);
}

bool make_request_room(Thread& thread, std::uint32_t count) noexcept {
  if (count <= thread.request_room) return true;
  std::uint32_t room = kFirstRequestRoom;
  while (room < count) room *= 2;
  constexpr std::size_t kClaim = sizeof(ClaimedRequest);
  constexpr std::size_t kEach = kClaim + sizeof(Word) + kLargestStatus;
  auto* memory = static_cast<unsigned char*>(take_memory(room * kEach));
  if (memory == nullptr) return false;
  // The old memory stays mapped: a fibre may be in a call that writes to it. Since the room
  // doubles, all old memory together is smaller than the new.
  thread.claims = reinterpret_cast<ClaimedRequest*>(memory);
  thread.request_handles = reinterpret_cast<Word*>(memory + room * kClaim);
  thread.statuses = memory + room * (kClaim + sizeof(Word));
  thread.request_room = room;
  return true;
}

std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void count_untracked() noexcept {
  process.segment->untracked_requests.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace xylem::capture
