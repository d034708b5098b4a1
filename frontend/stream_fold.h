#pragma once

// Merges waves of a run's streams for the store, because the store itself does not use filters.

#include <memory>
#include <vector>

#include "base/result.h"
#include "launch/fold_mark.h"
#include "storage/write/store.h"
#include "wire/stream.h"

namespace xylem::frontend {

/// Makes an object that merges waves of these streams. The object's only state is the filters, so
/// any thread may call it. If `mark` is given, it is set while a plugin is loaded or called. The
/// mark is shared with the code that loads the plugins. With a mark, only one thread at a time may
/// call the object. Fails if filters::aggregation_of() fails for a stream.
Result<std::shared_ptr<const storage::StreamFold>> make_stream_fold(
    const std::vector<wire::StreamSpec>& streams, std::shared_ptr<launch::FoldMark> mark = nullptr);

/// Returns the facts about streams that the store records.
std::vector<storage::StreamFacts> stream_facts(const std::vector<wire::StreamSpec>& streams);

}  // namespace xylem::frontend
