#pragma once

// Who a process is among the ranks of its job, from the environment that its launcher gave it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xylem::backend {

struct LaunchIds {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;  ///< Of the world; 0: the launcher does not say.
  /// Equal in all ranks of one job, on all hosts, and nowhere else: "slurm 12.0",
  /// "openmpi ...". Empty where the environment does not tell: Hydra, see control_port().
  std::string job;
  /// Slurm's numbers, also of what another launcher started inside a step; empty: none.
  std::string slurm_job;
  std::string slurm_step;
  /// Which variable named the rank.
  const char* source = "";
};

/// Reads /proc/PID/environ: NAME=VALUE, each ended by a zero; what a process has made of it since
/// may be anything. The most special variable counts: a launcher inside a Slurm step is a task with
/// SLURM_PROCID, and so are its children, but their rank is another one. None: no rank of a
/// job. Pure.
std::optional<LaunchIds> launch_ids(std::string_view environment);

/// The variables that launch_ids() knows a rank by, for sentences.
std::string rank_variables();

/// The control port of a Hydra proxy ("head:36251"), one per job and the same on all hosts, from
/// its command line as in /proc/PID/cmdline; empty when it is no such command line. Pure.
std::string control_port(std::string_view command_line);

}  // namespace xylem::backend
