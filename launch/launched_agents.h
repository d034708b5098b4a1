#pragma once

// Starts agents with a launcher. This is needed in a Slurm allocation, where the agents are a
// separate step, and for `xylem attach`. In all other cases the first rank of each host starts the
// host's agent.

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "launch/back_end_launch.h"

namespace xylem::launch {

/// The arguments of one call of the launcher.
struct AgentPlace {
  std::string host;     ///< The launcher's argument; with Slurm, a list of all hosts.
  unsigned agents = 1;  ///< Number of agents that this call starts.
  std::vector<std::string> arguments;  ///< Arguments of xylem-backend that follow --launched.
};

struct AgentLaunchOptions {
  std::string launcher;  ///< See launch_on().
  std::string program;   ///< Absolute path of xylem-backend, the same on all hosts.
  /// NAME=VALUE strings that ranks also get: the front end's address, the run, the key and so on.
  /// These strings are never on a command line.
  std::vector<std::string> environment;
};

/// Order of calls: start(), wait_until_ready(), wait_for_end(). Call hear() from time to time
/// before wait_for_end(). Not thread-safe. Launchers run in their own sessions, and their standard
/// error is copied to ours. The destructor kills running launchers with SIGKILL.
class LaunchedAgents {
 public:
  /// The message of an agent that is ready.
  struct Ready {
    std::string host;
    unsigned ranks = 0;  ///< Number of ranks that the agent has found; only for `xylem attach`.
    std::string note;    ///< A sentence about a problem; usually empty.
  };

  /// Starts the agents. Fails if launch_on() fails; then all launchers that already run are killed.
  static Result<LaunchedAgents> start(const AgentLaunchOptions& options,
                                      const std::vector<AgentPlace>& places);
  LaunchedAgents(LaunchedAgents&&) = default;
  LaunchedAgents& operator=(LaunchedAgents&&) = delete;
  ~LaunchedAgents();

  /// Waits until every agent is ready, at most for `patience`. Returns false after this time, or
  /// when all launchers have ended. May be called again.
  bool wait_until_ready(Nanos patience);
  /// The agents that are ready, in the order of their messages.
  const std::vector<Ready>& ready() const { return ready_; }

  /// Copies the launchers' output and notices which launchers have ended. Never waits.
  void hear();
  bool all_ended() const;
  /// Returns the failures of launchers as one sentence; empty if there are no failures.
  std::string failures() const { return gather_failures(failures_); }

  /// Waits until all launchers have ended. A launcher ends after its agents have ended. Launchers
  /// that still run after `patience` get SIGTERM, and a second later SIGKILL. Returns true if all
  /// launchers have ended without these signals.
  bool wait_for_end(Nanos patience);

 private:
  struct Running {
    std::string host;
    Launched launched;
    UniqueFd pidfd;
    bool ended = false;
  };

  LaunchedAgents() = default;
  void listen();
  void handle_line(const std::string& line);
  void collect(Running& running);
  void poll_for(Nanos max_wait, bool for_answers);
  bool wait_until_ended(Nanos deadline);
  void signal_all(int signal);

  std::vector<Running> running_;
  std::vector<BackEndFailure> failures_;
  // Reading end of the agents' standard output. Closed when the output has ended.
  UniqueFd answers_;
  std::string heard_;  // Received part of an incomplete line.
  unsigned expected_ = 0;
  std::vector<Ready> ready_;
};

}  // namespace xylem::launch
