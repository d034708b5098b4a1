#pragma once

// The checks that every store makes on a packet before it decides whether the packet is new. They
// find out whether the packet's identity is possible, and what its payload contains. They do not
// use a store.

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

/// An invalid payload. It is stored as a loss of unknown size, with the reason.
struct Defect {
  std::string reason;
};

/// The contents of a payload. An empty payload is a window in which the sources had no calls.
using Content = std::variant<wire::Registration, wire::ProfileWindow, wire::ChunkSummary,
                             wire::SeriesSample, wire::Tombstone, Defect>;

/// True for a stream that the run's configuration names.
constexpr bool is_stored_stream(StreamId stream) {
  return raw(stream) >= raw(wire::kFirstStoredStream);
}

/// Fails with kInvalidArgument if the stream is neither the monitor's nor the run's, or if no leaf
/// can have made this identity:
///  - no sources, an invalid leaf, an empty or too large range;
///  - a chunk of several leaves or of no process;
///  - a sample of several leaves or of no service;
///  - a stream account of several leaves;
///  - a wave of a run's stream from a process instead of a leaf, or from more leaves than possible.
Result<void> check_identity(const wire::PacketId& id);

/// Decodes the payload as far as a store needs it; the columns of a chunk are not decoded. The
/// result is a Defect if a window or tombstone has a leaf that is not among the packet's sources.
/// The result is a Defect if a chunk's number of events differs from the length of its range. A
/// series packet must have exactly one sample. The service must have taken a sample with this
/// number. Otherwise the result is a Defect.
Content open_payload(const wire::Packet& packet);

/// Decides what to do with a packet if the sources in `known` are already stored.
PutOutcome judge_sources(const IntervalSet& sources, const IntervalSet& known);

/// Decides what to do with a chunk if the records in `known` are already stored. `known` may have
/// all, some or none of the chunk's records.
PutOutcome judge_range(const wire::PacketId& id, const IntervalSet& known);

/// Parses "1-3,7" to a set; the inverse of IntervalSet::to_string. Fails with kCorrupt.
Result<IntervalSet> parse_intervals(const std::string& text);

}  // namespace xylem::storage
