#pragma once

// `xylem run`, `xylem serve` and `xylem exec`.

#include <string>
#include <vector>

#include "cli/run_options.h"

namespace xylem {

/// Starts a front end, then the job in its environment. Returns the job's exit code as a shell
/// would see it. If nothing was started, prints a sentence and returns 2.
int run_job(const RunOptions& options, const std::vector<std::string>& command);

struct ServeOptions {
  int until_pid = 0;     ///< Serve until this process ends; 0: until our parent ends.
  std::string env_file;  ///< Also write the environment to this file, mode 0600, for `xylem exec`.
  /// End the front end of this environment, instead of starting one. Print shell commands that
  /// unset the variables of the environment.
  bool stop = false;
};

/// Starts a front end in the background and prints shell commands that set its environment.
int serve(const RunOptions& options, const ServeOptions& how);

/// Replaces this process by `command` (exec). The command's calls are captured. If `env_file` is
/// not empty, the variables in this file are added to the environment.
int exec_rank(const std::string& env_file, const std::vector<std::string>& command);

}  // namespace xylem
