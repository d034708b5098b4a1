#pragma once

// A packet is the unit that travels up the tree and is journalled, stored and acknowledged. Every
// node recognises a packet by its PacketId.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"

namespace xylem::wire {

using Bytes = std::vector<std::byte>;

/// Used only in Acknowledgement::resend, to request all unacknowledged packets of the given
/// sources. A node that has a new parent sends this request to its subtree.
constexpr StreamId kEveryStream{0};
/// The monitor's own streams. Numbers of tools' streams start at kFirstToolStream.
constexpr StreamId kRegistrationStream{1};
constexpr StreamId kWindowStream{2};
constexpr StreamId kChunkStream{3};
constexpr StreamId kSeriesStream{4};
/// The number of waves that a leaf has sent on each stream of the run; see kAccountStreams in
/// wire/stream.h.
constexpr StreamId kStreamAccountStream{5};
constexpr StreamId kFirstToolStream{100};
/// First number of the streams that the run's configuration names. The front end stores these
/// streams. Streams of a tool's tree have lower numbers.
constexpr StreamId kFirstStoredStream{0x80000000};

/// The wave of a window packet combines the number of a time slice and the number of a part. If the
/// window of a slice is sent early, the rest of the slice is the next part.
constexpr std::uint64_t kWindowPartBits = 12;
constexpr std::uint64_t window_wave(std::uint64_t slice, std::uint64_t part) {
  return slice << kWindowPartBits | part;
}
constexpr std::uint64_t window_slice(std::uint64_t wave) { return wave >> kWindowPartBits; }

/// Identity of a packet. If two packets have the same stream, lane and wave, they carry the same
/// contributions of their common sources.
struct PacketId {
  StreamId stream{};
  /// For a chunk: the leaf's process. For a series: the leaf's service. Else kLeafLane.
  Lane lane = kLeafLane;
  /// For a chunk: number of the chunk's first event; the events of a process are counted from 0.
  /// For a series: number of the sample. For a tool's stream: number of the first wave.
  std::uint64_t wave = 0;
  /// For a chunk, a series or a tool's stream: number of the last event, sample or wave, plus 1.
  /// Else `wave` + 1.
  std::uint64_t wave_end = 0;
  IntervalSet sources;  ///< Leaf ids.

  bool operator==(const PacketId&) const = default;
};

struct Packet {
  PacketId id;
  /// True if resent: nodes forward the packet unchanged and never merge it.
  bool alone = false;
  /// True if this packet replaces a packet that was given up (wire/tombstone.h).
  bool tombstone = false;
  bool last = false;  ///< True if the source sends nothing more on this stream.
  Bytes payload;

  Packet() = default;
  Packet(PacketId identity, Bytes bytes) : id(std::move(identity)), payload(std::move(bytes)) {}
  bool operator==(const Packet&) const = default;
};

/// Returns true for the last packet of a source. This is the last window of an agent, or the last
/// stream account of a program.
inline bool is_end(const Packet& packet) {
  return packet.last &&
         (packet.id.stream == kWindowStream || packet.id.stream == kStreamAccountStream);
}

}  // namespace xylem::wire
