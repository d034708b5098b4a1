#pragma once

// The filters that a stream's specification asks for.

#include <memory>

#include "base/result.h"
#include "filters/aggregation.h"
#include "filters/multicast_cut.h"
#include "filters/stream_reducer.h"
#include "wire/stream.h"

namespace xylem::filters {

/// The stream's aggregation, built in or from its plugin; null when it has none. Fails as
/// make_aggregation() and load_aggregation() do, and with kCorrupt when its parameters cannot be
/// read.
Result<std::shared_ptr<const Aggregation>> aggregation_of(const wire::StreamSpec& spec);

/// The stream's narrowing, in the same way; null when it has none. Every node of the stream creates
/// it, leaves too, so that a node that cannot is found when the stream is opened: a communication
/// process may be started on any host.
NodeNarrowing narrowing_of(const wire::StreamSpec& spec);

ReducerOptions reducer_options(const wire::StreamSpec& spec);

}  // namespace xylem::filters
