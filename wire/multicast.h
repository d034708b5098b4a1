#pragma once

// What a tool sends down a stream. It travels whole from the front end to the nodes directly above
// leaves, which keep it whole for children that attach later; each of them sends a leaf of its own
// that leaf's share (filters/multicast_cut.h).

#include <cstdint>

#include "base/ids.h"
#include "base/interval_set.h"
#include "wire/packet.h"

namespace xylem::wire {

/// What of a multicast is in a frame.
enum class MulticastShare : std::uint16_t {
  kWhole = 0,    ///< All of it: between nodes above leaves; to a leaf where nothing is cut.
  kPart = 1,     ///< What is for the one leaf in `leaves`.
  kNothing = 2,  ///< Nothing is for it: only the number, so that it does not miss one. No payload.
  kFailed = 3,   ///< What is for it could not be made: it has missed this number. No payload.
};

struct Multicast {
  StreamId stream{};
  std::uint64_t number = 0;  ///< From 1, by stream.
  IntervalSet leaves;        ///< Those of the stream; empty: all.
  Bytes payload;             ///< One Fields, see wire/waves.h.
  /// Those of them for whom it is, and among whom it is narrowed; only in a whole one. Empty: all
  /// of them; but in a stream with a narrowing nobody: there it is always said.
  IntervalSet to{};
  MulticastShare share = MulticastShare::kWhole;
  bool operator==(const Multicast&) const = default;
};

/// A leaf missed the multicasts [first, end) of a stream: nobody kept them for it, or what was for
/// it could not be made.
struct MulticastGap {
  StreamId stream{};
  LeafId leaf{};
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  bool operator==(const MulticastGap&) const = default;
};

}  // namespace xylem::wire
