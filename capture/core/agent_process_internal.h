#pragma once

// Starts the agent's process without effects on the application; see agent_start_internal.h.

#include <cstdint>

#include "capture/core/text_internal.h"

namespace xylem::capture {

struct AgentProcess {
  Text<256> host;  ///< The name to show for this host.
  const char* folder = nullptr;
  const char* key = nullptr;  ///< 64 hexadecimal digits.
  int listener = -1;          ///< The agent's listening socket.

  /// Path of the agent's program, from XYLEM_BACKEND.
  const char* program() const noexcept;
};

/// Starts the agent. Its first process starts a daemon and ends. This call waits for the end of the
/// first process. The agent gets descriptors 3 and 4 (base/run_contract.h), standard streams on
/// /dev/null, and no other descriptor of this process. It may use every processor that the kernel
/// allows the job. Its working folder is /. From this process's environment it gets only PATH,
/// HOME, TMPDIR, USER, LANG, XYLEM_ADDRESS, XYLEM_RUN, XYLEM_TLS and XYLEM_LOG*, at most 64
/// variables. XYLEM_FOLDER and XYLEM_HOST are set to the values in `agent`.
///
/// Returns 0 on success. Returns an errno if the agent could not be started; after `deadline`
/// (CLOCK_MONOTONIC ns) the errno is ETIMEDOUT. Returns -1 if the agent's first process ended with
/// an error.
int start_agent(const AgentProcess& agent, std::uint64_t deadline) noexcept;

}  // namespace xylem::capture
