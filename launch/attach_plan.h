#pragma once

// Finds the hosts of a job that is already running, and chooses the launcher for the agents on
// these hosts.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "launch/launched_agents.h"

namespace xylem::launch {

/// The job that the user has named. Exactly one of `hosts`, `pid` and `job` is set.
struct AttachTarget {
  /// `--hosts`: a host list (tree/host_list.h), for example node[01-04]; empty if not given.
  std::string hosts;
  /// `--match`: a shell pattern for the file name of the ranks' program; empty: any program.
  std::string match;
  std::uint32_t pid = 0;  ///< `--pid`: process id of the launcher on this host; 0 if not given.
  std::string job;        ///< `--jobid`: number of a Slurm job; empty if not given.
};

struct AttachPlan {
  /// The launcher for launch_on(). Empty: agents on this host are started directly, other agents by
  /// ssh.
  std::string launcher;
  std::vector<AgentPlace> places;
  /// The rest of the message "no ranks found; looked for ...". Example: "processes of Slurm job
  /// 12".
  std::string sought;
  bool only_here = false;  ///< True if all agents are on this host.
};

/// Longest time that squeue may take.
constexpr Nanos kQueryLimit = 60 * kSecond;

/// Makes the plan. `launcher` is the value of `--launcher`; it is not used for a Slurm job. Reads
/// processes of this host and queries Slurm; starts no agent.
///
/// The message of a failure begins with the option, or with `attach:`. Fails with these codes:
///   kInvalidArgument   not exactly one target is given, a host list or a job number is invalid, or
///                      the process is a rank and not a launcher,
///   kNotFound          the process or job does not exist, squeue is missing, or the process is not
///                      a launcher of MPI jobs,
///   kPermissionDenied  reading the memory of the process is not allowed,
///   kUnavailable       the launcher has not started its ranks yet; try again,
///   kTimedOut          squeue has not answered within `query_limit`; it is killed,
///   kExhausted         the system refuses a process or a descriptor for squeue,
///   kCorrupt           the launcher's table is invalid (read_launcher_table()).
/// Waits up to 2 s for an incomplete table.
Result<AttachPlan> plan_attach(const AttachTarget& target, const std::string& launcher,
                               Nanos query_limit = kQueryLimit);

}  // namespace xylem::launch
