#pragma once

// Makes the filters that a stream's specification asks for.

#include <memory>

#include "base/result.h"
#include "filters/aggregation.h"
#include "filters/multicast_cut.h"
#include "filters/stream_reducer.h"
#include "wire/stream.h"

namespace xylem::filters {

/// Makes the stream's aggregation, built in or from its plugin; null if the stream has none. Fails
/// like make_aggregation() and load_aggregation(), and with kCorrupt if its parameters cannot be
/// read.
Result<std::shared_ptr<const Aggregation>> aggregation_of(const wire::StreamSpec& spec);

/// Makes the stream's narrowing in the same way; null if the stream has none. Every node of the
/// stream makes it, also leaves. So a node that cannot make it is found when the stream is opened;
/// this matters because a communication process may be started on any host.
NodeNarrowing narrowing_of(const wire::StreamSpec& spec);

ReducerOptions reducer_options(const wire::StreamSpec& spec);

}  // namespace xylem::filters
