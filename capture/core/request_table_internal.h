#pragma once

// A table of the requests that have been started and have not completed. It gives each operation
// its number (request_number), and keeps what only the completion or the start tells: the sender
// and size of a receive, the payload of a persistent request, the communicator of MPI_Comm_idup.
// Of a *plain* request, for example that of MPI_Isend, only the number is kept.
//
// An MPI library may give one handle to several operations. Both give the same handle to all
// operations that are complete when they are started: MPICH for small sends, Open MPI for
// MPI_PROC_NULL. Nobody can tell these operations apart. So the numbers of plain requests with the
// same handle wait in a queue, and a completion takes the oldest.
//
// The table has a fixed size. It consists of sets, and each set has seven places, called ways. By
// MPI's rules, only one thread at a time may complete a request, unless its handle is shared. Other
// threads may insert requests meanwhile. If a set is full, a new request is not tracked.
//
// With `shared` true, functions that search a set take its lock, with a bounded wait. If another
// thread holds it for too long, the request is not tracked.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/core/abi_internal.h"
#include "capture/core/bounded_lock_internal.h"
#include "capture/core/message_numbers_internal.h"
#include "capture/core/process_internal.h"

namespace xylem::capture {

struct Members;

enum class RequestKind : std::uint8_t {
  kReceive = 0,  ///< MPI_Irecv, MPI_Imrecv.
  kPersistentReceive = 1,
  kPersistentSend = 2,
  kPersistentOther = 3,  ///< Collectives, and receives from MPI_PROC_NULL.
  kNewComm = 4,          ///< MPI_Comm_idup.
  kMessage = 5,          ///< An MPI_Message between its probe and its receive; not a request.
  kPartitionedSend = 6,  ///< Partitioned messages match each other only, and have no numbers.
  kPartitionedReceive = 7,
  kPlain = 8,  ///< Only its number is kept: MPI_Isend, MPI_Ibcast.
};

/// Numbers of plain requests with the same handle, the oldest first. A queue of zeros is empty.
class NumberQueue {
 public:
  bool is_empty() const noexcept { return size_ == 0; }
  /// Returns false if the queue has kMaxNumbers numbers, or if there is no memory.
  bool push(std::uint64_t number) noexcept;
  /// Takes the oldest number. The queue must not be empty.
  std::uint64_t pop() noexcept;
  void clear() noexcept { size_ = 0; }

 private:
  static constexpr std::uint32_t kFirstRoom = 512;
  static constexpr std::uint32_t kMaxNumbers = 1u << 20;

  std::uint64_t* numbers_ = nullptr;  // A ring of `room_` places, a power of two.
  std::uint32_t room_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};

struct TrackedRequest {
  /// Members of the communicator, to find the world rank of a status's source.
  const Members* members = nullptr;
  std::uint64_t bytes = 0;  ///< Persistent sends and collectives: payload of each start.
  union {
    std::uint64_t room = 0;  ///< Of each start or of the receive; see Record.
    Word* new_comm;          ///< kNewComm: address at which MPI writes the communicator.
  };
  std::uint32_t comm = 0;
  std::int32_t peer = 0;
  std::int32_t tag = 0;
  RequestKind kind = RequestKind::kReceive;
  // With kNewComm, `comm`, `bytes` and `tag` are parent, number and kind of its Origin.
  bool active = false;   ///< True for a persistent request that was started and has not completed.
  std::uint8_t way = 0;  ///< Position of its key in the set; used only by the table.
  std::uint8_t start_flags = 0;  ///< Upper byte of the flags of each start.
  PostedReceive posted;          ///< Receives and messages: where it stands among the receives.
  /// Of the operation; of a persistent request, since its last start. 0: there is none.
  std::uint64_t number = 0;
  /// Plain: numbers that were given to the same handle later. Used only by the table. It stays with
  /// the way.
  NumberQueue* later = nullptr;
};

constexpr std::uint32_t kRequestWays = 7;
/// Number of sets, enough for 114688 requests. A page of sets uses memory only after the first
/// request in it.
constexpr std::uint32_t kRequestSets = 1u << 14;
constexpr int kHashShift = 64 - 14;  ///< Leaves the bits that number a set.
static_assert(kRequestSets == std::uint64_t{1} << (64 - kHashShift));

/// Keys are stored apart from requests, so that looking for an untracked request reads one cache
/// line. With this alignment, a request's address gives its set.
constexpr std::size_t kRequestSetBytes = 512;
struct alignas(kRequestSetBytes) RequestSet {
  std::atomic<std::uint32_t> used;  ///< Ways below this number have been used.
  LockState locked;                 ///< For BoundedLock.
  /// Keys of the ways. 0 means that the way is free; 1 means that a thread has claimed it or is
  /// filling it.
  std::atomic<Word> keys[kRequestWays];
  TrackedRequest requests[kRequestWays];
};
static_assert(sizeof(RequestSet) == kRequestSetBytes);

/// The table of a process. A table of zeros is empty, so the memory only has to be zeroed.
class RequestTable {
 public:
  /// Reserves a place for a request under `key` (not 0 or 1). The caller sets all members of the
  /// result but `way` and `later`, then calls publish(). An older request under the same key is
  /// replaced, because its completion was not seen. Set `shared` if other threads may use the table
  /// at the same time. Returns null if the request cannot be tracked.
  TrackedRequest* insert(Word key, bool shared) noexcept;
  void publish(TrackedRequest* request, Word key) noexcept;

  /// Adds a plain request. An older request under the same key that is not plain is replaced. If
  /// the queue is full, or too many handles have one, the oldest request of the handle is dropped.
  /// Returns false if the request cannot be tracked.
  bool insert_plain(Word key, std::uint64_t number, bool shared) noexcept;

  /// Returns the request under `key`; null if there is none. 0 and 1 are never keys.
  TrackedRequest* find(Word key) noexcept;
  /// Its number, without taking it. 0 if it is unknown.
  std::uint64_t number_of(Word key, bool shared) noexcept;

  /// Call it before a call that may complete the request. Takes a plain request out of the table;
  /// call insert_plain() if it has not completed. Hides any other request from other threads,
  /// because MPI may reuse the handle during the call; afterwards call release() if the request
  /// completed, else publish().
  ClaimedRequest claim(Word key, bool shared) noexcept;
  void release(TrackedRequest* request) noexcept;

  /// MPI was called unseen, so completions may be missing. From now on, claimed requests and
  /// operations that are started have no numbers.
  void give_up() noexcept { has_given_up_.store(true, std::memory_order_relaxed); }
  bool has_given_up() const noexcept { return has_given_up_.load(std::memory_order_relaxed); }

 private:
  static constexpr Word kFree = 0;
  static constexpr Word kClaimed = 1;
  /// Handles that can have a queue at the same time. An MPI library shares only a few.
  static constexpr std::uint32_t kQueues = 64;

  RequestSet& set_of(Word key) noexcept;
  static std::atomic<Word>& key_of(TrackedRequest* request) noexcept;
  static TrackedRequest* take_way(RequestSet& set, Word key) noexcept;
  ClaimedRequest claim_way(RequestSet& set, Word key) const noexcept;
  bool add_plain(RequestSet& set, Word key, std::uint64_t number) noexcept;
  static TrackedRequest* replace(RequestSet& set, Word key) noexcept;
  void queue(TrackedRequest& request, std::uint64_t number) noexcept;
  [[gnu::noinline]] ClaimedRequest claim_locked(Word key) noexcept;

  RequestSet sets_[kRequestSets];
  NumberQueue queues_[kQueues];
  std::atomic<std::uint32_t> used_queues_{};
  std::atomic<bool> has_given_up_{};
};

// MPICH's handles are small numbers and Open MPI's are addresses. To spread both, multiply and take
// the upper bits.
inline RequestSet& RequestTable::set_of(Word key) noexcept {
  const std::uint64_t mixed = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15u;
  return sets_[mixed >> kHashShift];
}

inline std::atomic<Word>& RequestTable::key_of(TrackedRequest* request) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(request) & ~(kRequestSetBytes - 1);
  return reinterpret_cast<RequestSet*>(at)->keys[request->way];
}

inline void RequestTable::publish(TrackedRequest* request, Word key) noexcept {
  key_of(request).store(key, std::memory_order_release);
}

inline TrackedRequest* RequestTable::find(Word key) noexcept {
  RequestSet& set = set_of(key);
  const std::uint32_t used = set.used.load(std::memory_order_relaxed);
  for (std::uint32_t way = 0; way < used; ++way) {
    if (set.keys[way].load(std::memory_order_acquire) == key)
      return key > kClaimed ? &set.requests[way] : nullptr;
  }
  return nullptr;
}

inline ClaimedRequest RequestTable::claim(Word key, bool shared) noexcept {
  return __builtin_expect(shared, 0) ? claim_locked(key) : claim_way(set_of(key), key);
}

inline ClaimedRequest RequestTable::claim_way(RequestSet& set, Word key) const noexcept {
  if (key <= kClaimed) return {};
  const bool is_sure = !has_given_up();
  const std::uint32_t used = set.used.load(std::memory_order_relaxed);
  for (std::uint32_t way = 0; way < used; ++way) {
    if (set.keys[way].load(std::memory_order_acquire) != key) continue;
    TrackedRequest& found = set.requests[way];
    const std::uint64_t number = found.number;
    if (found.kind != RequestKind::kPlain) {
      set.keys[way].store(kClaimed, std::memory_order_relaxed);
      return {&found, is_sure ? number : 0};
    }
    if (found.later != nullptr && !found.later->is_empty()) {
      found.number = found.later->pop();
    } else {
      set.keys[way].store(kFree, std::memory_order_release);
    }
    return {nullptr, is_sure ? number : 0};
  }
  return {};
}

inline void RequestTable::release(TrackedRequest* request) noexcept {
  key_of(request).store(kFree, std::memory_order_release);
}

/// The table of this process.
extern RequestTable requests [[gnu::visibility("hidden")]];

}  // namespace xylem::capture
