#pragma once

// Finds the live runs of this host and their files, which front ends note in their folders.

#include <string>
#include <vector>

#include "base/result.h"

namespace xylem {

struct LiveRun {
  std::string id;    ///< The run's id.
  std::string file;  ///< The file that is being written; absolute.
};

/// Writes the name `file` to the front end's folder of the run, mode 0600, replacing an earlier
/// one. Does nothing without such a folder (no /dev/shm), or if it cannot be written: then the run
/// can be found by its file only.
void note_live_run(const std::string& run, const std::string& file);

/// This user's runs whose front end is on this host, by id. One that was killed with all its
/// processes counts until its folder is swept.
std::vector<LiveRun> live_runs();

/// The run whose id begins with the given text; "": the only run. Fails with kNotFound when there
/// is none, and with kInvalidArgument and their names when there are several.
Result<LiveRun> find_live_run(const std::string& wanted, const std::vector<LiveRun>& runs);

}  // namespace xylem
