#pragma once

// The shell commands that enter and leave the environment of `xylem serve`.

#include <string>
#include <vector>

#include "launch/launch.h"

namespace xylem::launch {

/// The variable that has the process id of `xylem serve` inside its environment.
constexpr const char* kEnvServePid = "XYLEM_SERVE_PID";

/// Returns lines that export `environment` and two more variables. kEnvServePid is
/// `serving_pid`, the process id of `xylem serve`. XYLEM_SERVE_BEFORE contains the previous values
/// of all these variables, so that lines_to_leave() can restore the values. The previous values
/// come from `current` (NAME=VALUE strings).
std::string lines_to_enter(const Environment& environment, int serving_pid,
                           const std::vector<std::string>& current);

/// Returns lines that restore every variable to its value before lines_to_enter(). Empty if
/// `current` is not inside an environment of `xylem serve`. Later additions to lists are kept. Only
/// `capture_library` is removed from LD_PRELOAD, and only our variables are removed from Open MPI's
/// list of variables to forward. If environments are nested, the lines leave only the innermost
/// environment.
std::string lines_to_leave(const std::vector<std::string>& current,
                           const std::string& capture_library);

}  // namespace xylem::launch
