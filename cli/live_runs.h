#pragma once

// Finds the live runs of this host and their files, which front ends note in their folders.

#include <string>
#include <vector>

#include "base/result.h"

namespace xylem {

struct LiveRun {
  std::string id;    ///< Of the run.
  std::string file;  ///< That is being written; absolute.
};

/// Writes `file` down in the front end's folder of the run, mode 0600, in place of what stands
/// there. Without such a folder (no /dev/shm, say), or where it cannot be written, nothing: the run
/// is then found by its file only.
void note_live_run(const std::string& run, const std::string& file);

/// This user's runs whose front end is on this host, by id. One that was killed with all its
/// processes counts until its folder is swept.
std::vector<LiveRun> live_runs();

/// The one that is meant by the begin of an id; by "" the only one. Fails with kNotFound when there
/// is none, and with kInvalidArgument and their names when there are several.
Result<LiveRun> find_live_run(const std::string& wanted, const std::vector<LiveRun>& runs);

}  // namespace xylem
