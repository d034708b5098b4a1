#pragma once

// The substitute for a packet that was given up.
//
// A packet that is given up takes its calls with it. Its accounts must not be lost: a process that
// has ended reports its final counters only once, in its last window. So the tombstone of a window
// carries the window's accounts and the number of calls of each process:
//
//   window   rows (lane 1: 30 calls, lane 2: 12) | matrix | waits | accounts (lane 2: ended)
//   its tombstone       lane 1: 30, lane 2: 12   |                | accounts (lane 2: ended)
//
// The tombstone of a chunk needs no more than its number of calls: its identity names the process.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "wire/packet.h"
#include "wire/profile.h"

namespace xylem::wire {

/// How many calls of a process were in a window.
struct LaneCalls {
  LeafId leaf{};
  Lane lane{};
  std::uint64_t calls = 0;
  bool operator==(const LaneCalls&) const = default;
};

struct Tombstone {
  std::string reason;
  std::uint64_t calls = 0;  ///< For a series, samples; for a stream, waves.
  /// For a window: the calls of each process, in the order of the window's rows. Their sum is
  /// `calls`, except in tombstones of versions before 0.3, which have no rows.
  std::vector<LaneCalls> lanes{};
  /// For a window: its accounts, which count as if the window had arrived.
  std::vector<AccountRow> accounts{};
  bool operator==(const Tombstone&) const = default;
};

/// A flat Cap'n Proto segment.
Bytes encode(const Tombstone& tombstone);
/// Fails with kCorrupt: bytes that are not a tombstone, a row with lane 0 (no process). Allocates
/// at most about ten times the bytes.
Result<Tombstone> decode_tombstone(std::span<const std::byte> payload);

/// False for state that is small and that the account needs (registrations and the accounts of
/// streams), and for tombstones.
bool may_be_given_up(const Packet& packet);

/// The tombstone of `packet`, with its identity and `last`. `calls` is the sender's count of the
/// lost calls. Lanes and accounts come from a window's payload; an unreadable payload gives none.
/// `packet` must not be a tombstone.
Packet make_tombstone(const Packet& packet, std::string reason, std::uint64_t calls);
/// The same, with the calls counted from the payload: for nodes that only received the packet.
Packet make_tombstone(const Packet& packet, std::string reason);

}  // namespace xylem::wire
