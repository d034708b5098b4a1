#pragma once

// The table of ranks that a launcher keeps for debuggers (MPIR_proctable), read while it runs.
//
// Open MPI's mpirun and Slurm's srun have it; Hydra's cannot be found. The launcher is not stopped:
// its memory is read through /proc/PID/mem at the addresses of its symbols. So the result may be
// arbitrary, or a table in the middle of a change.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace xylem::launch {

/// A rank of the table; its index is the rank number.
struct LauncherEntry {
  std::string host;       ///< In the launcher's form.
  std::string program;    ///< The program that it started.
  std::uint32_t pid = 0;  ///< On that host.
};

struct LauncherTable {
  std::vector<LauncherEntry> ranks;
  /// For srun: the job and step that it runs; else empty.
  std::string slurm_job;
  std::string slurm_step;
};

/// Limits; a larger table is corrupt.
constexpr std::uint32_t kMaxLauncherRanks = 1u << 20;
constexpr std::size_t kLongestHostName = 256;
constexpr std::size_t kLongestProgramName = 4096;

/// Reads the table of process `pid` of this host. An empty table is not an error: the launcher has
/// not started its ranks yet.
///
/// Fails with kNotFound when there is no such process, or when none of its files defines such a
/// table (not a launcher, or one without a table); with kPermissionDenied when its memory may not
/// be read (another user's, or kernel.yama.ptrace_scope); with kCorrupt when the memory is not a
/// valid table.
Result<LauncherTable> read_launcher_table(std::uint32_t pid);

}  // namespace xylem::launch
