#pragma once

// What every store does with a packet before it decides whether it is new: is the identity
// possible, and what does the payload say. Values in, values out; no store is touched.

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

/// A payload that means nothing: stored as a loss of unknown size, with the reason.
struct Defect {
  std::string reason;
};

/// What a payload says. An empty payload is a window in which the sources had nothing to tell.
using Content = std::variant<wire::Registration, wire::ProfileWindow, wire::ChunkSummary,
                             wire::SeriesSample, wire::Tombstone, Defect>;

/// Whether the run's configuration names it.
constexpr bool is_stored_stream(StreamId stream) {
  return raw(stream) >= raw(wire::kFirstStoredStream);
}

/// Fails with kInvalidArgument on a stream that is neither the monitor's nor the run's, and on an
/// identity that no leaf can have made: no sources, a leaf that is none, an empty or too large
/// range, a chunk of several leaves or of no process, a sample of several leaves or of no service,
/// a stream's account of several leaves, a stream's wave of a process or of more leaves than there
/// can be.
Result<void> check_identity(const wire::PacketId& id);

/// Opens the payload as far as a store needs it; a chunk's columns stay closed. A window or a
/// tombstone that tells of a leaf which is not among its sources is a Defect, and so are a chunk
/// whose number of events is not the length of its range and a sample that is not one, or that its
/// service has not taken.
Content open_payload(const wire::Packet& packet);

/// What is to be done about sources of which `known` are stored already.
PutOutcome judge_sources(const IntervalSet& sources, const IntervalSet& known);

/// The same for a chunk's range of records: all, none or a part of it in `known`.
PutOutcome judge_range(const wire::PacketId& id, const IntervalSet& known);

/// "1-3,7" back to a set; the inverse of IntervalSet::to_string. Fails with kCorrupt.
Result<IntervalSet> parse_intervals(const std::string& text);

}  // namespace xylem::storage
