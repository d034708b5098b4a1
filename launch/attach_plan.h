#pragma once

// Finds the hosts of a job that is already running, and chooses the launcher for agents there.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/launched_agents.h"

namespace xylem::launch {

/// The user's target. Exactly one of `hosts`, `pid` and `job` is set.
struct AttachTarget {
  /// `--hosts`: a host list as in Flux RFC 29, e.g. node[01-04]; empty if not given.
  std::string hosts;
  /// `--match`: a shell pattern for the file name of the ranks' program; empty: any program.
  std::string match;
  std::uint32_t pid = 0;  ///< `--pid`: process id of the launcher on this host; 0 if not given.
  std::string job;        ///< `--jobid`: number of a Slurm job; empty if not given.
};

struct AttachPlan {
  /// See launch_on(). Empty: agents of this host are started directly, others by ssh.
  std::string launcher;
  std::vector<AgentPlace> places;
  /// Description of what was searched, for the message "no ranks found; looked for ...". Example:
  /// "processes of Slurm job 12".
  std::string sought;
  bool only_here = false;  ///< All agents are on this host.
};

/// Makes the plan. `launcher` is the value of `--launcher`. Reads processes of this host and
/// queries Slurm; starts no agent.
///
/// Fails with a sentence
/// - if not exactly one target is given, or a host list or a job number is invalid;
/// - if there is no such process or job, or its memory may not be read;
/// - if the process is not a launcher of MPI jobs, or has not started its ranks yet.
Result<AttachPlan> plan_attach(const AttachTarget& target, const std::string& launcher);

}  // namespace xylem::launch
