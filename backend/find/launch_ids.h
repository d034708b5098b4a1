#pragma once

// Reads a process's rank and job from the environment that its launcher set.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace xylem::backend {

struct LaunchIds {
  Rank rank{};
  std::uint32_t size = 0;  ///< Size of the world; 0: unknown.
  /// A text that identifies the job, for example "slurm 12.0". All ranks of the job have the same
  /// text, on all hosts. Empty under Hydra outside of Slurm, because Hydra sets no text for the
  /// job. Use control_port() there.
  std::string job;
  /// Slurm's job and step numbers; empty: none. These numbers are also set for processes that
  /// another launcher started inside a step.
  std::string slurm_job;
  std::string slurm_step;
  /// The variable that gave the rank.
  const char* source = "";
};

/// Parses the text of /proc/PID/environ: entries NAME=VALUE, each with a zero byte at its end. The
/// process may have changed this text arbitrarily. If several variables give a rank, the most
/// specific one counts. For example, a launcher inside a Slurm step passes its own SLURM_PROCID to
/// all ranks. This number is not their rank. Returns nothing for a process that is not a rank of a
/// job. Pure.
std::optional<LaunchIds> launch_ids(std::string_view environment);

/// Names of the variables from which launch_ids() reads the rank, for messages.
std::string rank_variables();

/// The control port of a Hydra proxy, for example "head:36251". `command_line` is the text of the
/// proxy's /proc/PID/cmdline. Each job has one control port, the same on all hosts. Empty for other
/// command lines. Pure.
std::string control_port(std::string_view command_line);

}  // namespace xylem::backend
