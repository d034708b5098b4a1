#pragma once

// Which processes of a host are the ranks that somebody asks for? Pure: from what was seen of the
// host's processes (proc_table.h) to ranks, each once.
//
// Of one rank there may be several processes with its environment: a wrapper script, the program,
// what the program starts. The rank is the one that has an MPI library mapped, the uppermost of
// several; where none has (a static MPI, no MPI at all) the uppermost that is no shell.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/find/launch_ids.h"

namespace xylem::backend {

/// What is known of a process.
struct SeenProcess {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::uint64_t start_time = 0;  ///< Field 22 of /proc/PID/stat.
  std::string program;           ///< Path of its executable; empty: not to be seen.
  std::string command_line;      ///< As /proc/PID/cmdline, cut.
  std::optional<LaunchIds> ids;  ///< None: no rank, or another user's.
  std::string mpi_library;       ///< Its file's name, "libmpich.so.12.2.0"; empty: none mapped.
};

/// What is asked for. All conditions count together.
struct RankSelection {
  std::string match;         ///< Shell pattern for the program's file name; empty: any.
  std::string slurm_job;     ///< Empty: any.
  std::string slurm_step;    ///< Empty: any.
  std::string control_port;  ///< Of a Hydra job; empty: any.
  /// Process -> rank, by a launcher's own table; then `world` and `size` are the launcher's too,
  /// and of the conditions only `match` counts. Where a wrapper stands in the table, the rank is
  /// sought below it.
  std::map<std::uint32_t, std::uint32_t> listed;
  std::string world;
  std::uint32_t size = 0;
  /// Processes without an MPI library are ranks as well: where the job was named.
  bool is_named = false;
};

struct FoundRank {
  std::uint32_t pid = 0;
  std::uint64_t start_time = 0;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;  ///< At least rank + 1.
  std::string job;         ///< Tells worlds apart.
  std::string program;
  std::string mpi_library;
};

/// In the order of job and rank.
std::vector<FoundRank> find_ranks(std::span<const SeenProcess> processes,
                                  const RankSelection& selection);

/// 16 bytes that stand for a job's text; equal texts give equal bytes.
std::vector<std::uint8_t> world_key_of(const std::string& job);

}  // namespace xylem::backend
