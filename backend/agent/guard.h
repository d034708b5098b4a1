#pragma once

// The small and therefore robust half of the agent: it holds the memory of rings and journal, and
// restarts the worker, which does everything else, when the worker dies.
//
//   rank --registers--> guard --segment, pidfd--> worker --packets--> tree
//                        | memfds of rings and journal
//                        '- waits for the worker; starts another one
//
// It uses no Asio, allocates almost nothing, and depends on no input except the few bytes of a
// registration.

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
  /// The guard gives up if workers die more often than this within a minute: restarting does not
  /// help.
  int restarts_a_minute = 10;
};

/// What a worker gets from its guard, in addition to a copy of the guard's memory at the fork.
struct WorkerInheritance {
  UniqueFd channel;   ///< For GuardChannel.
  UniqueFd listener;  ///< For GuardChannel.
  UniqueFd journal;   ///< Memory for Journal, options.journal_bytes of it.
  /// For programs of services; the guard kills programs that a worker leaves there. Never null in a
  /// worker.
  ProgramGroups* programs = nullptr;
};

/// A process that is watched from the start without registering.
struct HeldProcess {
  std::uint32_t pid = 0;
  std::uint64_t start_time = 0;
  UniqueFd segment;  ///< None: `row` says why it is not watched.
  UniqueFd pidfd;    ///< None: it has ended. The guard does not need it and closes it.
  wire::ProcessRow row;
};

/// Runs in the worker and returns its exit code. SIGTERM is blocked; SIGINT, SIGHUP and SIGPIPE are
/// ignored.
using WorkerMain = std::function<int(WorkerInheritance)>;

/// A guard without free descriptors continues: processes that register then are not watched, but it
/// keeps the descriptors that it needs to restart the worker and to listen again.
///
/// Accepts registrations at `listener`, treats the processes in `present` as if they had
/// registered, and keeps a worker running. Returns the exit code of a worker that has exited, or 3,
/// after removing the folder, if workers die too often. It passes SIGTERM on to the worker, which
/// shuts down; SIGINT and SIGHUP do nothing. Must be called in a process without other threads.
/// Fails with kExhausted or kInternal when memory or a process cannot be created at the start.
Result<int> run_guard(const GuardOptions& options, UniqueFd listener, const WorkerMain& worker,
                      std::vector<HeldProcess> present = {});

/// Forks a daemon out of the caller's session. Returns false in the calling process, which should
/// exit, and true in the daemon, which has no controlling terminal. Fails with kExhausted when the
/// system cannot create a process.
Result<bool> daemonize();

}  // namespace xylem::backend
