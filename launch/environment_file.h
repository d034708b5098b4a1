#pragma once

// The file with which `xylem serve` hands its environment to `xylem exec`, for launchers that pass
// no environment to ranks.

#include <string>

#include "base/result.h"
#include "launch/launch.h"

namespace xylem::launch {

/// Writes the variables to the file `path`, one NAME=VALUE in each line. The file's mode is 0600,
/// since one variable is the run's key. An existing file is replaced in one step, so no reader sees
/// an incomplete file. Fails if write_text_file() (base/text_file.h) fails; then an existing file
/// is unchanged.
Result<void> write_environment_file(const std::string& path, const Environment& environment);

/// Reads a file of write_environment_file(). Lines without `=` are skipped. Fails with kNotFound if
/// the file does not exist. Fails with kPermissionDenied if the file cannot be read, belongs to
/// another user, or can be opened by other users.
Result<Environment> read_environment_file(const std::string& path);

}  // namespace xylem::launch
