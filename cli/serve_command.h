#pragma once

// `xylem serve`.

#include <string>

#include "cli/run_options.h"

namespace CLI {
class App;
}

namespace xylem {

struct ServeOptions {
  int until_pid = 0;     ///< Serve until this process ends; 0: until our parent ends.
  std::string env_file;  ///< Also write the environment to this file, mode 0600, for `xylem exec`.
  /// Do not start a front end: end the front end of this environment, and print shell commands that
  /// leave the environment.
  bool stop = false;
};

/// Starts a front end in the background and prints shell commands that set its environment. Returns
/// 0, or kUsageError with a sentence on standard error. Forks, so call it while the process has one
/// thread.
int serve(const RunOptions& options, const ServeOptions& how);

/// Adds the verb to `app`. `code` is borrowed until `app` has parsed.
void add_serve_command(CLI::App& app, int& code);

}  // namespace xylem
