#pragma once

// `xylem attach`: agents for a job that is already running.

#include "base/clock.h"
#include "cli/run_options.h"
#include "launch/attach_plan.h"

namespace CLI {
class App;
}

namespace xylem {

struct AttachOptions {
  launch::AttachTarget target;
  Nanos duration = 0;  ///< How long to watch; 0: until the ranks end.
};

/// Starts agents on the job's hosts, and stores their data until its ranks have ended, a signal
/// comes or the duration is over. The job is never signalled, stopped or written to. Returns 0; 1
/// when no rank was found, 2 when nothing was started, each with a sentence.
int attach_job(const RunOptions& options, const AttachOptions& how,
               const std::vector<std::string>& command_line);

/// Adds the subcommand; when it is chosen, parsing runs it and sets `code`, which outlives `app`.
void add_attach_command(CLI::App& app, int& code);

}  // namespace xylem
