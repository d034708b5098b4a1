#pragma once

// A table of requests whose completion (or start) must be followed. For a receive, only the
// completion shows the sender and the size. For a persistent request, only the start moves payload.
// For MPI_Comm_idup, only the completion makes the communicator. Requests of non-persistent sends
// are not in the table.
//
// The table has a fixed size. It consists of sets, and each set has seven places, called ways. The
// thread that makes a request inserts it. By MPI's rules, only one thread at a time may complete
// the request. Other threads may insert requests meanwhile. If a set is full, a new request is not
// tracked but only counted.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/core/abi_internal.h"
#include "capture/core/message_numbers_internal.h"

namespace xylem::capture {

struct Members;

enum class RequestKind : std::uint8_t {
  kReceive = 0,  ///< MPI_Irecv, MPI_Imrecv.
  kPersistentReceive = 1,
  kPersistentSend = 2,
  kPersistentCollective = 3,
  kNewComm = 4,          ///< MPI_Comm_idup.
  kMessage = 5,          ///< An MPI_Message between its probe and its receive; not a request.
  kPartitionedSend = 6,  ///< Partitioned messages match each other only, and have no numbers.
  kPartitionedReceive = 7,
};

struct TrackedRequest {
  /// Members of the communicator, to find the world rank of a status's source.
  const Members* members = nullptr;
  std::uint64_t bytes = 0;   ///< Persistent sends and collectives: payload of each start.
  Word* new_comm = nullptr;  ///< kNewComm: address at which MPI writes the communicator.
  std::uint32_t comm = 0;
  std::int32_t peer = 0;
  std::int32_t tag = 0;
  RequestKind kind = RequestKind::kReceive;
  // With kNewComm, `comm`, `bytes` and `tag` are parent, number and kind of its Origin.
  bool active = false;   ///< True for a persistent request that was started and has not completed.
  std::uint8_t way = 0;  ///< Position of its key in the set; used only by the table.
  PostedReceive posted;  ///< Receives and messages: where it stands among the receives.
};

constexpr std::uint32_t kRequestWays = 7;
/// Number of sets, enough for 57344 requests. A page of sets uses memory only after the first
/// request in it.
constexpr std::uint32_t kRequestSets = 1u << 13;

/// Keys are stored apart from requests, so that looking for an untracked request reads one cache
/// line. With this alignment, a request's address gives its set.
constexpr std::size_t kRequestSetBytes = 512;
struct alignas(kRequestSetBytes) RequestSet {
  std::atomic<std::uint64_t> used;  ///< Ways below this number have been used.
  /// Keys of the ways. 0 means that the way is free; 1 means that a thread has claimed it or is
  /// filling it.
  std::atomic<Word> keys[kRequestWays];
  TrackedRequest requests[kRequestWays];
};
static_assert(sizeof(RequestSet) == kRequestSetBytes);

/// The table of a process. A table of zeros is empty, so the memory only has to be zeroed.
class RequestTable {
 public:
  /// Reserves a place for a request under `key` (not 0 or 1). The caller fills in the result, then
  /// calls publish(). An older request under the same key is replaced, because its completion was
  /// not seen. Set `shared` if other threads may insert at the same time. Returns null if the set
  /// is full.
  TrackedRequest* insert(Word key, bool shared) noexcept;
  void publish(TrackedRequest* request, Word key) noexcept;

  /// Returns the request under `key`; null if there is none. 0 and 1 are never keys.
  TrackedRequest* find(Word key) noexcept;

  /// Call it before a call that may complete the request. Hides the request from other threads,
  /// because MPI may reuse the handle during that call. Afterwards call release() if the request
  /// completed, else publish().
  TrackedRequest* claim(Word key) noexcept;
  void release(TrackedRequest* request) noexcept;

 private:
  static constexpr Word kFree = 0;
  static constexpr Word kClaimed = 1;

  RequestSet& set_of(Word key) noexcept;
  static std::atomic<Word>& key_of(TrackedRequest* request) noexcept;

  RequestSet sets_[kRequestSets];
};

// MPICH's handles are small numbers and Open MPI's are addresses. To spread both, multiply and take
// the upper bits.
inline RequestSet& RequestTable::set_of(Word key) noexcept {
  const std::uint64_t mixed = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15u;
  return sets_[(mixed >> 32) % kRequestSets];
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
  const std::uint64_t used = set.used.load(std::memory_order_relaxed);
  for (std::uint64_t way = 0; way < used; ++way) {
    if (set.keys[way].load(std::memory_order_acquire) == key)
      return key > kClaimed ? &set.requests[way] : nullptr;
  }
  return nullptr;
}

inline TrackedRequest* RequestTable::claim(Word key) noexcept {
  TrackedRequest* found = find(key);
  if (found != nullptr) key_of(found).store(kClaimed, std::memory_order_relaxed);
  return found;
}

inline void RequestTable::release(TrackedRequest* request) noexcept {
  key_of(request).store(kFree, std::memory_order_release);
}

/// The table of this process.
extern RequestTable requests [[gnu::visibility("hidden")]];

}  // namespace xylem::capture
