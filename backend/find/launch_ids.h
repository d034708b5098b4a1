#pragma once

// A process's rank and job, from the environment that its launcher set.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace xylem::backend {

struct LaunchIds {
  Rank rank{};
  std::uint32_t size = 0;  ///< Size of the world; 0: unknown.
  /// Equal in all ranks of one job, on all hosts, and nowhere else: "slurm 12.0",
  /// "openmpi ...". Empty if the environment does not say: Hydra, see control_port().
  std::string job;
  /// Slurm's numbers, also for processes that another launcher started inside a step; empty: none.
  std::string slurm_job;
  std::string slurm_step;
  /// The variable that gave the rank.
  const char* source = "";
};

/// Reads /proc/PID/environ: NAME=VALUE, each ended by a zero; the process may have changed it
/// arbitrarily. The most specific variable counts: a launcher inside a Slurm step has SLURM_PROCID,
/// which its children inherit, but their rank is a different one. None: not a rank of a job. Pure.
std::optional<LaunchIds> launch_ids(std::string_view environment);

/// The variables that launch_ids() reads for the rank, for messages.
std::string rank_variables();

/// The control port of a Hydra proxy ("head:36251"), one per job and the same on all hosts, from
/// its command line as in /proc/PID/cmdline; empty if it is not a proxy's command line. Pure.
std::string control_port(std::string_view command_line);

}  // namespace xylem::backend
