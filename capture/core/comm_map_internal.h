#pragma once

// Maps a communicator's handle to its identity in the world and to its members' world ranks.
//
// An entry is added when the function that made the communicator returns. For MPI_Comm_idup, it is
// added when the request completes. If no wrapper saw that function, the entry is added at the
// first use of the communicator. The entry is removed when the communicator is freed. A look-up
// that finds an entry takes no lock. Adding an entry takes a lock and calls MPI (local operations
// only). If another thread holds the lock for too long, the communicator is unknown for this call.
//
// The identity of a communicator must be equal in all its processes, although they do not exchange
// it. All processes of a communicator make the same communicators from it, in the same order,
// because MPI wants this of collective calls. So each process counts them, also those that it is no
// member of, and the identity is computed from the parent's identity, this number and the members.
// Some functions have no parent that all members share (MPI_Comm_create_group,
// MPI_Intercomm_create): there the calls with the same members and tag are counted. See Origin.
//
// A communicator that no wrapper saw being made is numbered among those with the same members, in
// the order of first use. It has no identity (kNoComm) if other processes might give this identity
// to another one: if one of these communicators could not be counted, or if the map has had no room
// and this one may have an identity already. A communicator whose parent has no identity has none
// either, nor has one that was made after a failed call on the same parent. After a call that no
// wrapper could follow (in a signal handler, in a thread without a ring, left by a jump), no later
// communicator of the process has one.
// Communicators with equal members share one table of world ranks. The tables live as long as the
// process, so a request may point to a table after its communicator was freed. The total memory of
// all tables is limited.

#include <atomic>
#include <cstdint>

#include "capture/core/abi_internal.h"
#include "capture/core/bounded_lock_internal.h"
#include "capture/core/ring.h"

namespace xylem::capture {

/// The members of a communicator, in order of rank. For an intercommunicator these are the members
/// of the remote group, since peers and roots are ranks in that group.
struct Members {
  std::uint64_t hash;      ///< Hash of local and remote members, the same on both sides.
  std::uint64_t own_hash;  ///< Hash of all properties in which two `Members` of one process can
                           ///< differ.
  std::int32_t size;
  std::int32_t local_size;  ///< Number of members of the local group.
  std::int32_t rank;        ///< Rank of this process in the local group.
  bool is_inter;
  bool is_world_order;  ///< If true, each rank equals its world rank, and the table is not used.
  bool is_second;  ///< True if this process is in the second group of an intercommunicator, which
                   ///< is the one with the larger hash.
  std::atomic<bool> is_defined;       ///< The agent was told that this process is a member.
  std::atomic<std::uint32_t> unseen;  ///< Number of communicators with these members that no
                                      ///< wrapper saw being made.
  Members* next;

  /// World rank of each member; -1 for processes of other worlds. In memory, the table comes
  /// directly after this object.
  std::int32_t* table() noexcept { return reinterpret_cast<std::int32_t*>(this + 1); }
  const std::int32_t* table() const noexcept {
    return reinterpret_cast<const std::int32_t*>(this + 1);
  }

  /// Returns the world rank of the member `rank_here`. Returns kNoPeer for a process of another
  /// world, MPI_PROC_NULL, MPI_ROOT, or a number out of range.
  std::int32_t world_rank(std::int32_t rank_here) const noexcept {
    if (rank_here < 0 || rank_here >= size) return kNoPeer;
    return is_world_order ? rank_here : table()[rank_here];
  }
};

struct CommEntry {
  std::atomic<Word> key{0};  ///< The handle; 0 in a free entry.
  const Members* members = nullptr;
  std::uint32_t identity = 0;  ///< See kCommWorld in ring.h.
  /// Number of the next collective call. Only one thread at a time may call a collective on a
  /// communicator, so no atomic addition is needed. kUncertain if a collective has failed here,
  /// because it may have succeeded on other ranks.
  mutable std::atomic<std::uint32_t> collectives{0};
  /// Number of the next communicator that is made from this one. kUncertain if such a call has
  /// failed.
  mutable std::atomic<std::uint32_t> children{0};
  static constexpr std::uint32_t kUncertain = 0xffffffff;
};

/// How a communicator was made. It is equal in all its processes, except `members`.
struct Origin {
  enum class Kind : std::uint8_t {
    kUnseen = 0,     ///< No wrapper saw how it was made.
    kChild = 1,      ///< It is child `number` of `parent`.
    kByMembers = 2,  ///< It is numbered among those with the same `tag` and members.
    kUnknown = 3,    ///< It gets no identity.
  };
  Kind kind = Kind::kUnseen;
  std::uint32_t parent = kNoComm;
  std::uint32_t number = 0;
  std::uint64_t tag = 0;
  const Members* members = nullptr;  ///< Of a copy: those of the original. Else null.
};

/// The map has room for at most kCommSets * kCommWays communicators at the same time. Calls on
/// further communicators are recorded without communicator and peer, and collective calls also
/// without bytes.
constexpr std::uint32_t kCommSets = 1024;
constexpr std::uint32_t kCommWays = 8;

/// Maximum size of all rank tables together. The memory is taken from the system in blocks, when
/// needed.
constexpr std::uint64_t kMembersBytes = 256u << 20;
constexpr std::uint64_t kMembersBlockBytes = 256u << 10;

/// Call begin() once; then any thread may call the other functions.
class CommMap {
 public:
  /// Adds MPI_COMM_WORLD and MPI_COMM_SELF. Call it when MPI is initialised. `from_start` is false
  /// if communicators may have been made before. Then all communicators count as unseen. Returns
  /// false if there is no memory; then every communicator is unknown.
  bool begin(std::int32_t world_rank, std::int32_t world_size, bool from_start = true) noexcept;

  /// Finds the communicator that was passed to a wrapper. Returns null for MPI_COMM_NULL, and for a
  /// communicator that cannot be added, for example because the map has no room.
  const CommEntry* find(Word comm) noexcept {
    const Word key = comm & handle_mask_;
    return __builtin_expect(key == world_key_, 1) ? world_ : find_other(key);
  }

  /// Like find(), but returns null for a communicator that is not in the map, and never calls MPI.
  /// So it may be used before the real call, whose communicator may be invalid.
  const CommEntry* find_known(Word comm) noexcept {
    const Word key = comm & handle_mask_;
    if (__builtin_expect(key == world_key_, 1)) return world_;
    CommEntry* const set = set_of(key);
    for (CommEntry* at = set; at != set + kCommWays; ++at) {
      if (at->key.load(std::memory_order_acquire) == key && key != 0) return at;
    }
    return nullptr;
  }

  /// Call it when a call has succeeded that makes communicators from `parent`, or has started to
  /// make one, in the order of these calls. Also if this process gets MPI_COMM_NULL.
  Origin next_child(Word parent) noexcept;
  /// A call that makes communicators from `parent` has failed. It may have succeeded elsewhere, so
  /// later children of this parent get no identity.
  void lose_children(Word parent) noexcept;
  /// The same for a call that has no parent, or whose communicator will not be seen: later
  /// communicators that are numbered by their members get no identity.
  void lose_unseen() noexcept { has_missed_one_ = true; }
  /// A call that makes communicators was not followed: no later communicator gets an identity.
  void lose_all() noexcept { has_lost_count_ = true; }
  /// A request may have completed unseen, so its handle may stand for another request now.
  void note_unseen_completion() noexcept { has_unseen_completion_ = true; }
  bool has_unseen_completion() const noexcept { return has_unseen_completion_; }

  /// Adds `comm`, which MPI has just made, and defines it. Ignores MPI_COMM_NULL.
  void add(Word comm, const Origin& origin) noexcept;

  /// In a map of windows: adds a window of `comm`, which MPI has just made. find_known() finds it
  /// with the identity and the members of `comm`. If there is no room, it stays unknown.
  void add_window(Word window, const CommEntry& comm) noexcept;

  /// Removes `comm`, which is about to be freed.
  void forget(Word comm) noexcept;

 private:
  const CommEntry* find_other(Word key) noexcept;
  CommEntry* set_of(Word key) noexcept {
    const std::uint64_t mixed = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15u;
    return &entries_[(mixed >> 32) % kCommSets * kCommWays];
  }
  const CommEntry* learn(Word key, const Origin& origin) noexcept;
  Members* members_of(Word key, const Origin& origin) noexcept;
  std::uint32_t identity_of(Members& members, const Origin& origin) noexcept;
  std::uint32_t next_of(std::uint64_t sequence) noexcept;
  CommEntry* room_in_set_of(Word key) noexcept;
  Members* members_of(Word comm) noexcept;
  Members* intern(Members& candidate) noexcept;
  Members* room_for(std::int32_t size) noexcept;
  CommEntry* put(Word key, const Members* members, std::uint32_t identity) noexcept;

  CommEntry entries_[kCommSets * kCommWays];
  const CommEntry* world_ = nullptr;  // Entry of MPI_COMM_WORLD, which most calls use. Null before
                                      // begin().
  Word world_key_ = 0;
  Word handle_mask_ = 0;
  Members* known_ = nullptr;        // All rank tables, newest first.
  unsigned char* block_ = nullptr;  // Block for the next table; its first `used_` bytes are in use.
  std::uint64_t block_bytes_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t taken_ = 0;  // Size of all blocks.
  std::int32_t world_size_ = 0;
  bool from_start_ = true;
  // For BoundedLock. Not a SharedState: its mutex waits without limit, but an error handler of MPI
  // may leave learn() by an exception or a jump, and the lock is then never released.
  LockState locked_{};
  std::atomic<bool> has_overflowed_{false};  // A communicator has got an identity, but no room.
  std::atomic<bool> has_missed_one_{false};  // One should have been numbered by its members.
  std::atomic<bool> has_lost_count_{false};  // See lose_all().
  std::atomic<bool> has_unseen_completion_{false};

  // The communicators made so far without a parent, by tag and members. Never emptied.
  struct Sequence {
    std::uint64_t key = 0;  // 0: free.
    std::uint32_t count = 0;
  };
  static constexpr std::uint32_t kMaxSequences = 4096;
  Sequence sequences_[kMaxSequences] = {};
};

/// The maps of this process. Windows are apart, so that many windows leave room for communicators.
extern CommMap comms [[gnu::visibility("hidden")]];
extern CommMap windows [[gnu::visibility("hidden")]];

}  // namespace xylem::capture
