#pragma once

// Common parts of `xylem run`, `xylem serve` and `xylem attach`. They start and end a front end,
// and those agents that ranks do not start.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/agent/run_folder.h"
#include "base/clock.h"
#include "base/result.h"
#include "cli/run_options.h"
#include "launch/front_end_process.h"
#include "launch/launch.h"
#include "launch/launched_agents.h"

namespace xylem {

/// The processes that must be able to reach the front end.
enum class Reach {
  /// A job that starts now. Its command line, host files and environment decide whether other hosts
  /// must reach the front end.
  kJob,
  kThisHost,    ///< Only agents of this host.
  kOtherHosts,  ///< Also agents of other hosts.
};

/// Everything that must run before a job can start.
struct Started {
  launch::FrontEndProcess front_end;
  launch::Environment environment;  ///< For the job: the address of the front end and so on.
  /// The folder of the front end's Unix socket, if any.
  std::unique_ptr<backend::RunFolder> folder;
  /// The agents that ranks do not start, if any.
  std::optional<launch::LaunchedAgents> agents;
  std::string store, run;  ///< The run's file and id.
};

/// Starts the front end of a run. `command` is stored in the run. It is the job's command; without
/// a job it is xylem's own, for example `xylem serve`. With Reach::kJob inside a Slurm allocation,
/// agents are started too. An agent that does not start is no failure; a sentence about it is
/// printed. After a failure nothing is left behind. Fails if find_installation(), check_preload(),
/// listen_for_run(), copy_plugin() or FrontEndProcess::start() fails.
Result<Started> start_front_end(const RunOptions& options, const std::vector<std::string>& command,
                                Reach reach);

/// The options with which `launcher` starts agents of this run.
launch::AgentLaunchOptions agent_launch(const Started& started, const std::string& launcher);

/// Supervises the front end and the agents; see FrontEndProcess::attend().
std::optional<Nanos> attend(Started& started);

/// Tells the front end that the job has ended and waits until all data is stored. Then ends the
/// launched agents and removes the run's folder. If the front end fails, prints a sentence.
void finish(Started& started, int exit_code);

/// Call it instead of finish() if the job was not started. The run leaves no store, and the store
/// that it would have replaced stays.
void abandon(Started& started);

/// Prints a sentence for the user to standard error.
void say(const std::string& sentence);

/// Path of the run's file: `--store` if given, else xylem-JOB.db in a batch job, else xylem-PID.db.
std::string store_of(const RunOptions& options);

}  // namespace xylem
