#pragma once

// Starts processes on the hosts of a Slurm job.
//
// When the last task of a step ends, Slurm ends all processes of the step (with
// ProctrackType=proctrack/cgroup also those that have left its session). So xylem's agents are a
// separate step that overlaps the job's steps. It takes no processors from the job and ends with
// the job.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem::launch {

/// A separate step with one process on each host of a job, as arguments of launch_on().
struct SlurmStep {
  std::string launcher;  ///< "srun --jobid=... --nodelist"; the hosts and the command follow.
  std::string hosts;     ///< A host list as Slurm writes it: "node[01-04]".
  unsigned nodes = 0;
};

/// A step in the allocation of this environment (NAME=VALUE strings). Returns nothing outside an
/// allocation, and if the job's id is not a number or there are no nodes. Pure.
std::optional<SlurmStep> step_beside(const std::vector<std::string>& environment);

/// A step in a running job. `answer` is the output of the command of slurm_query(). Fails with
/// kNotFound when the job is not running (the sentence gives its state), and with kInvalidArgument
/// when the answer is invalid. Pure.
Result<SlurmStep> step_in(std::string_view job, std::string_view answer);

/// The command that queries the hosts of a job for step_in().
std::vector<std::string> slurm_query(std::string_view job);

/// True if `text` is the number of a job, for example 123. False for a step, an array task or a
/// component of a job.
bool is_slurm_job(std::string_view text);

}  // namespace xylem::launch
