#pragma once

// The processes of this host, as /proc shows them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/find/rank_search.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

struct ProcTable {
  std::vector<SeenProcess> processes;  ///< In the order of their ids.
  /// Processes that may not be read: another user's, or protected.
  std::size_t unreadable = 0;
};

/// Reads a table like /proc at `root`. For each readable process it reads at most 1 MiB of
/// environment and 16 KiB of command line, and for ranks also which MPI library is mapped. It stops
/// or signals no process; processes that start or end meanwhile may be included or not. With
/// `all_users` it includes other users' processes, if this process is privileged.
ProcTable read_proc_table(bool all_users, const std::string& root = "/proc");

/// The file name of the first MPI library in a text like /proc/PID/maps; empty: none. Pure.
std::string mpi_library_in(std::string_view maps);

/// Field 22 of /proc/PID/stat, which distinguishes reused pids; 0: no such process.
std::uint64_t start_time_of(std::uint32_t pid);

/// Why a process cannot be watched when the system fails with `error` to give a descriptor for it
/// or to read its /proc files; as part of a sentence. For a descriptor that was sent and not
/// received use EMFILE, since only this process's own limit causes that.
std::string no_descriptor_text(int error);

/// A pidfd of the process, readable when it ends; none if the process has already ended (its pid
/// may be reused). Fails with kExhausted and no_descriptor_text() when there is no descriptor.
Result<UniqueFd> open_process(std::uint32_t pid, std::uint64_t start_time);

}  // namespace xylem::backend
