#pragma once

// Sets up a run's folder and listener on a host for an agent that a launcher starts. If a rank
// starts the agent, the capture library does this (capture/core/agent_start_internal.h).

#include <memory>
#include <string>

#include "backend/agent/run_folder.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

struct HostClaim {
  /// The run's folder. If this claim has the listener, the folder is marked as in use
  /// (RunFolder::hold).
  std::unique_ptr<RunFolder> folder;
  UniqueFd listener;  ///< The agent's listener; empty if another agent is already running.
};

/// Makes the run's folder at `path` (mode 0700) and opens the listener in it, under the folder's
/// lock. Fails with kPermissionDenied when the folder cannot be made, or when `path` is not a
/// private folder of this user. Fails with kUnavailable when the lock is not free, or the folder
/// keeps being removed, for longer than `patience`. Fails with the error of RunFolder::listen()
/// when the listener cannot be opened.
Result<HostClaim> claim_host(const std::string& path, Nanos patience = 5 * kSecond);

}  // namespace xylem::backend
