#pragma once

// The half of the agent that does next to nothing, and therefore lives: it holds the memory of
// rings and journal and starts the worker, which does everything else, anew when it dies.
//
//   rank --registers--> guard --segment, pidfd--> worker --packets--> tree
//                        | memfds of rings and journal
//                        '- waits for the worker; starts another one
//
// No Asio, no allocation to speak of, nothing that depends on what processes or peers send beyond a
// registration's few bytes.

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
  /// A worker that dies more often than this within a minute is given up: something is wrong that a
  /// restart does not cure.
  int restarts_a_minute = 10;
};

/// What a worker gets from its guard, besides the guard's whole memory as it was at fork.
struct WorkerInheritance {
  UniqueFd channel;   ///< For GuardChannel.
  UniqueFd listener;  ///< For GuardChannel.
  UniqueFd journal;   ///< Memory for Journal, options.journal_bytes of it.
  /// For programs of services; the guard ends what a worker leaves there. Never null in a worker.
  ProgramGroups* programs = nullptr;
};

/// A process that is watched from the start, without having registered.
struct HeldProcess {
  std::uint32_t pid = 0;
  std::uint64_t start_time = 0;
  UniqueFd segment;  ///< None: `row` says why it is not watched.
  UniqueFd pidfd;    ///< None: it has ended. A guard has no need of it, and closes it.
  wire::ProcessRow row;
};

/// Runs in the worker; what it returns is the worker's exit code. SIGTERM is blocked then, SIGINT,
/// SIGHUP and SIGPIPE are ignored.
using WorkerMain = std::function<int(WorkerInheritance)>;

/// A guard that has no descriptor left goes on: the processes that register then are not watched,
/// and it keeps what it needs to start another worker and to listen anew.
///
/// Accepts registrations at `listener`, holds those who are `present` as if they had come there,
/// keeps a worker running, and returns when one has exited
/// with a code (that code) or when workers die too often (code 3, the folder removed). SIGTERM is
/// passed on to the worker, which ends in order; SIGINT and SIGHUP do nothing. Must be called in a
/// process without other threads. Fails with kExhausted or kInternal when there is no memory or no
/// process to be had at the start.
Result<int> run_guard(const GuardOptions& options, UniqueFd listener, const WorkerMain& worker,
                      std::vector<HeldProcess> present = {});

/// Leaves the caller's session: the process that called returns false in its place and should exit,
/// the one that returns true is a daemon without controlling terminal. Fails with kExhausted when
/// the system has no process to give.
Result<bool> daemonize();

}  // namespace xylem::backend
