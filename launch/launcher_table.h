#pragma once

// Reads the table of ranks that a launcher keeps for debuggers (MPIR_proctable).
//
// Open MPI's mpirun and Slurm's srun have this table. In Hydra's launcher the table cannot be
// found. The table is read through /proc/PID/mem, at the addresses of the launcher's symbols. The
// launcher is not stopped. So the table may change during the reading, and its contents must not be
// trusted.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace xylem::launch {

/// A row of the table. The index of the row is the rank number.
struct LauncherEntry {
  std::string host;       ///< The host's name in the launcher's spelling.
  std::string program;    ///< The program of the rank.
  std::uint32_t pid = 0;  ///< The rank's process id on its host.
};

struct LauncherTable {
  std::vector<LauncherEntry> ranks;
  /// Job and step of srun; empty for other launchers.
  std::string slurm_job;
  std::string slurm_step;
};

/// Limits; the limits of the names are approximate. A table that exceeds a limit counts as corrupt,
/// but a program's name that is too long or unprintable is only left out.
constexpr std::uint32_t kMaxLauncherRanks = 1u << 20;
constexpr std::size_t kLongestHostName = 256;
constexpr std::size_t kLongestProgramName = 4096;

/// Reads the table of process `pid` of this host. An empty table is not an error: the launcher has
/// not started its ranks yet.
///
/// Fails with kNotFound if the process does not exist, or if none of its files defines the table.
/// Fails with kPermissionDenied if reading the memory of the process is not allowed. Reading is
/// never allowed for processes of other users. The setting kernel.yama.ptrace_scope may forbid it
/// for one's own processes. Fails with kCorrupt if the memory is not a valid table.
Result<LauncherTable> read_launcher_table(std::uint32_t pid);

}  // namespace xylem::launch
