#pragma once

// `xylem exec`.

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace xylem {

/// Replaces this process by `command` (exec), whose calls are captured. If `env_file` is not empty,
/// the variables in this file are added to the environment.
int exec_rank(const std::string& env_file, const std::vector<std::string>& command);

/// Adds the verb to `app`. `line` and `code` are borrowed until `app` has parsed.
void add_exec_command(CLI::App& app, const CommandLine& line, int& code);

}  // namespace xylem
