#pragma once

// From a communicator's handle to its identity in the world and its members' world ranks.
//
// Made when a communicator's constructor returns; for those made where no wrapper sees it, at the
// first use. Forgotten when the communicator is freed. Looking up takes no lock; adding does, and
// asks MPI (local operations only), and is given up when another thread holds the lock for too
// long: that communicator is unknown then. World-rank tables are shared by all communicators with
// equal members and live as long as the process, so a request may point to one after its
// communicator was freed; their memory is bounded.

#include <atomic>
#include <cstdint>

#include "capture/core/abi_internal.h"
#include "capture/core/ring.h"

namespace xylem::capture {

/// Who belongs to a communicator, in order. Of an intercommunicator: the remote group, since
/// peers and roots are ranks of it.
struct Members {
  std::uint64_t hash;      ///< Of local and remote members, the same on both sides.
  std::uint64_t own_hash;  ///< Of all that tells two Members of one process apart.
  std::int32_t size;
  std::int32_t rank;  ///< Of this process, in the local group.
  bool is_inter;
  bool is_world_order;              ///< Rank r is world rank r: no table.
  std::atomic<std::uint32_t> made;  ///< Communicators with these members so far.
  Members* next;

  /// World rank of each, behind this in memory; -1 for processes of other worlds.
  std::int32_t* table() noexcept { return reinterpret_cast<std::int32_t*>(this + 1); }
  const std::int32_t* table() const noexcept {
    return reinterpret_cast<const std::int32_t*>(this + 1);
  }

  /// World rank of `rank`; kNoPeer when it is none of ours, MPI_PROC_NULL, MPI_ROOT or out of
  /// range.
  std::int32_t world_rank(std::int32_t rank_here) const noexcept {
    if (rank_here < 0 || rank_here >= size) return kNoPeer;
    return is_world_order ? rank_here : table()[rank_here];
  }
};

struct CommEntry {
  std::atomic<Word> key{0};  ///< The handle; 0 is free.
  const Members* members = nullptr;
  std::uint32_t identity = 0;  ///< See kCommWorld in ring.h.
};

/// All communicators that one process may hold at a time; more are recorded without peer.
constexpr std::uint32_t kCommSets = 1024;
constexpr std::uint32_t kCommWays = 8;

/// Of all rank tables together. Taken from the system in blocks, as they are needed.
constexpr std::uint64_t kMembersBytes = 256u << 20;
constexpr std::uint64_t kMembersBlockBytes = 256u << 10;

class CommMap {
 public:
  /// Adds MPI_COMM_WORLD and MPI_COMM_SELF. To be called once MPI is initialised. False when there
  /// is no memory: every communicator is unknown then.
  bool begin(std::int32_t world_rank, std::int32_t world_size) noexcept;

  /// The communicator under a wrapper's argument; null for MPI_COMM_NULL and for communicators
  /// beyond the bounds above.
  const CommEntry* find(Word comm) noexcept {
    const Word key = comm & handle_mask_;
    return __builtin_expect(key == world_key_, 1) ? world_ : find_other(key);
  }

  /// A constructor has made `comm`. MPI_COMM_NULL is ignored.
  void add(Word comm) noexcept;

  /// `comm` is about to be freed.
  void forget(Word comm) noexcept;

 private:
  const CommEntry* find_other(Word key) noexcept;
  CommEntry* set_of(Word key) noexcept;
  const CommEntry* learn(Word key) noexcept;
  Members* members_of(Word comm) noexcept;
  Members* intern(Members& candidate) noexcept;
  Members* room_for(std::int32_t size) noexcept;
  CommEntry* put(Word key, const Members* members, std::uint32_t identity) noexcept;

  CommEntry entries_[kCommSets * kCommWays];
  const CommEntry* world_ = nullptr;  // Most calls are on it. Null before begin().
  Word world_key_ = 0;
  Word handle_mask_ = 0;
  Members* known_ = nullptr;        // All rank tables, newest first.
  unsigned char* block_ = nullptr;  // Where the next one goes: [block_, block_ + used_) is taken.
  std::uint64_t block_bytes_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t taken_ = 0;  // Bytes of all blocks.
  std::int32_t world_size_ = 0;
  std::atomic<bool> locked_{false};
};

/// The process's own.
extern CommMap comms [[gnu::visibility("hidden")]];

}  // namespace xylem::capture
