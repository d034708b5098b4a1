#pragma once

// A record of a ring, or what is made like one, on its way into windows and chunks.

#include <cstdint>

#include "base/clock.h"
#include "capture/ring.h"
#include "wire/chunk.h"

namespace xylem::backend {

/// A record and its times on the run's clock; begin_ns <= end_ns, both >= 0.
struct TimedRecord {
  capture::Record record;
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
};

/// The same as a chunk holds it. `thread` is the ring it came from: what the record itself says of
/// that is the process's word. A completion stands for no call.
wire::Event event_of(const TimedRecord& timed, std::uint32_t thread);

}  // namespace xylem::backend
