#pragma once

// Checks of packets, which all stores share: whether a packet's identity is possible, whether the
// packet is new, and what its payload contains. They do not read or write a store.

#include <cstdint>
#include <string>
#include <variant>

#include "base/interval_set.h"
#include "base/result.h"
#include "storage/write/store.h"
#include "wire/chunk.h"
#include "wire/packet.h"
#include "wire/profile.h"
#include "wire/registration.h"
#include "wire/tombstone.h"

namespace xylem::storage {

/// An invalid payload. It is stored as a loss, with the reason.
struct Defect {
  std::string reason;
};

/// The decoded contents of a payload. A window with an empty payload is a window in which the
/// sources made no calls.
using Content = std::variant<wire::Registration, wire::ProfileWindow, wire::ChunkSummary,
                             wire::SeriesSample, wire::Tombstone, Defect>;

/// True for a stream that the run's configuration names.
constexpr bool is_stored_stream(StreamId stream) {
  return raw(stream) >= raw(wire::kFirstStoredStream);
}

/// Checks the identity of a packet. Fails with kInvalidArgument if the stream is unknown, or in
/// these cases, which no correct leaf sends:
///  - no sources, an invalid leaf, an empty range, or a range that is too large;
///  - a chunk of several leaves or of no process;
///  - a sample of several leaves or of no service;
///  - a stream account of several leaves;
///  - a wave of a run's stream from a process instead of a leaf, or from more leaves than possible.
Result<void> check_identity(const wire::PacketId& id);

/// Decodes the payload of a registration, window, chunk, sample or tombstone, as far as a store
/// needs it. The columns of a chunk are not decoded. The result is a Defect if the payload cannot
/// be decoded, and in these cases:
/// - a window or tombstone has a leaf that is not among the packet's sources;
/// - a registration has several sources;
/// - the number of events of a chunk differs from the length of the packet's range;
/// - a series packet does not have exactly one sample, or the service has not taken this sample.
Content open_payload(const wire::Packet& packet);

/// Decides what to do with a packet if the sources in `known` are already stored.
PutOutcome judge_sources(const IntervalSet& sources, const IntervalSet& known);

/// Decides what to do with a chunk if the records in `known` are already stored. `known` may
/// contain all, some or none of the chunk's records.
PutOutcome judge_range(const wire::PacketId& id, const IntervalSet& known);

/// Parses text such as "1-3,7" to a set; the inverse of IntervalSet::to_string(). Fails with
/// kCorrupt if the text is invalid.
Result<IntervalSet> parse_intervals(const std::string& text);

}  // namespace xylem::storage
