#pragma once

// `xylem exec`.

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace xylem {

/// Replaces this process by `command` (exec), whose calls are captured. If `env_file` is not empty,
/// the variables in this file are added to the environment. Returns only if it fails, with a
/// sentence on standard error: 126 if the program may not be executed, 127 if it cannot be started,
/// and kUsageError if `command` is empty or the environment of the run cannot be found or read.
int exec_rank(const std::string& env_file, const std::vector<std::string>& command);

/// Adds the verb to `app`. `line` and `code` are borrowed until `app` has parsed.
void add_exec_command(CLI::App& app, const CommandLine& line, int& code);

}  // namespace xylem
