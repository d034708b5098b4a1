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
  kJob,         ///< A job that starts now: its command decides, with its options and files.
  kThisHost,    ///< Agents of this host alone.
  kOtherHosts,  ///< Agents of other hosts, too.
};

/// Everything that is up before a job can start.
struct Started {
  launch::FrontEndProcess front_end;
  launch::Environment environment;  ///< The job's environment: address of the front end etc.
  std::unique_ptr<backend::RunFolder> folder;  ///< The folder of its Unix socket, if any.
  /// The agents that ranks do not start.
  std::optional<launch::LaunchedAgents> agents;
  std::string store, run;  ///< The run's file and id.
};

/// Starts the front end of a run; `command` is the job's command, or a text for the record. With
/// Reach::kJob inside a Slurm allocation it also starts the agents; if that fails, it only prints
/// a sentence. Fails with a sentence, and then leaves nothing behind.
Result<Started> start_front_end(const RunOptions& options, const std::vector<std::string>& command,
                                Reach reach);

/// How agents are started by `launcher` for this run.
launch::AgentLaunchOptions agent_launch(const Started& started, const std::string& launcher);

/// Supervises front end and agents; see FrontEndProcess::attend().
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
