#pragma once

// Finds the processes of a host that are the selected ranks. Pure: takes the table of processes
// (proc_table.h) and gives ranks, each once.
//
// Several processes can have a rank's environment: a wrapper script, the program, the program's
// children. The rank is the uppermost of those that have an MPI library mapped; if there is none
// (static MPI, or no MPI), the uppermost that is not a shell.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/find/launch_ids.h"

namespace xylem::backend {

/// A process as read from /proc.
struct SeenProcess {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::uint64_t start_time = 0;  ///< Field 22 of /proc/PID/stat.
  std::string program;           ///< Path of its executable; empty: not readable.
  std::string command_line;      ///< As /proc/PID/cmdline, cut.
  std::optional<LaunchIds> ids;  ///< None: not a rank, or another user's.
  std::string mpi_library;       ///< Its file's name, "libmpich.so.12.2.0"; empty: none mapped.
};

/// The selection. All conditions must hold.
struct RankSelection {
  std::string match;         ///< Shell pattern for the program's file name; empty: any.
  std::string slurm_job;     ///< Empty: any.
  std::string slurm_step;    ///< Empty: any.
  std::string control_port;  ///< Of a Hydra job; empty: any.
  /// Process -> rank, from a launcher's own table. Then `world` and `size` are the launcher's too,
  /// and of the conditions only `match` applies. If the table lists a wrapper, the rank is searched
  /// below it.
  std::map<std::uint32_t, Rank> listed;
  std::string world;
  std::uint32_t size = 0;
  /// Processes without an MPI library count as ranks too, because the job was named.
  bool is_named = false;
};

struct FoundRank {
  std::uint32_t pid = 0;
  std::uint64_t start_time = 0;
  Rank rank{};
  std::uint32_t size = 0;  ///< At least rank + 1.
  std::string job;         ///< Distinguishes worlds.
  std::string program;
  std::string mpi_library;
};

/// In the order of job and rank.
std::vector<FoundRank> find_ranks(std::span<const SeenProcess> processes,
                                  const RankSelection& selection);

/// A 16-byte key of a job's text; equal texts give equal keys.
std::vector<std::uint8_t> world_key_of(const std::string& job);

}  // namespace xylem::backend
