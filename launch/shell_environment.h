#pragma once

// The shell commands that enter and leave the environment of `xylem serve`.

#include <string>
#include <vector>

#include "launch/launch.h"

namespace xylem::launch {

/// Lines that export `environment`, and the id of the process that serves as XYLEM_SERVE_PID. The
/// previous values of these variables in `current` (NAME=VALUE strings) are exported as
/// XYLEM_SERVE_BEFORE, so that lines_to_leave() can restore them.
std::string lines_to_enter(const Environment& environment, int serving_pid,
                           const std::vector<std::string>& current);

/// Lines that restore every variable to its value before lines_to_enter(); empty if `current` was
/// not entered. Lists keep later additions: only `capture_library` is removed from LD_PRELOAD, and
/// only our variables from Open MPI's list of those to forward. Nested environments are left one at
/// a time, the inner one first.
std::string lines_to_leave(const std::vector<std::string>& current,
                           const std::string& capture_library);

}  // namespace xylem::launch
