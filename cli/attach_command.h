#pragma once

// `xylem attach`: watches a job that is already running.

#include "base/clock.h"
#include "cli/run_options.h"
#include "launch/attach_plan.h"

namespace CLI {
class App;
}

namespace xylem {

struct AttachOptions {
  launch::AttachTarget target;
  Nanos duration = 0;  ///< Time for which to watch the job; 0: until its ranks have ended.
};

/// Starts agents on the job's hosts, and stores their data until all ranks have ended, a signal
/// arrives, or the duration is over. Never signals, stops or changes the job. Returns 0 on success.
/// In all other cases it prints a sentence. Returns 1 when agents failed or when no rank was found.
/// Returns 2 when nothing was started. Returns 128 + signal when a signal arrives before the agents
/// are ready.
int attach_job(const RunOptions& options, const AttachOptions& how,
               const std::vector<std::string>& command_line);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_attach_command(CLI::App& app, int& code);

}  // namespace xylem
