#pragma once

// The guard is the small and therefore robust half of the agent. It keeps the memory of rings and
// journal, and restarts the worker when the worker dies. The worker does everything else.
//
//   rank --registers--> guard --segment--> worker --packets--> tree
//                        | memfds of rings and journal
//                        '- waits for the worker; starts another one
//
// The guard does not use Asio and allocates almost no memory. Its input is the few bytes of each
// registration and of each message from the worker.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/agent/program_groups.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/registration.h"

namespace xylem::backend {

struct GuardOptions {
  std::string folder;  ///< The host's run folder.
  std::size_t journal_bytes = 64u << 20;
  /// The guard gives up if workers die more often than this within a minute.
  int restarts_a_minute = 10;
};

/// The resources that a worker gets from its guard, in addition to a copy of the guard's memory at
/// the fork.
struct WorkerInheritance {
  UniqueFd channel;   ///< For GuardChannel.
  UniqueFd listener;  ///< For GuardChannel.
  UniqueFd journal;   ///< Memory for the Journal, `journal_bytes` large.
  /// Process groups of the programs of services. When a worker has died, the guard kills the groups
  /// of the worker's programs. Never null in a worker.
  ProgramGroups* programs = nullptr;
};

/// A process that the guard keeps. The caller of run_guard() may pass such processes: they are
/// watched without registering.
struct HeldProcess {
  std::uint32_t pid = 0;
  std::uint64_t start_time = 0;
  UniqueFd segment;  ///< If there is no segment, `row` says why the process is not watched.
  /// If hold_quietly() made no pidfd, the process has ended. The guard closes the pidfd: the worker
  /// opens its own.
  UniqueFd pidfd;
  wire::ProcessRow row;
};

/// Runs in the worker and returns its exit code. SIGTERM is blocked; SIGINT, SIGHUP and SIGPIPE are
/// ignored.
using WorkerMain = std::function<int(WorkerInheritance)>;

/// Accepts registrations at `listener`, and keeps a worker running. The processes in `present` are
/// treated as if they had registered. The guard forwards SIGTERM to the worker, which then shuts
/// down. The guard ignores SIGINT, SIGHUP and SIGPIPE. Call run_guard() in a process without other
/// threads.
///
/// When a worker exits by itself, returns the worker's exit code. A worker that a signal has killed
/// is restarted. If workers die too often, or a worker cannot be restarted, removes the folder and
/// returns 3. Fails with kExhausted or kInternal when memory or a process cannot be created at the
/// start.
Result<int> run_guard(const GuardOptions& options, UniqueFd listener, const WorkerMain& worker,
                      std::vector<HeldProcess> present = {});

/// Forks a daemon in a new session. Returns false in the calling process, which should then exit.
/// Returns true in the daemon, which has no controlling terminal. Fails with kExhausted when the
/// system cannot create a process.
Result<bool> daemonize();

}  // namespace xylem::backend
