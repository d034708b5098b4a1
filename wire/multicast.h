#pragma once

// A message from a tool down a stream. It travels whole from the front end to the nodes directly
// above leaves, which keep it for children that attach later. Each of these nodes sends each of its
// leaves that leaf's share (filters/multicast_cut.h).

#include <cstdint>

#include "base/ids.h"
#include "base/interval_set.h"
#include "wire/packet.h"

namespace xylem::wire {

/// The part of a multicast that a frame holds.
enum class MulticastShare : std::uint16_t {
  kWhole = 0,    ///< All of it: between nodes above leaves; to a leaf where nothing is cut.
  kPart = 1,     ///< What is for the one leaf in `leaves`.
  kNothing = 2,  ///< Nothing for this leaf: only the number, so that it sees no gap. No payload.
  kFailed = 3,   ///< This leaf's part could not be made: it misses this number. No payload.
};

struct Multicast {
  StreamId stream{};
  std::uint64_t number = 0;  ///< From 1, by stream.
  IntervalSet leaves;        ///< The stream's leaves; empty: all.
  Bytes payload;             ///< One Fields, see wire/waves.h.
  /// The recipients among `leaves`, over which it is narrowed; only in a kWhole. Empty: all of
  /// them. In a stream with a narrowing the recipients are always listed, so empty means none.
  IntervalSet to{};
  MulticastShare share = MulticastShare::kWhole;
  bool operator==(const Multicast&) const = default;
};

/// A leaf missed the multicasts [first, end) of a stream: no node kept them, or the leaf's part
/// could not be made.
struct MulticastGap {
  StreamId stream{};
  LeafId leaf{};
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  bool operator==(const MulticastGap&) const = default;
};

}  // namespace xylem::wire
