#pragma once

// Reads the table of ranks that a launcher keeps for debuggers (MPIR_proctable).
//
// Open MPI's mpirun and Slurm's srun have this table; in Hydra it cannot be found. The launcher is
// not stopped: its memory is read through /proc/PID/mem, at the addresses of its symbols. So the
// table may just be changing, and its contents must not be trusted.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace xylem::launch {

/// A rank of the table; its index is the rank number.
struct LauncherEntry {
  std::string host;       ///< The host's name as the launcher writes it.
  std::string program;    ///< The program of the rank.
  std::uint32_t pid = 0;  ///< The rank's process id on its host.
};

struct LauncherTable {
  std::vector<LauncherEntry> ranks;
  /// Job and step of srun; empty for other launchers.
  std::string slurm_job;
  std::string slurm_step;
};

/// Limits. A table that exceeds them counts as corrupt.
constexpr std::uint32_t kMaxLauncherRanks = 1u << 20;
constexpr std::size_t kLongestHostName = 256;
constexpr std::size_t kLongestProgramName = 4096;

/// Reads the table of process `pid` of this host. An empty table is not an error: the launcher has
/// not started its ranks yet.
///
/// Fails with kNotFound when there is no such process, or when none of its files defines such a
/// table. Fails with kPermissionDenied when its memory may not be read, because it belongs to
/// another user or because of kernel.yama.ptrace_scope. Fails with kCorrupt when the memory is not
/// a valid table.
Result<LauncherTable> read_launcher_table(std::uint32_t pid);

}  // namespace xylem::launch
