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
  /// Number of the record's ring.
  ThreadIndex thread{};

  CommId comm() const noexcept { return CommId{record.comm}; }
};

/// Makes the event that a chunk stores for this record. `thread` is the number of the record's
/// ring. The fields are copied unchecked. A part represents no call, so its event has 0 calls.
inline wire::Event event_of(const capture::Record& from, Nanos begin_ns, Nanos end_ns,
                            ThreadIndex thread) {
  constexpr std::uint16_t kNotStored = capture::kRecordPart | capture::kRecordFailed;
  const bool is_part = capture::is_part(from);
  const bool is_collective = (from.flags & capture::kRecordCollective) != 0;
  wire::Event event;
  event.begin_ns = begin_ns;
  event.end_ns = end_ns;
  event.request = from.request;
  event.bytes = from.bytes;
  event.room = (from.flags & capture::kRecordFailed) != 0 ? 0 : std::uint64_t{from.room};
  event.comm = CommId{from.comm};
  event.peer = from.peer;
  event.tag = is_collective ? wire::kNoTag : from.tag;
  event.result = capture::result_of(from);
  event.calls = is_part ? 0 : from.calls;
  event.thread = thread;
  event.number = from.number;
  event.function = FunctionId{static_cast<std::uint16_t>(from.function)};
  event.flags = static_cast<std::uint16_t>(from.flags & ~kNotStored);
  event.cpu = from.cpu;
  event.kind = is_part ? wire::kKindCompletion : static_cast<std::uint8_t>(from.kind);
  const bool reduces = is_collective && from.tag != capture::kNoTag;
  event.operation = reduces ? static_cast<std::uint8_t>(from.tag) : wire::kNoOperation;
  return event;
}

/// The same with the record's times.
inline wire::Event event_of(const TimedRecord& timed) {
  return event_of(timed.record, timed.begin_ns, timed.end_ns, timed.thread);
}

}  // namespace xylem::backend
