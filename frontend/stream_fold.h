#pragma once

// What the store needs of filters, which it does not know: how waves of a run's streams become one.

#include <memory>
#include <vector>

#include "base/result.h"
#include "launch/fold_mark.h"
#include "storage/write/store.h"
#include "wire/stream.h"

namespace xylem::frontend {

/// For these streams. Fails as filters::aggregation_of() of the first that has none. No state but
/// the filters; any thread may call it. With a mark, which is set while a plugin is loaded and
/// around each call of it, one thread at a time.
Result<std::shared_ptr<const storage::StreamFold>> make_stream_fold(
    const std::vector<wire::StreamSpec>& streams, std::shared_ptr<launch::FoldMark> mark = nullptr);

/// What the store writes down of them.
std::vector<storage::StreamFacts> stream_facts(const std::vector<wire::StreamSpec>& streams);

}  // namespace xylem::frontend
