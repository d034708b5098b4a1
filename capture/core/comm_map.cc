// An identity is a hash of parent and members, plus the number of the communicator. So
// communicators that a program makes again and again from one parent get successive identities,
// which are never equal. Two of n other communicators are equal with a probability of n^2 / 2^33.

#include <sys/mman.h>

#include "capture/core/comm_map_internal.h"
#include "capture/core/communicator_definition_internal.h"
#include "capture/core/definition_writer_internal.h"
#include "capture/core/process_internal.h"

namespace xylem::capture {

// Static, because MPI's functions have no argument for state, and a communicator's handle is valid
// in the whole process.
constinit CommMap comms{};
constinit CommMap windows{};
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}

std::uint64_t hash_of(const std::int32_t* ranks, std::int32_t size) {
  std::uint64_t hash = mix(0x9e3779b97f4a7c15u, static_cast<std::uint64_t>(size));
  for (std::int32_t r = 0; r < size; ++r) hash = mix(hash, static_cast<std::uint32_t>(ranks[r]));
  return hash;
}

// Tags of sequences; see Origin.
constexpr std::uint64_t kUnseenTag = 1ull << 48;
constexpr std::uint64_t kChildTag = 2ull << 48;

// The hashes of Members, from those of its groups; `remote` is 0 for an intracommunicator.
void set_hash(Members& members, std::uint64_t local, std::uint64_t remote) {
  members.is_second = members.is_inter && local > remote;
  members.hash = local < remote ? mix(local, remote) : mix(remote, local);
  members.own_hash = mix(mix(local, remote), members.is_inter);
}

// The `number`-th identity of a sequence.
std::uint32_t identity_in(std::uint64_t sequence, std::uint32_t number) {
  constexpr std::uint32_t kReserved = 3;  // kCommWorld, kCommSelf and kNoComm.
  constexpr std::uint64_t kIdentities = (1ull << 32) - kReserved;
  const std::uint64_t first = mix(0x9e3779b97f4a7c15u, sequence) >> 16;
  return static_cast<std::uint32_t>((first + number) % kIdentities) + kCommSelf + 1;
}

// A group of MPI. Its handle is a pointer in Open MPI and an int in MPICH; a Word has room for
// both.
struct Group {
  Word handle = 0;
  int size = 0;

  bool of(std::uint16_t function, Word comm) noexcept {
    return call_mpi(function, comm, &handle) == 0 && call_mpi(kMPI_Group_size, handle, &size) == 0;
  }
  ~Group() {
    if (handle != 0) call_mpi(kMPI_Group_free, &handle);
  }
};

// Writes the world ranks of the group's members to `into`. `scratch` has room for as many ranks.
bool translate(const Group& group, const Group& world, std::int32_t* scratch, std::int32_t* into) {
  for (std::int32_t r = 0; r < group.size; ++r) scratch[r] = r;
  if (call_mpi(kMPI_Group_translate_ranks, group.handle, group.size, scratch, world.handle, into) !=
      0) {
    return false;
  }
  for (std::int32_t r = 0; r < group.size; ++r) {
    if (into[r] == process.abi.undefined) into[r] = kNoPeer;
  }
  return true;
}

}  // namespace

bool CommMap::begin(std::int32_t world_rank, std::int32_t world_size, bool from_start) noexcept {
  const BoundedLock locked(locked_);
  if (!locked) return false;
  world_size_ = world_size;
  from_start_ = from_start;
  Members* world = room_for(world_size);
  Members* self = room_for(1);
  if (world == nullptr || self == nullptr) return false;
  world->size = world_size;
  world->local_size = world_size;
  world->rank = world_rank;
  for (std::int32_t r = 0; r < world_size; ++r) world->table()[r] = r;
  set_hash(*world, hash_of(world->table(), world_size), 0);
  self->size = 1;
  self->local_size = 1;
  self->table()[0] = world_rank;
  set_hash(*self, hash_of(self->table(), 1), 0);
  handle_mask_ = process.abi.handle_mask;
  world_key_ = process.abi.comm_world;
  world_ = put(world_key_, intern(*world), kCommWorld);
  put(process.abi.comm_self, intern(*self), kCommSelf);
  return true;
}

const CommEntry* CommMap::find_other(Word key) noexcept {
  CommEntry* const set = set_of(key);
  for (CommEntry* at = set; at != set + kCommWays; ++at) {
    if (at->key.load(std::memory_order_acquire) == key) return at;
  }
  return world_ == nullptr ? nullptr : learn(key, Origin{});
}

Origin CommMap::next_child(Word parent) noexcept {
  if (!from_start_) return {};
  const CommEntry* const entry = find(parent);
  Origin origin{Origin::Kind::kUnknown};
  if (entry == nullptr || entry->identity == kNoComm) return origin;
  // Only one thread at a time may make communicators from a communicator.
  const std::uint32_t number = entry->children.load(std::memory_order_relaxed);
  if (number == CommEntry::kUncertain) return origin;
  entry->children.store(number + 1, std::memory_order_relaxed);
  return {Origin::Kind::kChild, entry->identity, number, 0, nullptr};
}

void CommMap::lose_children(Word parent) noexcept {
  const CommEntry* const entry = find_known(parent);
  if (entry == nullptr) return lose_unseen();
  entry->children.store(CommEntry::kUncertain, std::memory_order_relaxed);
}

void CommMap::add(Word comm, const Origin& origin) noexcept {
  const Word key = comm & process.abi.handle_mask;
  if (world_ == nullptr || key == 0 || key == process.abi.comm_null) return;
  forget(key);  // MPI may reuse a handle whose communicator was freed unnoticed.
  learn(key, origin);
}

void CommMap::add_window(Word window, const CommEntry& comm) noexcept {
  const Word key = window & process.abi.handle_mask;
  if (key == 0) return;
  const BoundedLock locked(locked_);
  if (!locked) return;
  handle_mask_ = process.abi.handle_mask;
  forget(key);  // MPI may reuse a handle whose window was freed unnoticed.
  put(key, comm.members, comm.identity);
}

void CommMap::forget(Word comm) noexcept {
  const Word key = comm & process.abi.handle_mask;
  CommEntry* const set = set_of(key);
  for (CommEntry* at = set; at != set + kCommWays; ++at) {
    if (at->key.load(std::memory_order_acquire) == key) at->key.store(0, std::memory_order_release);
  }
}

CommEntry* CommMap::room_in_set_of(Word key) noexcept {
  CommEntry* const set = set_of(key);
  for (CommEntry* at = set; at != set + kCommWays; ++at) {
    if (at->key.load(std::memory_order_acquire) == 0) return at;
  }
  return nullptr;
}

CommEntry* CommMap::put(Word key, const Members* members, std::uint32_t identity) noexcept {
  CommEntry* const room = room_in_set_of(key);
  if (room == nullptr) return nullptr;
  room->members = members;
  room->identity = identity;
  room->collectives.store(0, std::memory_order_relaxed);
  room->children.store(0, std::memory_order_relaxed);
  room->key.store(key, std::memory_order_release);
  return room;
}

const CommEntry* CommMap::learn(Word key, const Origin& origin) noexcept {
  if (key == 0 || key == process.abi.comm_null) return nullptr;
  const bool is_unseen = origin.kind == Origin::Kind::kUnseen;
  // It probably has an identity. This avoids calls of MPI at each use.
  if (is_unseen && has_overflowed_ && room_in_set_of(key) == nullptr) return nullptr;
  const CommEntry* entry = nullptr;
  Members* members = nullptr;
  std::uint32_t identity = kNoComm;
  {
    const BoundedLock locked(locked_);
    CommEntry* const set = set_of(key);
    for (CommEntry* at = set; locked && at != set + kCommWays; ++at) {
      if (at->key.load(std::memory_order_acquire) == key) return at;  // By another thread.
    }
    members = locked ? members_of(key, origin) : nullptr;
    if (members == nullptr) {
      lose_unseen();  // At its first use it would count as unseen.
      return nullptr;
    }
    identity = identity_of(*members, origin);
    entry = put(key, members, identity);
    if (entry == nullptr) has_overflowed_ = true;
  }
  if (identity != kNoComm) define(key, identity, *members, origin.parent);
  return entry;
}

// A copy has the members of its original. Open MPI needs seconds to find those of 65,536 ranks.
Members* CommMap::members_of(Word key, const Origin& origin) noexcept {
  return origin.members != nullptr ? const_cast<Members*>(origin.members) : members_of(key);
}

std::uint32_t CommMap::identity_of(Members& members, const Origin& origin) noexcept {
  if (has_lost_count_) return kNoComm;
  switch (origin.kind) {
    case Origin::Kind::kChild:
      return identity_in(mix(mix(kChildTag, origin.parent), members.hash), origin.number);
    case Origin::Kind::kByMembers: {
      const std::uint64_t sequence = mix(origin.tag, members.hash);
      const std::uint32_t number = next_of(sequence);
      if (has_missed_one_ || number == CommEntry::kUncertain) return kNoComm;
      return identity_in(sequence, number);
    }
    case Origin::Kind::kUnseen: {
      if (has_overflowed_) return kNoComm;
      const std::uint32_t number = members.unseen.fetch_add(1, std::memory_order_relaxed);
      if (has_missed_one_) return kNoComm;
      return identity_in(mix(kUnseenTag, members.hash), number);
    }
    case Origin::Kind::kUnknown:
      break;
  }
  return kNoComm;
}

// kUncertain: there is no room for a further sequence.
std::uint32_t CommMap::next_of(std::uint64_t sequence) noexcept {
  const std::uint64_t key = sequence == 0 ? 1 : sequence;
  for (std::uint32_t tries = 0; tries < kMaxSequences; ++tries) {
    Sequence& at = sequences_[(key + tries) % kMaxSequences];
    if (at.key == 0) at.key = key;
    if (at.key == key) return at.count++;
  }
  return CommEntry::kUncertain;
}

Members* CommMap::members_of(Word comm) noexcept {
  int is_inter = 0;
  Group local, remote, world;
  if (call_mpi(kMPI_Comm_test_inter, comm, &is_inter) != 0) return nullptr;
  if (!local.of(kMPI_Comm_group, comm) || !world.of(kMPI_Comm_group, process.abi.comm_world)) {
    return nullptr;
  }
  if (is_inter != 0 && !remote.of(kMPI_Comm_remote_group, comm)) return nullptr;

  const std::int32_t max_size = local.size > remote.size ? local.size : remote.size;
  const std::size_t bytes = 2 * sizeof(std::int32_t) * static_cast<std::size_t>(max_size);
  auto* ranks = static_cast<std::int32_t*>(take_memory(bytes));
  if (ranks == nullptr) return nullptr;
  Members* candidate = room_for(max_size);
  Members* found = nullptr;
  const std::uint64_t before = used_;
  if (candidate != nullptr && translate(local, world, ranks, ranks + max_size)) {
    const std::uint64_t local_hash = hash_of(ranks + max_size, local.size);
    std::uint64_t remote_hash = 0;
    call_mpi(kMPI_Comm_rank, comm, &candidate->rank);
    candidate->local_size = local.size;
    candidate->is_inter = is_inter != 0;
    bool known = true;
    if (is_inter != 0) {
      known = translate(remote, world, ranks, ranks + max_size);
      remote_hash = hash_of(ranks + max_size, remote.size);
    }
    if (known) {
      candidate->size = is_inter != 0 ? remote.size : local.size;
      for (std::int32_t r = 0; r < candidate->size; ++r)
        candidate->table()[r] = ranks[max_size + r];
      set_hash(*candidate, local_hash, remote_hash);
      found = intern(*candidate);
    }
  }
  if (found != candidate && candidate != nullptr && used_ == before) {
    used_ = static_cast<std::uint64_t>(reinterpret_cast<unsigned char*>(candidate) - block_);
    const std::size_t taken = sizeof(Members) + static_cast<std::size_t>(max_size) * 4;
    __builtin_memset(static_cast<void*>(candidate), 0, taken);
  }
  munmap(ranks, bytes);
  return found;
}

Members* CommMap::intern(Members& candidate) noexcept {
  for (Members* at = known_; at != nullptr; at = at->next) {
    if (at->own_hash == candidate.own_hash && at->size == candidate.size &&
        at->rank == candidate.rank) {
      return at;
    }
  }
  candidate.is_world_order = candidate.size == world_size_;
  for (std::int32_t r = 0; r < candidate.size && candidate.is_world_order; ++r)
    candidate.is_world_order = candidate.table()[r] == r;
  candidate.next = known_;
  known_ = &candidate;
  return &candidate;
}

Members* CommMap::room_for(std::int32_t size) noexcept {
  const std::uint64_t bytes =
      (sizeof(Members) + static_cast<std::uint64_t>(size) * sizeof(std::int32_t) + 7) / 8 * 8;
  if (used_ + bytes > block_bytes_) {
    const std::uint64_t wanted = bytes < kMembersBlockBytes ? kMembersBlockBytes : bytes;
    if (taken_ + wanted > kMembersBytes) return nullptr;
    auto* block = static_cast<unsigned char*>(take_memory(wanted));
    if (block == nullptr) return nullptr;
    block_ = block;
    block_bytes_ = wanted;
    used_ = 0;
    taken_ += wanted;
  }
  auto* members = reinterpret_cast<Members*>(block_ + used_);
  used_ += bytes;
  return members;
}

}  // namespace xylem::capture
