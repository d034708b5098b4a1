#pragma once

// Reads the findings of a run (findings.h) from the run's file.

#include "base/result.h"
#include "storage/read/findings.h"
#include "storage/read/query.h"

namespace xylem::storage {

/// Reads the findings of a live or finished run. The times come from the sums of functions
/// (`function_total`) and from `rank`:
/// - A rank begins when it was first watched, plus its time in MPI_Init.
/// - A rank ends when it was last watched, or with the end of its last call if this is earlier,
///   minus its time in MPI_Finalize. Without stored events, only the window of the last call is
///   known. If a process then runs on for long after MPI_Finalize, its end is up to a window too
///   late.
///
/// The times in slices come from the windows of the run's largest world, in at most 200 slices. A
/// slice has at least one window. In a world of more than 1024 ranks, neighbouring ranks share a
/// row, and the row's mean counts as the time of each of them. So an imbalance that moves faster
/// than slices or within a row is underestimated, never overestimated.
///
/// `waits` are the wait states of the run (RunFile::wait_states()). They say who waits for whom and
/// why. If it is null, and for worlds without known waits, waits are estimates: the time in calls
/// that received from a rank (`wait_matrix`). Such a call also takes the time that it needs to copy
/// the data, and collectives and sends are not in the estimate.
///
/// Wait states cost about 0.2 s for a million events, so callers choose:
/// - `xylem report` always computes them, in the same answer that lists them.
/// - `xylem run` computes them at the end, for at most 1.5 s. Then it takes the estimate.
/// - `xylem view` and `xylem top` take the estimate while the run is in progress. Of a run that has
///   ended, they compute the wait states once, in the background (viz/stored_waits.h).
///
/// Fails if the file cannot be read (see RunFile::query).
Result<Findings> read_findings(RunFile& run, const WaitStates* waits);

}  // namespace xylem::storage
