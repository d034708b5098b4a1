#pragma once

// A root that stores each packet once. add_up() computes sums over the stored packets.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "backend/agent/agent.h"
#include "wire/chunk.h"
#include "wire/profile.h"
#include "wire/registration.h"
#include "wire/tombstone.h"

namespace xylem::testing {

/// Stores each packet once: the copy that arrives first.
class FakeRoot {
 public:
  void take(const wire::Packet& packet) {
    const backend::PacketKey key = backend::key_of(packet.id);
    stored.emplace(key, packet);
    unacknowledged.push_back(packet.id);
    ++received;
  }

  std::map<backend::PacketKey, wire::Packet> stored;
  std::vector<wire::PacketId> unacknowledged;
  std::size_t received = 0;
};

/// Sums over all packets that the root has stored.
struct StoredSums {
  std::map<std::pair<Lane, FunctionId>, std::uint64_t> calls;
  std::map<Lane, wire::AccountRow> accounts;
  /// How often each event is stored; the key is the event's request.
  std::map<std::uint64_t, int> requests;
  std::uint64_t window_calls = 0;
  std::uint64_t given_up_window_calls = 0;
  std::uint64_t event_calls = 0;
  std::uint64_t given_up_event_calls = 0;
  std::uint64_t messages = 0;
  std::size_t last_windows = 0;
  std::size_t undecodable = 0;
};

inline StoredSums add_up(const FakeRoot& root) {
  StoredSums sums;
  for (const auto& [key, packet] : root.stored) {
    if (packet.tombstone) {
      const auto tombstone = wire::decode_tombstone(packet.payload);
      sums.undecodable += tombstone ? 0 : 1;
      if (tombstone && key.stream == wire::kWindowStream)
        sums.given_up_window_calls += tombstone->calls;
      if (tombstone && key.stream == wire::kChunkStream)
        sums.given_up_event_calls += tombstone->calls;
    } else if (key.stream == wire::kWindowStream) {
      const auto window = wire::decode_profile_window(packet.payload);
      sums.undecodable += window ? 0 : 1;
      sums.last_windows += packet.last ? 1 : 0;
      if (!window) continue;
      for (const auto& row : window->rows) {
        sums.calls[{row.lane, row.function}] += row.calls;
        sums.window_calls += row.calls;
      }
      for (const auto& row : window->matrix) sums.messages += row.messages;
      // The last wave counts.
      for (const auto& row : window->accounts) sums.accounts[row.lane] = row;
    } else if (key.stream == wire::kChunkStream) {
      const auto events = wire::decode_chunk(packet.payload);
      sums.undecodable += events ? 0 : 1;
      if (!events) continue;
      for (const auto& event : *events) {
        ++sums.requests[event.request];
        sums.event_calls += event.calls;
      }
    }
  }
  return sums;
}

}  // namespace xylem::testing
