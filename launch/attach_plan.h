#pragma once

// Finds the hosts of a job that is already running, and the launcher that starts agents there.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/launched_agents.h"

namespace xylem::launch {

/// What the user named: exactly one of hosts, launcher and job.
struct AttachTarget {
  std::string hosts;      ///< `--hosts`: RFC 29; empty: not given.
  std::string match;      ///< `--match`: shell pattern of the ranks' program; empty: any.
  std::uint32_t pid = 0;  ///< `--pid`: of the launcher, on this host; 0: not given.
  std::string job;        ///< `--jobid`: Slurm's number; empty: not given.
};

struct AttachPlan {
  std::string launcher;  ///< See launch_on(); empty: directly here, by ssh elsewhere.
  std::vector<AgentPlace> places;
  /// "processes of srun job 12"; to follow "looked for".
  std::string sought;
  bool only_here = false;  ///< No other host is needed.
};

/// Makes the plan. `launcher` is the value of `--launcher`. Reads processes of this host and
/// queries Slurm; starts no agent.
///
/// Fails with a sentence: not exactly one target, an invalid host list or job, no such process or
/// job, no permission, not a launcher of MPI jobs, or a launcher that has not started its ranks.
Result<AttachPlan> plan_attach(const AttachTarget& target, const std::string& launcher);

}  // namespace xylem::launch
