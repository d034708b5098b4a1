#include "capture/core/request_table_internal.h"

namespace xylem::capture {

// Static, because MPI's functions have no argument for state. Any thread may complete a request
// that another thread has posted.
constinit RequestTable requests{};

TrackedRequest* RequestTable::insert(Word key, bool shared) noexcept {
  RequestSet& set = set_of(key);
  const std::uint64_t used = set.used.load(std::memory_order_acquire);
  std::uint64_t vacant = used;
  for (std::uint64_t way = 0; way < used; ++way) {
    const Word there = set.keys[way].load(std::memory_order_acquire);
    if (there == key) return &set.requests[way];
    if (there == kFree && vacant == used) vacant = way;
  }
  for (std::uint64_t way = vacant; way < kRequestWays; ++way) {
    Word expected = kFree;
    if (!shared) {
      if (set.keys[way].load(std::memory_order_relaxed) != kFree) continue;
      set.keys[way].store(kClaimed, std::memory_order_relaxed);
    } else if (!set.keys[way].compare_exchange_strong(expected, kClaimed,
                                                      std::memory_order_acquire)) {
      continue;
    }
    std::uint64_t before = set.used.load(std::memory_order_relaxed);
    while (before <= way && !set.used.compare_exchange_weak(before, way + 1)) {
    }
    set.requests[way].way = static_cast<std::uint8_t>(way);
    return &set.requests[way];
  }
  return nullptr;
}

}  // namespace xylem::capture
