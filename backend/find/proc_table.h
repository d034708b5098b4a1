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
  /// That were to be looked at, and may not be: another user's, or protected.
  std::size_t unreadable = 0;
};

/// Reads a table like /proc at `root`. Of each process that it may look at: at most 1 MiB of
/// environment and 16 KiB of command line; of those that are ranks also which MPI library is
/// mapped. Nobody is stopped or signalled, and processes that come or go meanwhile are simply
/// there or not. Other users' processes are seen too, where this one is privileged, when
/// `all_users`.
ProcTable read_proc_table(bool all_users, const std::string& root = "/proc");

/// The file name of the first MPI library in a text like /proc/PID/maps; empty: none. Pure.
std::string mpi_library_in(std::string_view maps);

/// Field 22 of /proc/PID/stat, which tells a process from a later one of its number; 0: none.
std::uint64_t start_time_of(std::uint32_t pid);

/// Why a process cannot be watched for which the system refuses a descriptor, or what /proc says of
/// it, with `error`; as part of a sentence. A descriptor that was sent and found no room here:
/// EMFILE, for only this process's own limit does that.
std::string no_descriptor_text(int error);

/// A descriptor of the process that becomes readable when it ends; none when it has ended already,
/// and perhaps its number given to another. Fails with kExhausted and no_descriptor_text() when
/// there is none to be had.
Result<UniqueFd> open_process(std::uint32_t pid, std::uint64_t start_time);

}  // namespace xylem::backend
