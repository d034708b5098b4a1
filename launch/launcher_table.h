#pragma once

// The table of ranks that a launcher keeps for debuggers (MPIR_proctable), read while it runs.
//
// Open MPI's mpirun and Slurm's srun have it; Hydra has none that can be found. The launcher is
// neither stopped nor asked: its memory is read through /proc/PID/mem, where the symbols of its
// files say. So what is read may be anything, also half of a change.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace xylem::launch {

/// A rank of the table; its place in it is its number.
struct LauncherEntry {
  std::string host;       ///< As the launcher names it.
  std::string program;    ///< What it was told to start.
  std::uint32_t pid = 0;  ///< On that host.
};

struct LauncherTable {
  std::vector<LauncherEntry> ranks;
  /// Of srun: the job and the step that it runs; empty elsewhere.
  std::string slurm_job;
  std::string slurm_step;
};

/// Bounds on what is believed.
constexpr std::uint32_t kMaxLauncherRanks = 1u << 20;
constexpr std::size_t kLongestHostName = 256;
constexpr std::size_t kLongestProgramName = 4096;

/// Reads the table of process `pid` of this host. An empty one is no failure: the launcher has
/// not started its ranks yet.
///
/// Fails with kNotFound when there is no such process, or none of its files defines such a table
/// (it is no launcher, or one without), with kPermissionDenied when its memory may not be read
/// (another user's, or kernel.yama.ptrace_scope), with kCorrupt when what stands there cannot be a
/// table.
Result<LauncherTable> read_launcher_table(std::uint32_t pid);

}  // namespace xylem::launch
