#pragma once

// The shell commands that enter and leave the environment of `xylem serve`.

#include <string>
#include <vector>

#include "launch/launch.h"

namespace xylem::launch {

/// Lines that export `environment` and two more variables. XYLEM_SERVE_PID is
/// `serving_pid`, the process id of `xylem serve`. XYLEM_SERVE_BEFORE has the previous values of
/// all these variables, from `current` (NAME=VALUE strings), so that lines_to_leave() can restore
/// them.
std::string lines_to_enter(const Environment& environment, int serving_pid,
                           const std::vector<std::string>& current);

/// Lines that restore every variable to its value before lines_to_enter(); empty if `current` has
/// no such environment. Lists keep what was added later: only `capture_library` is removed from
/// LD_PRELOAD, and only our variables are removed from Open MPI's list of variables to forward. If
/// environments are nested, the lines leave only the innermost one.
std::string lines_to_leave(const std::vector<std::string>& current,
                           const std::string& capture_library);

}  // namespace xylem::launch
