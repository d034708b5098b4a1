#pragma once

// Distinguishes the MPI_COMM_WORLDs of a run. The library sends no messages between ranks for this,
// because the program could receive such a message instead of its own.
//
// The library is preloaded into launchers too. In a launcher, the library draws a random identity
// before main() and puts the identity into the environment (XYLEM_WORLD). The launcher passes the
// environment to every rank that it starts. This includes all hosts, all parts of an MPMD job, and
// ranks without the library. Two launchers draw different identities, but a launcher that another
// launcher started keeps the identity of the first. The key of a world combines the identity with
// the launcher's own data:
//
//   Open MPI   PMIX_NAMESPACE: each world that MPI_Comm_spawn starts has a new namespace
//   Hydra      --control-port and --pgid of the proxy above a spawned rank
//
// If the library is not loaded into the launcher, there is no XYLEM_WORLD. Then the key comes from
// the first of these that exists: the PMIx namespace, Slurm's job and step, Hydra's proxy, the run.
// A process that no launcher started is the only process of its world. It draws the key of this
// world.

#include <cstdint>

#include "capture/core/ring.h"

namespace xylem::capture {

/// Rank of a process whose launcher gives no rank.
constexpr std::uint32_t kNoLaunchRank = 0xffffffff;

/// Data that a launcher has given to a process in the environment.
struct LaunchPlace {
  std::uint32_t rank = kNoLaunchRank;
  std::uint32_t size = 0;  ///< Size of the world; 0 if it is unknown.
};
LaunchPlace launch_place() noexcept;

/// Writes the key of this process's world. The key is equal in all ranks of the world, and
/// different in other worlds of the run, if the launcher's data distinguish them. If a launcher
/// started the program, every call in one process gives the same key. Without a launcher, Open MPI
/// sets the namespace only in MPI_Init, so the key differs before and after.
void find_world_key(std::uint8_t (&key)[kWorldKeyBytes]) noexcept;

/// In a launcher, draws an identity for the ranks that the launcher starts. In other programs, does
/// nothing.
void draw_world_in_launcher() noexcept;

/// Returns whether the program at `path` is a launcher of MPI jobs, judged by its name.
bool is_launcher(const char* path) noexcept;

/// Reads the path of a process's program from `link` in /proc; "" if it cannot be read.
constexpr unsigned kPathBytes = 4096;
void read_program(const char* link, char (&path)[kPathBytes]) noexcept;

}  // namespace xylem::capture
