#pragma once

// Agents that a launcher starts on hosts, in place of each host's first rank: in a Slurm
// allocation, where they are a step of their own, and for a job that runs already.

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "launch/back_end_launch.h"

namespace xylem::launch {

/// One call of the launcher.
struct AgentPlace {
  std::string host;     ///< As the launcher takes it; with Slurm, all of them in one text.
  unsigned agents = 1;  ///< So many start there.
  std::vector<std::string> arguments;  ///< For xylem-backend, behind --launched.
};

struct AgentLaunchOptions {
  std::string launcher;  ///< See launch_on().
  std::string program;   ///< Absolute path of xylem-backend, the same on all hosts.
  /// NAME=VALUE: address, run, key and so on, as ranks get them; never on a command line.
  std::vector<std::string> environment;
};

/// Order: start(), wait_until_ready(), later wait_for_end(); hear() in between, now and then. One
/// thread. Launchers run in sessions of their own; what they say on standard error goes to ours.
/// Who drops this ends the launchers that still run, by SIGKILL.
class LaunchedAgents {
 public:
  /// What an agent said of itself when it stood.
  struct Ready {
    std::string host;
    unsigned ranks = 0;  ///< That it has found: attach only.
    std::string note;    ///< A sentence about what it could not do; mostly empty.
  };

  /// Fails as launch_on() does; then nothing is left running.
  static Result<LaunchedAgents> start(const AgentLaunchOptions& options,
                                      const std::vector<AgentPlace>& places);
  LaunchedAgents(LaunchedAgents&&) = default;
  LaunchedAgents& operator=(LaunchedAgents&&) = delete;
  ~LaunchedAgents();

  /// True when every agent has said that it stands; false when that will not come, or not within
  /// `patience`. May be called again.
  bool wait_until_ready(Nanos patience);
  /// Those who stand, in the order in which they said so.
  const std::vector<Ready>& ready() const { return ready_; }

  /// Passes on what launchers have said, and collects those that have ended. Never waits.
  void hear();
  bool all_ended() const;
  /// How the launchers that failed did: gather_failures(), or empty.
  std::string failures() const { return gather_failures(failures_); }

  /// Waits for the launchers' end, which follows their agents'. After `patience` they are asked to
  /// end by SIGTERM, a second later told by SIGKILL. True when they ended by themselves.
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
