#pragma once

// A multicast is a message that a tool sends down a stream. The nodes directly above leaves get the
// whole multicast and keep it for children that attach later. They send each leaf only the leaf's
// share (filters/multicast_cut.h).

#include <cstdint>

#include "base/ids.h"
#include "base/interval_set.h"
#include "wire/packet.h"

namespace xylem::wire {

/// Says which part of a multicast a message contains.
enum class MulticastShare : std::uint16_t {
  /// The whole multicast. Nodes send it to each other. A leaf gets it only if the stream has no
  /// narrowing and all leaves of the stream are recipients.
  kWhole = 0,
  kPart = 1,     ///< The part for the one leaf in `leaves`.
  kNothing = 2,  ///< The leaf gets no payload, only the number, so that it sees no gap.
  kFailed = 3,  ///< This leaf's part could not be made, so the leaf misses this number. No payload.
};

struct Multicast {
  StreamId stream{};
  std::uint64_t number = 0;  ///< Counted from 1 in each stream.
  IntervalSet leaves;        ///< The stream's leaves; empty: all leaves.
  Bytes payload;             ///< One encoded `Fields` object, see wire/waves.h.
  /// The recipients, a subset of `leaves`. Set only if `share` is kWhole. In a stream without a
  /// narrowing, empty means all leaves. A stream with a narrowing always lists its recipients, so
  /// empty means no leaf.
  IntervalSet to{};
  MulticastShare share = MulticastShare::kWhole;
  bool operator==(const Multicast&) const = default;
};

/// Reports that a leaf missed the multicasts [first, end) of a stream. Either no node had kept the
/// multicasts, or the leaf's part could not be made.
struct MulticastGap {
  StreamId stream{};
  LeafId leaf{};
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  bool operator==(const MulticastGap&) const = default;
};

}  // namespace xylem::wire
