#pragma once

// What stands in for a packet that was given up.
//
// A packet that is given up takes along what it told of the calls in it. The account must not go
// with it: a process that has ended tells its counters once, in its last window. So the tombstone
// of a window carries the window's accounts, and whose its calls were:
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
  std::uint64_t calls = 0;  ///< Of a series or a stream: samples, or waves.
  /// Of a window: whose calls they were, a row for each process, ordered as the window's rows.
  /// Their sum is `calls`, except in tombstones of versions before 0.3, which have no rows.
  std::vector<LaneCalls> lanes{};
  /// Of a window: the accounts in it, which count as if it had come.
  std::vector<AccountRow> accounts{};
  bool operator==(const Tombstone&) const = default;
};

/// A flat Cap'n Proto segment.
Bytes encode(const Tombstone& tombstone);
/// Fails with kCorrupt: on bytes that are no tombstone, a row of no process (lane 0). Allocates at
/// most about ten times the bytes.
Result<Tombstone> decode_tombstone(std::span<const std::byte> payload);

/// False of state, which is small and which an account needs: registrations and the accounts of
/// streams. False of tombstones.
bool may_be_given_up(const Packet& packet);

/// What stands in for `packet`, with its identity and `last`. `calls` is what is lost with it, as
/// its sender counted. Lanes and accounts come out of the payload of a window; a payload that
/// cannot be read gives none. `packet` is no tombstone.
Packet make_tombstone(const Packet& packet, std::string reason, std::uint64_t calls);
/// The same, with the calls counted in the payload: for those who have only received the packet.
Packet make_tombstone(const Packet& packet, std::string reason);

}  // namespace xylem::wire
