#pragma once

// Makes the filters of a stream from the stream's specification.

#include <memory>

#include "base/result.h"
#include "filters/aggregation.h"
#include "filters/multicast_cut.h"
#include "filters/stream_reducer.h"
#include "wire/stream.h"

namespace xylem::filters {

/// Makes the stream's aggregation, built in or from its plugin; null if the stream has no
/// aggregation. Fails if make_aggregation() or load_aggregation() fails. Fails with kCorrupt if the
/// parameters cannot be decoded.
Result<std::shared_ptr<const Aggregation>> aggregation_of(const wire::StreamSpec& spec);

/// Makes the stream's narrowing in the same way; null if the stream has no narrowing. Every node of
/// the stream makes the narrowing, even if it does not use it. So a host that cannot load the
/// plugin is found when the stream is opened, before a communication process is started there.
NodeNarrowing narrowing_of(const wire::StreamSpec& spec);

ReducerOptions reducer_options(const wire::StreamSpec& spec);

}  // namespace xylem::filters
