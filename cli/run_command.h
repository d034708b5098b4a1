#pragma once

// `xylem run`.

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/run_options.h"

namespace xylem {

/// Starts a front end, then the job in its environment. Returns the job's exit code as a shell
/// would see it. If nothing was started, prints a sentence and returns 2.
int run_job(const RunOptions& options, const std::vector<std::string>& command);

/// Adds the verb to `app`. `line` and `code` are borrowed until `app` has parsed.
void add_run_command(CLI::App& app, const CommandLine& line, int& code);

}  // namespace xylem
