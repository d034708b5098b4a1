#pragma once

// Starts processes on the hosts of a Slurm job.
//
// When the last task of a step ends, Slurm ends all processes of the step. With
// ProctrackType=proctrack/cgroup, Slurm also ends processes that have left the session of the step.
// So xylem's agents are a separate step that overlaps the job's steps. This step takes no
// processors from the job and ends with the job.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem::launch {

/// The arguments of launch_on() that start a separate step, with one process on each host of a job.
struct SlurmStep {
  std::string launcher;  ///< "srun --jobid=... --nodelist"; the hosts and the command follow.
  std::string hosts;     ///< A host list in Slurm's form: "node[01-04]".
  unsigned nodes = 0;
};

/// Returns a step in the allocation to which `environment` (NAME=VALUE strings) belongs. Returns
/// nullopt outside an allocation. Also returns nullopt if the job's id is not a number, or if the
/// allocation has no nodes. Pure.
std::optional<SlurmStep> step_beside(const std::vector<std::string>& environment);

/// Returns a step in the running job `job`. `answer` is the output of the command of slurm_query().
/// Fails with kNotFound if the job is not running or not known. Fails with kInvalidArgument if the
/// answer is invalid, or if the job is an array of jobs. Pure.
Result<SlurmStep> step_in(std::string_view job, std::string_view answer);

/// Returns the command that queries the hosts of a job for step_in().
std::vector<std::string> slurm_query(std::string_view job);

/// Returns true if `text` is the number of a job, for example 123. Returns false for a step, an
/// array task or a component of a job.
bool is_slurm_job(std::string_view text);

}  // namespace xylem::launch
