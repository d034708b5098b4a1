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
  std::vector<SeenProcess> processes;  ///< In the order of pids.
  /// Number of processes whose environment this user has no permission to read. Processes of other
  /// users count only with `all_users`.
  std::size_t unreadable = 0;
};

/// Reads the table of processes at `root`. For each readable process it reads at most 1 MiB of
/// environment and 16 KiB of command line. For ranks it also finds out which MPI library is mapped.
/// It does not stop or signal any process. A process that starts or ends during the call may be
/// missing. With `all_users`, it also reads the environment of other users' processes. Processes
/// that it has no permission to read count in `unreadable`.
ProcTable read_proc_table(bool all_users, const std::string& root = "/proc");

/// The file name of the first MPI library in a text like /proc/PID/maps; empty if there is none.
/// Pure.
std::string mpi_library_in(std::string_view maps);

/// The start time of a process (field 22 of /proc/PID/stat); 0 if this file cannot be read, for
/// example because there is no process with this pid. The start time distinguishes processes that
/// have the same pid one after the other.
std::uint64_t start_time_of(std::uint32_t pid);

/// Returns a part of a sentence that says why a process cannot be watched. `error` is the system's
/// error when a descriptor for the process or its /proc files could not be opened. If another
/// process sent a descriptor and it did not arrive, pass EMFILE: this process has reached its limit
/// of open descriptors.
std::string no_descriptor_text(int error);

/// Opens a pidfd of the process. The pidfd becomes readable when the process ends. The result is
/// empty if the process has already ended, even if another process has its pid now. Fails with
/// kExhausted and no_descriptor_text() when no descriptor can be opened for the pidfd or for the
/// file with the start time.
Result<UniqueFd> open_process(std::uint32_t pid, std::uint64_t start_time);

}  // namespace xylem::backend
