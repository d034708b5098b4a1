#include "capture/request_table_internal.h"

namespace xylem::capture {
namespace {

constexpr Word kFree = 0;
constexpr Word kClaimed = 1;

}  // namespace

// MPICH numbers handles from below, Open MPI's are addresses: multiply, then take the upper bits.
RequestSet& RequestTable::set_of(Word key) noexcept {
  const std::uint64_t mixed = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15u;
  return sets_[(mixed >> 32) % kRequestSets];
}

std::atomic<Word>& RequestTable::key_of(TrackedRequest* request) noexcept {
  const auto offset = static_cast<std::uint64_t>(reinterpret_cast<unsigned char*>(request) -
                                                 reinterpret_cast<unsigned char*>(sets_));
  RequestSet& set = sets_[offset / sizeof(RequestSet)];
  return set.keys[request - set.requests];
}

TrackedRequest* RequestTable::insert(Word key, bool shared) noexcept {
  RequestSet& set = set_of(key);
  std::uint32_t vacant = kRequestWays;
  for (std::uint32_t way = 0; way < kRequestWays; ++way) {
    const Word there = set.keys[way].load(std::memory_order_acquire);
    if (there == key) return &set.requests[way];
    if (there == kFree && vacant == kRequestWays) vacant = way;
  }
  for (std::uint32_t way = vacant; way < kRequestWays; ++way) {
    Word expected = kFree;
    if (!shared) {
      if (set.keys[way].load(std::memory_order_relaxed) != kFree) continue;
      set.keys[way].store(kClaimed, std::memory_order_relaxed);
      return &set.requests[way];
    }
    if (set.keys[way].compare_exchange_strong(expected, kClaimed, std::memory_order_acquire))
      return &set.requests[way];
  }
  return nullptr;
}

void RequestTable::publish(TrackedRequest* request, Word key) noexcept {
  key_of(request).store(key, std::memory_order_release);
}

TrackedRequest* RequestTable::find(Word key) noexcept {
  RequestSet& set = set_of(key);
  for (std::uint32_t way = 0; way < kRequestWays; ++way) {
    if (set.keys[way].load(std::memory_order_acquire) == key) return &set.requests[way];
  }
  return nullptr;
}

TrackedRequest* RequestTable::claim(Word key) noexcept {
  TrackedRequest* found = find(key);
  if (found != nullptr) key_of(found).store(kClaimed, std::memory_order_relaxed);
  return found;
}

void RequestTable::release(TrackedRequest* request) noexcept {
  key_of(request).store(kFree, std::memory_order_release);
}

}  // namespace xylem::capture
