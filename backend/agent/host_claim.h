#pragma once

// Sets up a run's folder and listener on a host for an agent that a launcher starts. For an agent
// that a rank starts, the capture library does this (capture/core/agent_start_internal.h).

#include <memory>
#include <string>

#include "backend/agent/run_folder.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

struct HostClaim {
  std::unique_ptr<RunFolder> folder;  ///< Created, and held.
  UniqueFd listener;  ///< The agent's listener; none: another agent is already there.
};

/// Makes the run's folder at `path`, mode 0700, and opens the listener in it, under the folder's
/// lock. Fails with kPermissionDenied when `path` is not a private folder of this user, with
/// kUnavailable when another process holds the lock for longer than `patience`, and as
/// RunFolder::listen.
Result<HostClaim> claim_host(const std::string& path, Nanos patience = 5 * kSecond);

}  // namespace xylem::backend
