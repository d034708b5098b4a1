#pragma once

// Finds the files of runs in a folder, and reads the few facts about a run that a list shows.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace xylem::storage {

/// A run as one line of a list.
struct RunSummary {
  std::string run_id, command, user;
  std::string host;                 ///< The host of the front end.
  Nanos started_realtime_ns = 0;    ///< Nanoseconds since 1970.
  std::optional<Nanos> elapsed_ns;  ///< nullopt: the end of the run is not stored.
  std::optional<int> exit_code;
  std::uint64_t ranks = 0, hosts = 0;  ///< Registered so far.
};

/// The paths of all runs in `folder`, sorted by name. Looks at the first bytes of each file,
/// whatever its name, and does not look into subfolders. Leaves out the file STORE.before-RUN,
/// which keeps an earlier run for a moment while `--overwrite` replaces it. A file with damage
/// behind its first bytes is listed too. Fails with kNotFound, kPermissionDenied or
/// kInvalidArgument when the folder cannot be read.
Result<std::vector<std::string>> find_run_files(const std::string& folder);

/// Reads the summary of a run, live or finished. Takes a few seconds at most. Fails like
/// RunFile::open() and RunFile::query(), and with kCorrupt if the file has no run.
Result<RunSummary> summarize_run(const std::string& path);

}  // namespace xylem::storage
