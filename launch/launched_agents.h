#pragma once

// Agents that a launcher starts on hosts, instead of each host's first rank: in a Slurm allocation,
// as a separate step, and for a job that is already running.

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "launch/back_end_launch.h"

namespace xylem::launch {

/// One call of the launcher.
struct AgentPlace {
  std::string host;     ///< In the launcher's form; with Slurm, all hosts in one text.
  unsigned agents = 1;  ///< Number of agents to start there.
  std::vector<std::string> arguments;  ///< For xylem-backend, after --launched.
};

struct AgentLaunchOptions {
  std::string launcher;  ///< See launch_on().
  std::string program;   ///< Absolute path of xylem-backend, the same on all hosts.
  /// NAME=VALUE: address, run, key and so on, as for ranks; never on a command line.
  std::vector<std::string> environment;
};

/// Order: start(), wait_until_ready(), later wait_for_end(); hear() from time to time in between.
/// One thread. Launchers run in their own sessions; their standard error is copied to ours. The
/// destructor kills running launchers with SIGKILL.
class LaunchedAgents {
 public:
  /// An agent's message when it is ready.
  struct Ready {
    std::string host;
    unsigned ranks = 0;  ///< Ranks that it has found: attach only.
    std::string note;    ///< A sentence about a problem; usually empty.
  };

  /// Fails as launch_on() does; then nothing is left running.
  static Result<LaunchedAgents> start(const AgentLaunchOptions& options,
                                      const std::vector<AgentPlace>& places);
  LaunchedAgents(LaunchedAgents&&) = default;
  LaunchedAgents& operator=(LaunchedAgents&&) = delete;
  ~LaunchedAgents();

  /// True when every agent is ready; false when that cannot happen, or not within `patience`. May
  /// be called again.
  bool wait_until_ready(Nanos patience);
  /// The agents that are ready, in the order of their messages.
  const std::vector<Ready>& ready() const { return ready_; }

  /// Copies the launchers' output and collects launchers that have ended. Never waits.
  void hear();
  bool all_ended() const;
  /// The launchers' failures: gather_failures(), or empty.
  std::string failures() const { return gather_failures(failures_); }

  /// Waits for the launchers' end, which follows their agents'. After `patience` they get SIGTERM,
  /// and a second later SIGKILL. True if they ended by themselves.
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
  void poll_for(Nanos most, bool for_answers);
  bool wait_until_ended(Nanos deadline);
  void signal_all(int signal);

  std::vector<Running> running_;
  std::vector<BackEndFailure> failures_;
  UniqueFd answers_;   // Reading end of the agents' standard output; none at its end.
  std::string heard_;  // Of the line that is not yet whole.
  unsigned expected_ = 0;
  std::vector<Ready> ready_;
};

}  // namespace xylem::launch
