#pragma once

// The streams of a run in one of its front ends. Plugins that crashed an earlier front end are
// neither loaded nor called.

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "launch/setup.h"
#include "storage/write/store.h"
#include "wire/stream.h"

namespace xylem::frontend {

struct RunStreams {
  /// All streams as configured. Every node of the tree gets them.
  std::vector<wire::StreamSpec> specs;
  /// The streams that `setup.unmerged_streams` lists.
  std::vector<wire::StreamSpec> unmerged;
  /// Merges the waves of the streams that are not in `unmerged`. Shared with the store.
  std::shared_ptr<const storage::StreamFold> fold;
};

/// Reads the streams of `setup.sections` and loads their plugins from the setup's copies of the
/// files. While a plugin is loaded or called, the setup's mark is set (launch::FoldMark). Takes
/// over the descriptor of the mark. The descriptors of the copies stay open, because `fold` uses
/// them. From now on no child process inherits these descriptors.
///
/// Fails if read_streams(), make_stream_fold() or FoldMark::of() fails.
Result<RunStreams> open_run_streams(const launch::Setup& setup);

/// Logs a warning for each unmerged stream, and stores it as a notice at `at_ns` of the run's time.
/// A negative time counts as 0. A notice that cannot be stored is not an error.
void record_unmerged(const RunStreams& streams, storage::Store& store, Nanos at_ns);

}  // namespace xylem::frontend
