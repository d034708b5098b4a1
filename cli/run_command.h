#pragma once

// `xylem run`, `xylem serve` and `xylem exec`.

#include <string>
#include <vector>

#include "cli/run_options.h"

namespace xylem {

/// Starts a front end, then the job in its environment; returns the job's exit code as a shell
/// would see it. 2 and a sentence when nothing was started.
int run_job(const RunOptions& options, const std::vector<std::string>& command);

struct ServeOptions {
  int until_pid = 0;     ///< End with this process; 0: with the one that called us.
  std::string env_file;  ///< Also write the environment there, mode 0600, for `xylem exec`.
  /// End the front end of this environment instead, and print shell commands that leave it.
  bool stop = false;
};

/// Starts a front end in the background and prints shell commands that set its environment.
int serve(const RunOptions& options, const ServeOptions& how);

/// Replaces this process by `command` (exec), under capture. The environment comes from `env_file`
/// when it is not empty.
int exec_rank(const std::string& env_file, const std::vector<std::string>& command);

}  // namespace xylem
