#pragma once

// Being the first of a run on a host without being one of its ranks: what the capture library does
// for the agent that it starts (capture/core/agent_start_internal.h), an agent of a launcher does
// itself.

#include <memory>
#include <string>

#include "backend/agent/run_folder.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

struct HostClaim {
  std::unique_ptr<RunFolder> folder;  ///< Made, and held.
  UniqueFd listener;  ///< The agent's listener, open; none: an agent answers already.
};

/// Makes the run's folder at `path`, mode 0700, and opens the listener in it, under the folder's
/// lock. Fails with kPermissionDenied when what stands there is not a private folder of this user,
/// with kUnavailable when somebody holds the lock for longer than `patience`, and as
/// RunFolder::listen.
Result<HostClaim> claim_host(const std::string& path, Nanos patience = 5 * kSecond);

}  // namespace xylem::backend
