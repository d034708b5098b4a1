#pragma once

// How a process becomes the agent of a host: the settings in its environment, how long it stays,
// and its message to the launcher.

#include <cstddef>
#include <string>
#include <vector>

#include "backend/agent/agent.h"
#include "backend/agent/guard.h"
#include "backend/leaf/process_starter.h"
#include "base/result.h"
#include "wire/message.h"

namespace xylem::backend {

/// How long an agent stays on its host.
enum class Stay {
  kWithRanks,  ///< A rank has started the agent. It ends soon after the host's last rank.
  kUntilTold,  ///< A launcher has started it beside the job, and starts no other. It ends with the
               ///< run, also if there are no ranks.
  kWithFound,  ///< A launcher has started it for ranks that are already running. It ends with them.
};

/// The settings that an agent gets from its starter.
struct AgentStart {
  Stay stay = Stay::kWithRanks;
  std::string run;
  std::string address;  ///< The front end's, as net::parse_addresses() reads it.
  std::string folder;   ///< The run's folder on this host.
  std::string host;     ///< The name to show for this host.
  bool tls = true;
  std::string log_level = "warn";
  std::string log_file;  ///< Empty: none.
};

/// Reads the settings from the environment (base/run_contract.h). An agent that a launcher starts
/// needs no XYLEM_FOLDER and XYLEM_HOST: it uses the run's folder and this host's name. Fails with
/// kInvalidArgument and the name of the variable if one is missing or empty.
Result<AgentStart> read_agent_start(Stay stay);

/// The options of the worker. The caller adds what the network tells: host_key and addresses of the
/// host; and the descriptors.
AgentOptions agent_options(const AgentStart& start, std::vector<wire::Address> front_end);

/// The settings of the communication processes on this host. Their program is beside the agent's.
/// `host_key` is the agent's. The caller adds the run's key.
CommProcessSetting comm_process_setting(const AgentStart& start, const std::string& host_key);

/// The options of the guard. The journal is at most as large as RLIMIT_FSIZE allows, in whole
/// pages, because this limit holds for shared memory too.
GuardOptions guard_options(const AgentStart& start);

/// Tells a launcher on standard output that the agent of `host` is ready. `ranks` is the number of
/// ranks that the agent has found. `note` is a sentence about a problem, or "".
/// launch::LaunchedAgents reads this line. Then replaces the three standard streams by /dev/null,
/// so that the launcher does not wait for further output.
void announce_ready(const std::string& host, std::size_t ranks, const std::string& note);

}  // namespace xylem::backend
