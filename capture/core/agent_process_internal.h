#pragma once

// Starting the agent's process without the application noticing; see agent_start_internal.h.

#include <cstdint>

#include "capture/core/text_internal.h"

namespace xylem::capture {

struct AgentProcess {
  Text<256> host;  ///< The name to show for this host.
  const char* folder = nullptr;
  const char* key = nullptr;  ///< 64 hexadecimal digits.
  int listener = -1;          ///< The agent's listening socket.

  /// What is started: XYLEM_BACKEND.
  const char* program() const noexcept;
};

/// Starts it and waits until its first process has ended, having left a daemon behind. The agent
/// gets descriptors 3 and 4 (ring.h), standard streams on /dev/null, nothing else that is open
/// here; the whole machine's processors; the folder / ; and of the environment only PATH, HOME,
/// TMPDIR, USER, LANG, XYLEM_ADDRESS, XYLEM_RUN, XYLEM_LOG*, and XYLEM_FOLDER and XYLEM_HOST made
/// from this.
///
/// Returns 0; an errno when it could not be started (ETIMEDOUT after `deadline`, CLOCK_MONOTONIC
/// ns); -1 when it was, and ended with an error.
int start_agent(const AgentProcess& agent, std::uint64_t deadline) noexcept;

}  // namespace xylem::capture
