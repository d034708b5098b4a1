#include "backend/timed_record.h"

namespace xylem::backend {

wire::Event event_of(const TimedRecord& timed, std::uint32_t thread) {
  const capture::Record& from = timed.record;
  wire::Event event;
  event.begin_ns = timed.begin_ns;
  event.end_ns = timed.end_ns;
  event.request = from.request;
  event.bytes = from.bytes;
  event.comm = from.comm;
  event.peer = from.peer;
  event.tag = from.tag;
  event.result = from.result;
  event.calls = from.kind == capture::RecordKind::kCompletion ? 0 : from.calls;
  event.thread = thread;
  event.function = FunctionId{from.function};
  event.kind = static_cast<std::uint8_t>(from.kind);
  event.flags = from.flags;
  return event;
}

}  // namespace xylem::backend
