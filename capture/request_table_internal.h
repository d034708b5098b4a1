#pragma once

// What must be known when a request completes: of receives, because only the completion tells who
// sent and how much; of persistent requests, because only the start moves payload; of
// MPI_Comm_idup, because only then the communicator is there. Requests of plain sends are not in
// it.
//
// A fixed table, eight ways to a set, no tombstones. A request is inserted by the thread that makes
// it and completed by one thread at a time (MPI forbids two); both may run while others insert. A
// full set does not track the new request, and the process counts that.

#include <atomic>
#include <cstdint>

#include "capture/abi_internal.h"

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
  const Members* members;  ///< Of the communicator, to turn a status's source into a world rank.
  std::uint64_t bytes;     ///< Persistent sends and collectives: of each start.
  Word* new_comm;          ///< kNewComm: where MPI writes the communicator.
  std::uint32_t comm;
  std::int32_t peer;
  std::int32_t tag;
  RequestKind kind;
  bool active;  ///< A persistent request that was started and has not completed.
};

constexpr std::uint32_t kRequestWays = 8;
constexpr std::uint32_t kRequestSets = 1u << 13;  ///< 65536 requests; touched as they are used.

/// Keys apart from what they lead to: a request that is not tracked costs one cache line.
struct alignas(64) RequestSet {
  std::atomic<Word> keys[kRequestWays];  ///< 0: free; 1: in someone's hands.
  TrackedRequest requests[kRequestWays];
};

/// One per process, in zeroed memory. All zero is empty.
class RequestTable {
 public:
  /// Puts a request under `key` (not 0 or 1), in place of one that is left under the same key: its
  /// completion was not seen. `shared`: other threads may insert at the same time. The caller fills
  /// what the result points to, then calls publish. Null when the set is full.
  TrackedRequest* insert(Word key, bool shared) noexcept;
  void publish(TrackedRequest* request, Word key) noexcept;

  /// The request under `key`, or null.
  TrackedRequest* find(Word key) noexcept;

  /// Takes the request out of the others' sight before a call that may complete it, so that its
  /// handle may be used anew meanwhile. Followed by release (it completed) or publish (it did not).
  TrackedRequest* claim(Word key) noexcept;
  void release(TrackedRequest* request) noexcept;

 private:
  RequestSet& set_of(Word key) noexcept;
  std::atomic<Word>& key_of(TrackedRequest* request) noexcept;

  RequestSet sets_[kRequestSets];
};

}  // namespace xylem::capture
