#pragma once

// What must be known when a request completes: of receives, because only the completion tells who
// sent and how much; of persistent requests, because only the start moves payload; of
// MPI_Comm_idup, because only then the communicator is there. Requests of plain sends are not in
// it.
//
// A fixed table, seven ways to a set, no tombstones. A request is inserted by the thread that makes
// it and completed by one thread at a time (MPI forbids two); both may run while others insert. A
// full set does not track the new request, and the process counts that.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/core/abi_internal.h"

namespace xylem::capture {

struct Members;

enum class RequestKind : std::uint8_t {
  kReceive = 0,  ///< MPI_Irecv, MPI_Imrecv.
  kPersistentReceive = 1,
  kPersistentSend = 2,
  kPersistentCollective = 3,
  kNewComm = 4,  ///< MPI_Comm_idup.
  kMessage = 5,  ///< Not a request: an MPI_Message between its probe and its receive.
};

struct TrackedRequest {
  const Members* members =
      nullptr;               ///< Of the communicator, to turn a status's source into a world rank.
  std::uint64_t bytes = 0;   ///< Persistent sends and collectives: of each start.
  Word* new_comm = nullptr;  ///< kNewComm: where MPI writes the communicator.
  std::uint32_t comm = 0;
  std::int32_t peer = 0;
  std::int32_t tag = 0;
  RequestKind kind = RequestKind::kReceive;
  bool active = false;   ///< A persistent request that was started and has not completed.
  std::uint8_t way = 0;  ///< The table's: where its key stands in the set.
};

constexpr std::uint32_t kRequestWays = 7;
constexpr std::uint32_t kRequestSets = 1u << 13;  ///< 57344 requests; touched as they are used.

/// Keys apart from what they lead to: a request that is not tracked costs one cache line. Aligned
/// so that a request's address tells its set.
constexpr std::size_t kRequestSetBytes = 512;
struct alignas(kRequestSetBytes) RequestSet {
  std::atomic<std::uint64_t> used;       ///< Ways from here on were never used.
  std::atomic<Word> keys[kRequestWays];  ///< 0: free; 1: in someone's hands.
  TrackedRequest requests[kRequestWays];
};
static_assert(sizeof(RequestSet) == kRequestSetBytes);

/// One per process, in zeroed memory. All zero is empty.
class RequestTable {
 public:
  /// Puts a request under `key` (not 0 or 1), in place of one that is left under the same key: its
  /// completion was not seen. `shared`: other threads may insert at the same time. The caller fills
  /// what the result points to, then calls publish. Null when the set is full.
  TrackedRequest* insert(Word key, bool shared) noexcept;
  void publish(TrackedRequest* request, Word key) noexcept;

  /// The request under `key`, or null. Nothing is under 0 and 1.
  TrackedRequest* find(Word key) noexcept;

  /// Takes the request out of the others' sight before a call that may complete it, so that its
  /// handle may be used anew meanwhile. Followed by release (it completed) or publish (it did not).
  TrackedRequest* claim(Word key) noexcept;
  void release(TrackedRequest* request) noexcept;

 private:
  static constexpr Word kFree = 0;
  static constexpr Word kClaimed = 1;

  RequestSet& set_of(Word key) noexcept;
  static std::atomic<Word>& key_of(TrackedRequest* request) noexcept;

  RequestSet sets_[kRequestSets];
};

// MPICH numbers handles from below, Open MPI's are addresses: multiply, then take the upper bits.
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

/// The process's own.
extern RequestTable requests [[gnu::visibility("hidden")]];

}  // namespace xylem::capture
