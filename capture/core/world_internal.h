#pragma once

// Tells one MPI_COMM_WORLD of a run from another, without a word to other ranks: a message of ours
// could meet one of the program's.
//
// The library is preloaded into launchers too. In a launcher it draws an identity before main() and
// puts it into the environment (XYLEM_WORLD), which the launcher hands to every rank it starts: on
// all hosts, in all parts of an MPMD job, to ranks that are not preloaded as well. Two launchers
// draw two identities. What the launcher itself says of the job refines it:
//
//   Open MPI   PMIX_NAMESPACE: MPI_Comm_spawn starts a world with a namespace of its own
//   Hydra      --control-port and --pgid of the proxy above a spawned rank
//
// Without XYLEM_WORLD (a launcher that the library is not loaded into) the key comes from the PMIx
// namespace, from Slurm's job and step, or from Hydra's proxy, in this order, and else from the run
// alone. A process that no launcher started is a world by itself and draws its key.

#include <cstdint>

#include "capture/core/ring.h"

namespace xylem::capture {

/// Of a process whose launcher gives no rank.
constexpr std::uint32_t kNoLaunchRank = 0xffffffff;

/// What a launcher has given to a process, as far as the environment tells.
struct LaunchPlace {
  std::uint32_t rank = kNoLaunchRank;
  std::uint32_t size = 0;  ///< Of the world; 0: not told.
};
LaunchPlace launch_place() noexcept;

/// Writes the key of this process's world: equal in all ranks of the world, different in all other
/// worlds of the run. May be called before MPI_Init, except that a program that no launcher started
/// has its namespace from Open MPI only afterwards. The same process gets the same key each time.
void find_world_key(std::uint8_t (&key)[kWorldKeyBytes]) noexcept;

/// In a launcher: draws an identity for the ranks that it starts. Elsewhere does nothing.
void draw_world_in_launcher() noexcept;

/// Whether the program at `path` is a launcher of MPI jobs, by its name.
bool is_launcher(const char* path) noexcept;

/// The program of a process as /proc tells, "" where it does not.
constexpr unsigned kPathBytes = 4096;
void read_program(const char* link, char (&path)[kPathBytes]) noexcept;

}  // namespace xylem::capture
