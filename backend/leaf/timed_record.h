#pragma once

// A record of a ring, or of an event source, on its way into windows and chunks.

#include <cstdint>

#include "base/clock.h"
#include "base/ids.h"
#include "capture/core/ring.h"
#include "wire/chunk.h"

namespace xylem::backend {

static_assert(raw(wire::kNoComm) == capture::kNoComm);

/// A record, and its times on the run's clock. 0 <= begin_ns <= end_ns.
struct TimedRecord {
  capture::Record record;
  Nanos begin_ns = 0;
  Nanos end_ns = 0;

  CommId comm() const noexcept { return CommId{record.comm}; }
  ThreadIndex thread() const noexcept { return ThreadIndex{record.thread}; }
};

/// Makes the event that a chunk stores for this record. `thread` is the number of the record's
/// ring; the field Record::thread is not trusted. A completion record represents no call.
inline wire::Event event_of(const capture::Record& from, Nanos begin_ns, Nanos end_ns,
                            ThreadIndex thread) {
  wire::Event event;
  event.begin_ns = begin_ns;
  event.end_ns = end_ns;
  event.request = from.request;
  event.bytes = from.bytes;
  event.comm = CommId{from.comm};
  event.peer = from.peer;
  event.tag = from.tag;
  event.result = from.result;
  event.calls = from.kind == capture::RecordKind::kCompletion ? 0 : from.calls;
  event.thread = thread;
  event.number = from.number;
  event.function = FunctionId{from.function};
  event.kind = static_cast<std::uint8_t>(from.kind);
  event.flags = from.flags;
  return event;
}

inline wire::Event event_of(const TimedRecord& timed, ThreadIndex thread) {
  return event_of(timed.record, timed.begin_ns, timed.end_ns, thread);
}

}  // namespace xylem::backend
