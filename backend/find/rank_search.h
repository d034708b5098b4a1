#pragma once

// Searches the table of a host's processes (proc_table.h) for the selected ranks. Each rank is
// found once. Pure.
//
// Several processes can have a rank's environment: a wrapper script, the rank's program, and
// children of this program. The rank is the uppermost process that has an MPI library mapped. If no
// process has one mapped (static MPI, or no MPI), the rank is the uppermost process that is not a
// shell. If all are shells, it is the uppermost one.

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
  std::string program;           ///< Path of the executable; empty if unreadable.
  std::string command_line;      ///< The beginning of /proc/PID/cmdline.
  /// Empty if the process is not a rank, or if its environment was not read.
  std::optional<LaunchIds> ids;
  std::string mpi_library;  ///< File name of the MPI library, for example "libmpich.so.12.2.0";
                            ///< empty if none is mapped.
};

/// Conditions for ranks. A rank is selected if it meets all of them.
struct RankSelection {
  std::string match;         ///< Shell pattern for the program's file name; empty: any.
  std::string slurm_job;     ///< Empty: any.
  std::string slurm_step;    ///< Empty: any.
  std::string control_port;  ///< Control port of a Hydra job; empty: any.
  /// The rank of each pid, from a launcher's own table. If this table is set, `world` and `size`
  /// come from the launcher too, and only the condition `match` applies. If the table lists a
  /// wrapper script, the rank is usually a process below the wrapper.
  std::map<std::uint32_t, Rank> listed;
  std::string world;
  std::uint32_t size = 0;
  /// True if the user has named the job. Then processes without an MPI library count as ranks too.
  /// They also count if `match` or `listed` is set.
  bool is_named = false;
};

struct FoundRank {
  std::uint32_t pid = 0;
  std::uint64_t start_time = 0;
  Rank rank{};
  std::uint32_t size = 0;  ///< At least rank + 1.
  std::string job;         ///< Text that identifies the job. All ranks of a job form one world.
  std::string program;
  std::string mpi_library;
};

/// Returns the selected ranks in the order of job and rank.
std::vector<FoundRank> find_ranks(std::span<const SeenProcess> processes,
                                  const RankSelection& selection);

/// Returns a 16-byte key for the text of a job. Equal texts give equal keys.
std::vector<std::uint8_t> world_key_of(const std::string& job);

}  // namespace xylem::backend
