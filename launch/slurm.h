#pragma once

// Starts processes on the hosts of a Slurm job.
//
// Slurm ends all processes of a step with the step's last task (with ProctrackType=proctrack/cgroup
// also those that have left its session). So xylem's agents are a separate step that overlaps the
// job's: it takes no processors from the job and ends with it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem::launch {

/// One process on each host of a job, as a separate step, in the form for launch_on().
struct SlurmStep {
  std::string launcher;  ///< "srun --jobid=... --nodelist": the hosts follow, then the command.
  std::string hosts;     ///< In Slurm's form: "node[01-04]".
  unsigned nodes = 0;
};

/// A step in this allocation. `environment` holds NAME=VALUE strings. None outside an allocation,
/// and if the variables are invalid: a job id that is not a number, or no nodes. Pure.
std::optional<SlurmStep> step_beside(const std::vector<std::string>& environment);

/// A step in a running job: `answer` is the output of the command of slurm_query(). Fails with
/// kNotFound when the job is not running (the sentence has its state), with kInvalidArgument when
/// the answer is invalid. Pure.
Result<SlurmStep> step_in(std::string_view job, std::string_view answer);

/// The command that queries the hosts of a job for step_in().
std::vector<std::string> slurm_query(std::string_view job);

/// Whether `text` is a job's number, as 123; steps, tasks and components are not.
bool is_slurm_job(std::string_view text);

}  // namespace xylem::launch
