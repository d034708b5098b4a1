#pragma once

// The file with which `xylem serve` hands its environment to `xylem exec`, for launchers that pass
// no environment to ranks.

#include <string>

#include "base/result.h"
#include "launch/launch.h"

namespace xylem::launch {

/// Writes the variables to the file `path`, one NAME=VALUE a line, with mode 0600, since one of
/// them is the run's key. Replaces an existing file in one step, so that nobody reads half of it.
/// Fails if write_text_file() (base/text_file.h) fails; then an existing file is unchanged.
Result<void> write_environment_file(const std::string& path, const Environment& environment);

/// Reads such a file. Lines without `=` are skipped. Fails with kNotFound if there is no such file,
/// and with kPermissionDenied if it cannot be read, belongs to another user, or if other users may
/// open it.
Result<Environment> read_environment_file(const std::string& path);

}  // namespace xylem::launch
