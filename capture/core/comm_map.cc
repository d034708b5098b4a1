// A communicator's identity must be equal in all its processes, although they do not exchange it.
// All members make the communicator together. So they agree on its members and on the number of
// earlier communicators with the same members: identity = hash(members, number). For an
// intercommunicator the hash covers both groups, the one with the smaller hash first. So each
// communicator must be counted exactly once, also if the map has no room for it. If one could not
// be counted, all later ones get no identity, because it might be that of another communicator in
// other processes.

#include <sys/mman.h>

#include "capture/core/bounded_lock_internal.h"
#include "capture/core/comm_map_internal.h"
#include "capture/core/process_internal.h"

namespace xylem::capture {

// Static, because MPI's functions have no argument for state, and a communicator's handle is valid
// in the whole process.
constinit CommMap comms{};
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

std::uint32_t identity_of(const Members& members, std::uint32_t made) {
  const auto identity = static_cast<std::uint32_t>(mix(members.hash, made) >> 16);
  const bool reserved = identity <= kCommSelf || identity == kNoComm;
  return reserved ? kCommSelf + 1 + made % 1000 : identity;
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

bool CommMap::begin(std::int32_t world_rank, std::int32_t world_size) noexcept {
  const BoundedLock locked(locked_);
  if (!locked) return false;
  world_size_ = world_size;
  Members* world = room_for(0);
  Members* self = room_for(1);
  if (world == nullptr || self == nullptr) return false;
  world->size = world_size;
  world->local_size = world_size;
  world->rank = world_rank;
  world->is_world_order = true;
  self->size = 1;
  self->local_size = 1;
  self->table()[0] = world_rank;
  handle_mask_ = process.abi.handle_mask;
  world_key_ = process.abi.comm_world;
  world_ = put(world_key_, world, kCommWorld);
  put(process.abi.comm_self, self, kCommSelf);
  return true;
}

const CommEntry* CommMap::find_other(Word key) noexcept {
  CommEntry* const set = set_of(key);
  for (CommEntry* at = set; at != set + kCommWays; ++at) {
    if (at->key.load(std::memory_order_acquire) == key) return at;
  }
  return world_ == nullptr ? nullptr : learn(key, Origin::kUnknown);
}

void CommMap::add(Word comm) noexcept {
  const Word key = comm & process.abi.handle_mask;
  if (world_ != nullptr) {
    forget(key);  // MPI may reuse a handle whose communicator was freed unnoticed.
    learn(key, Origin::kJustMade);
  }
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
  room->key.store(key, std::memory_order_release);
  return room;
}

const CommEntry* CommMap::learn(Word key, Origin origin) noexcept {
  if (key == 0 || key == process.abi.comm_null) return nullptr;
  const bool is_new = origin == Origin::kJustMade;
  // It was probably counted when it was made. This avoids calls of MPI at each use.
  if (!is_new && has_overflowed_ && room_in_set_of(key) == nullptr) return nullptr;
  const BoundedLock locked(locked_);
  if (!locked) {
    if (is_new) has_missed_one_ = true;
    return nullptr;
  }
  CommEntry* const set = set_of(key);
  for (CommEntry* at = set; at != set + kCommWays; ++at) {
    if (at->key.load(std::memory_order_acquire) == key) return at;  // Another thread has added it.
  }
  Members* members = members_of(key);
  if (members == nullptr) {
    if (is_new) has_missed_one_ = true;
    return nullptr;
  }
  std::uint32_t identity = kNoComm;
  if (is_new || !has_overflowed_) {
    const std::uint32_t made = members->made.fetch_add(1, std::memory_order_relaxed);
    if (!has_missed_one_) identity = identity_of(*members, made);
  }
  CommEntry* const entry = put(key, members, identity);
  if (entry == nullptr) has_overflowed_ = true;
  return entry;
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
      const std::uint64_t small = local_hash < remote_hash ? local_hash : remote_hash;
      const std::uint64_t large = local_hash < remote_hash ? remote_hash : local_hash;
      candidate->hash = mix(small, large);
      candidate->own_hash = mix(mix(local_hash, remote_hash), candidate->is_inter);
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
