#pragma once

// Makes the filters of a stream from the stream's specification.

#include <memory>

#include "base/result.h"
#include "filters/aggregation.h"
#include "filters/multicast_cut.h"
#include "filters/stream_reducer.h"
#include "wire/stream.h"

namespace xylem::filters {

/// Makes the stream's aggregation, which is built in or from a plugin; null if the stream has no
/// aggregation. Fails if make_aggregation() or load_aggregation() fails. Fails with kCorrupt if the
/// parameters cannot be decoded.
Result<std::shared_ptr<const Aggregation>> aggregation_of(const wire::StreamSpec& spec);

/// Makes the stream's narrowing, which is built in or from a plugin; null if the stream has no
/// narrowing. Every node of the stream calls this function, even if the node does not use the
/// narrowing. So if a host cannot load the plugin, this is found when the stream is opened, before
/// a node needs the narrowing there. Fails if make_narrowing() or load_narrowing() fails. Fails
/// with kCorrupt if the parameters cannot be decoded.
NodeNarrowing narrowing_of(const wire::StreamSpec& spec);

/// Returns the options for a StreamReducer of this stream. Values that `spec` does not have keep
/// their defaults.
ReducerOptions reducer_options(const wire::StreamSpec& spec);

}  // namespace xylem::filters
