#pragma once

// Gives the store, which does not know filters, the function that merges waves of a run's streams.

#include <memory>
#include <vector>

#include "base/result.h"
#include "launch/fold_mark.h"
#include "storage/write/store.h"
#include "wire/stream.h"

namespace xylem::frontend {

/// Makes the fold of these streams. Fails as filters::aggregation_of() for the first stream that
/// fails. It has no state except the filters; any thread may call it. `mark`, if given, is set
/// while a plugin is loaded or called; then only one thread at a time.
Result<std::shared_ptr<const storage::StreamFold>> make_stream_fold(
    const std::vector<wire::StreamSpec>& streams, std::shared_ptr<launch::FoldMark> mark = nullptr);

/// The facts about them that the store records.
std::vector<storage::StreamFacts> stream_facts(const std::vector<wire::StreamSpec>& streams);

}  // namespace xylem::frontend
