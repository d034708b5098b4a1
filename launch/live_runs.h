#pragma once

// Finds the live runs of this host and their files. Each front end writes the path of its run's
// file to a note in its folder.

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace xylem::launch {

struct LiveRun {
  std::string id;    ///< The run's id.
  std::string file;  ///< Absolute path of the run's file. The run has begun to write this file.
};

/// Writes the path `file` to a note in the run's front-end folder, with mode 0600. Replaces an
/// earlier note. Does nothing if there is no such folder, for example without /dev/shm, or if the
/// folder cannot be written. Then users can find the run only by the path of its file.
void note_live_run(const std::string& run, const std::string& file);

/// This user's runs whose front end is on this host, sorted by id. A run whose processes were all
/// killed is not live, even while its folder is still there. Runs with `--test-size` have no note.
std::vector<LiveRun> live_runs();

/// The run whose id begins with `wanted`; "": the only run. Fails with kNotFound when no run
/// matches. When several match, fails with kInvalidArgument and lists them.
Result<LiveRun> find_live_run(const std::string& wanted, const std::vector<LiveRun>& runs);

/// Like find_live_run(), for this host. If no run is live and `wanted` is empty, waits up to
/// `patience` for a run to begin. Calls `on_wait` once before it waits. It does not wait for a run
/// with an id, since nobody knows an id before its run has begun. `runs` returns the live runs. A
/// signal ends the process as usual.
Result<LiveRun> await_live_run(const std::string& wanted, Nanos patience,
                               const std::function<void()>& on_wait,
                               const std::function<std::vector<LiveRun>()>& runs = live_runs);

}  // namespace xylem::launch
