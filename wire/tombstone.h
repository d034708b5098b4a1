#pragma once

// A tombstone replaces a packet that was given up.
//
// The calls of the packet are lost, but the accounts in the packet must not be lost. A process that
// has ended reports its final counters only once, in its last window. So the tombstone of a window
// carries the window's accounts and the number of calls of each process:
//
//   window   rows (lane 1: 30 calls, lane 2: 12) | matrix | waits | accounts (lane 2: ended)
//   its tombstone       lane 1: 30, lane 2: 12   |                | accounts (lane 2: ended)
//
// The tombstone of a chunk needs only the number of calls, because its identity names the process.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "wire/packet.h"
#include "wire/profile.h"

namespace xylem::wire {

/// Number of calls of a process in a window.
struct LaneCalls {
  LeafId leaf{};
  Lane lane{};
  std::uint64_t calls = 0;
  bool operator==(const LaneCalls&) const = default;
};

struct Tombstone {
  std::string reason;
  /// Number of lost calls. For a series, the number of lost samples. For a tool's stream, the
  /// number of lost waves.
  std::uint64_t calls = 0;
  /// For a window: the calls of each process, in the order of the window's rows. Their sum is
  /// `calls`. Tombstones of versions before 0.3 have no rows.
  std::vector<LaneCalls> lanes{};
  /// For a window: the window's accounts. They count as if the window had arrived.
  std::vector<AccountRow> accounts{};
  bool operator==(const Tombstone&) const = default;
};

/// Encodes a tombstone as a flat Cap'n Proto segment.
Bytes encode(const Tombstone& tombstone);
/// Fails with kCorrupt if the bytes are not a tombstone or if a row has lane 0 (no process).
/// Allocates at most about ten times the bytes.
Result<Tombstone> decode_tombstone(std::span<const std::byte> payload);

/// Returns false for tombstones, registrations and stream accounts. Registrations and stream
/// accounts are small, and the run's account needs them.
bool may_be_given_up(const Packet& packet);

/// Makes the tombstone of `packet`, with the same identity, `alone` and `last`. `calls` is the
/// number of lost calls, counted by the sender. If the packet is a window, `lanes` and `accounts`
/// come from the payload. If the payload is unreadable, both stay empty. `packet` must not be a
/// tombstone.
Packet make_tombstone(const Packet& packet, std::string reason, std::uint64_t calls);
/// Makes the same tombstone, but counts the calls in the payload. Use it in nodes that have only
/// received the packet.
Packet make_tombstone(const Packet& packet, std::string reason);

}  // namespace xylem::wire
