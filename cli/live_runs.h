#pragma once

// Finds the live runs of this host and their files. Each front end writes the path of its run's
// file to a note in its folder.

#include <string>
#include <vector>

#include "base/result.h"

namespace xylem {

struct LiveRun {
  std::string id;    ///< The run's id.
  std::string file;  ///< Absolute path of the run's file.
};

/// Writes the path `file` to a note in the run's front-end folder, with mode 0600. Replaces an
/// earlier note. Does nothing if there is no such folder, for example without /dev/shm, or if the
/// folder cannot be written. Then users can find the run only by the path of its file.
void note_live_run(const std::string& run, const std::string& file);

/// This user's runs whose front end is on this host, sorted by id. If all processes of a run were
/// killed, the run is listed until its folder is removed.
std::vector<LiveRun> live_runs();

/// The run whose id begins with `wanted`; "": the only run. Fails with kNotFound when no run
/// matches. When several match, fails with kInvalidArgument and lists them.
Result<LiveRun> find_live_run(const std::string& wanted, const std::vector<LiveRun>& runs);

}  // namespace xylem
