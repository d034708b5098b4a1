#include <sys/mman.h>

#include "capture/core/request_table_internal.h"
#include "capture/core/system_internal.h"

namespace xylem::capture {

// Static, because MPI's functions have no argument for state. Any thread may complete a request
// that another thread has posted.
constinit RequestTable requests{};

bool NumberQueue::push(std::uint64_t number) noexcept {
  if (size_ == room_) {
    if (room_ == kMaxNumbers) return false;
    const std::uint32_t room = room_ == 0 ? kFirstRoom : 2 * room_;
    auto* larger = static_cast<std::uint64_t*>(take_memory(room * sizeof(std::uint64_t)));
    if (larger == nullptr) return false;
    for (std::uint32_t i = 0; i < size_; ++i) larger[i] = numbers_[(first_ + i) % room_];
    if (numbers_ != nullptr) ::munmap(numbers_, room_ * sizeof(std::uint64_t));
    numbers_ = larger;
    room_ = room;
    first_ = 0;
  }
  numbers_[(first_ + size_) & (room_ - 1)] = number;
  ++size_;
  return true;
}

std::uint64_t NumberQueue::pop() noexcept {
  const std::uint64_t oldest = numbers_[first_];
  first_ = (first_ + 1) & (room_ - 1);
  --size_;
  return oldest;
}

TrackedRequest* RequestTable::take_way(RequestSet& set, Word key) noexcept {
  const std::uint32_t used = set.used.load(std::memory_order_relaxed);
  std::uint32_t vacant = used;
  for (std::uint32_t way = 0; way < used; ++way) {
    const Word there = set.keys[way].load(std::memory_order_acquire);
    if (there == key) return &set.requests[way];
    if (there == kFree && vacant == used) vacant = way;
  }
  if (vacant == kRequestWays) return nullptr;
  if (vacant == used) set.used.store(used + 1, std::memory_order_relaxed);
  set.keys[vacant].store(kClaimed, std::memory_order_relaxed);
  TrackedRequest& taken = set.requests[vacant];
  taken.way = static_cast<std::uint8_t>(vacant);
  taken.kind = RequestKind::kMessage;  // Not plain.
  return &taken;
}

TrackedRequest* RequestTable::insert(Word key, bool shared) noexcept {
  RequestSet& set = set_of(key);
  if (!shared) return replace(set, key);
  const BoundedLock lock(set.locked);
  return lock ? replace(set, key) : nullptr;
}

TrackedRequest* RequestTable::replace(RequestSet& set, Word key) noexcept {
  TrackedRequest* const taken = take_way(set, key);
  if (taken != nullptr && taken->kind == RequestKind::kPlain && taken->later != nullptr)
    taken->later->clear();
  return taken;
}

bool RequestTable::insert_plain(Word key, std::uint64_t number, bool shared) noexcept {
  RequestSet& set = set_of(key);
  if (!shared) return add_plain(set, key, number);
  const BoundedLock lock(set.locked);
  return lock && add_plain(set, key, number);
}

bool RequestTable::add_plain(RequestSet& set, Word key, std::uint64_t number) noexcept {
  TrackedRequest* const taken = take_way(set, key);
  if (taken == nullptr) return false;
  std::atomic<Word>& published = set.keys[taken->way];
  if (published.load(std::memory_order_relaxed) == key) {
    if (taken->kind == RequestKind::kPlain) {
      queue(*taken, number);
      return true;
    }
    message_numbers.forget(taken->posted);
  }
  taken->kind = RequestKind::kPlain;
  taken->posted = {};
  taken->number = number;
  published.store(key, std::memory_order_release);
  return true;
}

void RequestTable::queue(TrackedRequest& request, std::uint64_t number) noexcept {
  if (request.later == nullptr) {
    const std::uint32_t place = used_queues_.fetch_add(1, std::memory_order_relaxed);
    if (place < kQueues) {
      request.later = &queues_[place];
    } else {
      used_queues_.store(kQueues, std::memory_order_relaxed);
    }
  }
  if (request.later != nullptr && request.later->push(number)) return;
  // The oldest makes room, because its completion was probably not seen.
  request.number = number;
  if (request.later != nullptr && !request.later->is_empty()) {
    request.number = request.later->pop();
    request.later->push(number);
  }
}

ClaimedRequest RequestTable::claim_locked(Word key) noexcept {
  RequestSet& set = set_of(key);
  if (const BoundedLock lock(set.locked); lock) return claim_way(set, key);
  give_up();  // The completion is not seen.
  return {};
}

std::uint64_t RequestTable::number_of(Word key, bool shared) noexcept {
  if (has_given_up()) return 0;
  if (!shared) {
    const TrackedRequest* const found = find(key);
    return found == nullptr ? 0 : found->number;
  }
  const BoundedLock lock(set_of(key).locked);
  const TrackedRequest* const found = lock ? find(key) : nullptr;
  return found == nullptr ? 0 : found->number;
}

}  // namespace xylem::capture
