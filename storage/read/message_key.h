#pragma once

// The key that identifies a message of a run, and the events that are its ends. The send and the
// receive of a message have the same key, because both processes count the messages of a channel in
// the same order (capture/core/message_numbers_internal.h).

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
  /// Identity of the communicator, equal on all its ranks.
  CommId comm = wire::kNoComm;
  /// Ranks of the world, not of the communicator.
  Rank source{}, destination{};
  std::int32_t tag = wire::kNoTag;
  /// Counted from 0 in each channel, in the order of MPI's matching.
  std::uint32_t number = 0;
  auto operator<=>(const MessageKey&) const = default;
};

/// Hashes all fields. Keys come from other processes: a program that chooses its tags for it can
/// make many keys collide. Only its own run then becomes slower.
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

/// True if the event has sent a message and says to which rank.
inline bool sends(const wire::Event& event) {
  return (event.flags & wire::kEventSend) != 0 && event.peer >= 0;
}

/// True if the event has received a message and says from which rank. An event that only posts a
/// receive, such as MPI_Irecv, does not count.
inline bool receives(const wire::Event& event) {
  return (event.flags & wire::kEventReceive) != 0 && event.peer >= 0;
}

}  // namespace xylem::storage
