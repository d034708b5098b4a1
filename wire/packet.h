#pragma once

// The unit that travels up the tree and is journalled, stored and acknowledged; and its identity,
// by which every node recognises it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"

namespace xylem::wire {

using Bytes = std::vector<std::byte>;

/// In Acknowledgement.resend: all packets of these sources that are not acknowledged. A node that
/// has a new parent asks its subtree for them.
constexpr StreamId kEveryStream{0};
/// The monitor's own streams. Streams of tools are numbered from kFirstToolStream on.
constexpr StreamId kRegistrationStream{1};
constexpr StreamId kWindowStream{2};
constexpr StreamId kChunkStream{3};
constexpr StreamId kSeriesStream{4};
/// How many waves a leaf has sent on the run's streams: see kAccountStreams in wire/stream.h.
constexpr StreamId kStreamAccountStream{5};
constexpr StreamId kFirstToolStream{100};
/// Streams that a run's configuration names, which its front end stores. Those of a tool that has a
/// front end of its own have lower numbers.
constexpr StreamId kFirstStoredStream{0x80000000};

/// A window's wave holds the number of its time slice and of its part (a slice that is sealed early
/// continues in the next part).
constexpr std::uint64_t kWindowPartBits = 12;
constexpr std::uint64_t window_wave(std::uint64_t slice, std::uint64_t part) {
  return slice << kWindowPartBits | part;
}
constexpr std::uint64_t window_slice(std::uint64_t wave) { return wave >> kWindowPartBits; }

/// Identity. Two packets with equal stream, lane and wave carry the same contributions of the
/// sources that they share.
struct PacketId {
  StreamId stream{};
  /// Not kLeafLane: one process of a single leaf (chunks), or one service of it (series).
  Lane lane = kLeafLane;
  /// A chunk: number of its first record in its process; a series: of its sample in its service.
  std::uint64_t wave = 0;
  std::uint64_t wave_end = 0;  ///< A chunk or series: one past its last; else wave + 1.
  IntervalSet sources;         ///< Leaf ids.

  bool operator==(const PacketId&) const = default;
};

struct Packet {
  PacketId id;
  bool alone = false;      ///< Resent: nodes forward it unchanged and never merge it.
  bool tombstone = false;  ///< Replaces a packet that was given up; see wire/tombstone.h.
  bool last = false;       ///< Its source sends nothing more on this stream.
  Bytes payload;

  Packet() = default;
  Packet(PacketId identity, Bytes bytes) : id(std::move(identity)), payload(std::move(bytes)) {}
  bool operator==(const Packet&) const = default;
};

/// Whether this is the last packet of its source: an agent's last window, or the last account of a
/// program that sends waves.
inline bool is_end(const Packet& packet) {
  return packet.last &&
         (packet.id.stream == kWindowStream || packet.id.stream == kStreamAccountStream);
}

}  // namespace xylem::wire
