#pragma once

// What a message is known by, and which events are its ends. Its send and its receive have the same
// key.

#include <compare>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "wire/chunk.h"

namespace xylem::storage {

/// A channel (world, communicator, sender, receiver and tag), and the number of the message in its
/// channel.
struct MessageKey {
  WorldId world{};
  CommId comm = wire::kNoComm;
  Rank source{}, destination{};
  std::int32_t tag = wire::kNoTag;
  std::uint32_t number = 0;
  auto operator<=>(const MessageKey&) const = default;
};

struct MessageKeyHash {
  std::size_t operator()(const MessageKey& key) const noexcept {
    const auto both = [](std::uint32_t high, std::uint32_t low) {
      return std::uint64_t{high} << 32 | low;
    };
    // Multiplication and shift, as in splitmix64: neighbouring numbers must not share buckets.
    std::uint64_t mixed = both(raw(key.world), raw(key.comm)) * 0x9e3779b97f4a7c15ull ^
                          both(raw(key.source), raw(key.destination));
    mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9ull ^
            both(static_cast<std::uint32_t>(key.tag), key.number);
    mixed = (mixed ^ mixed >> 32) * 0x94d049bb133111ebull;
    return static_cast<std::size_t>(mixed ^ mixed >> 31);
  }
};

/// True if the event says which rank it sends to.
inline bool sends(const wire::Event& event) {
  return (event.flags & wire::kEventSend) != 0 && event.peer >= 0;
}

/// True if the event says which rank it has received from.
inline bool receives(const wire::Event& event) {
  return (event.flags & wire::kEventReceive) != 0 && event.peer >= 0;
}

}  // namespace xylem::storage
