#pragma once

// What is to be known of Slurm to bring processes to a job's hosts.
//
// Slurm ends all processes of a step with the step's last task (with ProctrackType=proctrack/cgroup
// those that have left its session, too). So xylem's agents are a step of their own, which overlaps
// the job's: it takes no processor away from it, and ends with it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem::launch {

/// One process on each host of a job, as a step of its own: what launch_on() takes.
struct SlurmStep {
  std::string launcher;  ///< "srun --jobid=... --nodelist": the hosts follow, then the command.
  std::string hosts;     ///< As Slurm writes them: "node[01-04]".
  unsigned nodes = 0;
};

/// The step beside what runs in this allocation. `environment` holds NAME=VALUE strings. None
/// outside an allocation, and where the variables are not Slurm's: a job id that is no number, no
/// nodes. Pure.
std::optional<SlurmStep> step_beside(const std::vector<std::string>& environment);

/// The step in a job that runs: `answer` is what slurm_query() printed. Fails with kNotFound when
/// the job does not run (its state is in the sentence), with kInvalidArgument when the answer is
/// none. Pure.
Result<SlurmStep> step_in(std::string_view job, std::string_view answer);

/// The command that asks for the hosts of a job, as step_in() reads them.
std::vector<std::string> slurm_query(std::string_view job);

/// A job's number, as in 123; none of its steps, tasks or components.
bool is_slurm_job(std::string_view text);

}  // namespace xylem::launch
