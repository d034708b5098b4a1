#pragma once

// Common parts of `xylem run`, `xylem serve` and `xylem attach`: starting and ending a front end
// and the agents that ranks do not start.

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

/// Which processes must be able to reach the front end.
enum class Reach {
  kJob,         ///< A job that is started now: decided by its command, and by what may lie in it.
  kThisHost,    ///< Agents of this host alone.
  kOtherHosts,  ///< Agents of other hosts, too.
};

/// Everything that is up before a job can start.
struct Started {
  launch::FrontEndProcess front_end;
  launch::Environment environment;             ///< Of the job: where the front end is, and so on.
  std::unique_ptr<backend::RunFolder> folder;  ///< Of its Unix socket, if there is one.
  /// Those that are not started by ranks.
  std::optional<launch::LaunchedAgents> agents;
  std::string store, run;  ///< The run's file and id.
};

/// Starts the front end of a run whose command is `command`, or is written down as that. With
/// Reach::kJob, inside a Slurm allocation, the agents too; that this failed is said, and no
/// failure. Fails with a sentence, and nothing is left then.
Result<Started> start_front_end(const RunOptions& options, const std::string& printed_options,
                                const std::vector<std::string>& command, Reach reach);

/// How agents are started by `launcher` for this run.
launch::AgentLaunchOptions agent_launch(const Started& started, const std::string& launcher);

/// Looks after front end and agents; as FrontEndProcess::attend().
std::optional<Nanos> attend(Started& started);

/// Tells the front end that the job has ended, and waits until all is stored and nothing is left.
void finish(Started& started, int exit_code);

/// Instead of finish(), if there is no job: the run leaves no store, and the store that it would
/// have replaced stays.
void abandon(Started& started);

/// A sentence to the user.
void say(const std::string& sentence);

/// The run's file, by its name or after the job or process.
std::string store_of(const RunOptions& options);

}  // namespace xylem
