#pragma once

// What a shell evaluates to enter the environment of `xylem serve`, and to leave it again.

#include <string>
#include <vector>

#include "launch/launch.h"

namespace xylem::launch {

/// Lines that export `environment`, and the id of the process that serves as XYLEM_SERVE_PID. How
/// these variables were in `current` (NAME=VALUE strings) is exported too, as XYLEM_SERVE_BEFORE,
/// so that whoever leaves finds them again.
std::string lines_to_enter(const Environment& environment, int serving_pid,
                           const std::vector<std::string>& current);

/// Lines that make every variable what it was before lines_to_enter(); empty when `current` was not
/// entered. Lists keep what else has been put into them since: `capture_library` is taken out of
/// LD_PRELOAD, and the names of the variables out of Open MPI's list of those to forward. One entry
/// inside another is left alone, the inner one first.
std::string lines_to_leave(const std::vector<std::string>& current,
                           const std::string& capture_library);

}  // namespace xylem::launch
