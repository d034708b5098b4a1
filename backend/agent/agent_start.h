#pragma once

// The start of an agent. These functions read its settings from the environment, and tell the
// launcher that it is ready.

#include <cstddef>
#include <string>
#include <vector>

#include "backend/agent/agent.h"
#include "backend/agent/guard.h"
#include "backend/leaf/process_starter.h"
#include "base/result.h"
#include "wire/message.h"

namespace xylem::backend {

/// Decides when an agent ends.
enum class Stay {
  kWithRanks,  ///< A rank has started the agent. The agent ends soon after the host's last rank.
  kUntilTold,  ///< A launcher has started the agent beside the job. No other agent follows, so it
               ///< ends with the run, even if no rank has registered.
  kWithFound,  ///< A launcher has started the agent for ranks that are already running. The agent
               ///< ends with these ranks.
};

/// The settings that an agent gets from its starter.
struct AgentStart {
  Stay stay = Stay::kWithRanks;
  std::string run;
  std::string address;  ///< The front end's addresses, as net::parse_addresses() reads them.
  std::string folder;   ///< The run's folder on this host.
  std::string host;     ///< The name to show for this host.
  bool tls = true;
  std::string log_level = "warn";
  std::string log_file;  ///< Empty: none.
};

/// Reads the settings from the environment (base/run_contract.h). An agent that a launcher starts
/// needs neither XYLEM_FOLDER nor XYLEM_HOST: it uses the run's folder and this host's name. If a
/// needed variable is missing or empty, fails with kInvalidArgument and the variable's name.
Result<AgentStart> read_agent_start(Stay stay);

/// The options of the worker. The caller adds the host's key and addresses, the descriptor, and the
/// process groups of services.
AgentOptions agent_options(const AgentStart& start, std::vector<wire::Address> front_end);

/// The settings of the communication processes on this host. Their program is beside the agent's.
/// `host_key` is the agent's. The caller adds the run's key.
CommProcessSetting comm_process_setting(const AgentStart& start, const std::string& host_key);

/// The options of the guard. The journal is at most as large as RLIMIT_FSIZE, in whole pages,
/// because this limit applies to shared memory too.
GuardOptions guard_options(const AgentStart& start);

/// Prints one line on standard output, which tells the launcher that the agent of `host` is ready.
/// `ranks` is the number of ranks that the agent has found. `note` is a sentence about a problem,
/// or "". launch::LaunchedAgents reads this line. Then announce_ready() replaces the three standard
/// streams by /dev/null, so that the launcher does not wait for further output.
void announce_ready(const std::string& host, std::size_t ranks, const std::string& note);

}  // namespace xylem::backend
