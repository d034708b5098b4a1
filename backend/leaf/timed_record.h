#pragma once

// A record of a ring, or of an event source, on its way into windows and chunks. A ring has times
// in ticks of the host's counter. The reader converts them to the run's clock once (run_clock.h),
// so windows and chunks have the same times.

#include <cstdint>

#include "base/clock.h"
#include "base/ids.h"
#include "capture/core/ring.h"
#include "wire/chunk.h"

namespace xylem::backend {

static_assert(raw(wire::kNoComm) == capture::kNoComm);

/// A record, and its times on the run's clock. 0 <= begin_ns <= end_ns.
struct TimedRecord {
  /// A copy: its process may overwrite the one in the ring.
  capture::Record record;
  /// Since the run's epoch.
  Nanos begin_ns = 0;
  Nanos end_ns = 0;

  CommId comm() const noexcept { return CommId{record.comm}; }
  ThreadIndex thread() const noexcept { return ThreadIndex{record.thread}; }
};

/// Makes the event that a chunk stores for this record. `thread` is the number of the record's
/// ring; the field Record::thread is not trusted. All other fields are copied unchecked. A
/// completion record represents no call, so its event has 0 calls.
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

/// The same with the record's times.
inline wire::Event event_of(const TimedRecord& timed, ThreadIndex thread) {
  return event_of(timed.record, timed.begin_ns, timed.end_ns, thread);
}

}  // namespace xylem::backend
