#pragma once

// Starts back ends on hosts, with a launcher (ssh, srun) if necessary.

#include <sys/types.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::launch {

/// Returns true for "", "localhost", loopback addresses and this host's own names.
bool is_this_host(const std::string& host);

/// A child process: the program that was started, or the launcher that runs it on another host.
/// Not thread-safe.
class Launched {
 public:
  /// `by` is the launcher. `said` is the reading end of the child's standard error. It is empty if
  /// the child writes to our standard error itself.
  Launched(pid_t pid, std::string by, UniqueFd said)
      : pid_(pid), by_(std::move(by)), said_(std::move(said)) {}

  pid_t pid() const { return pid_; }             ///< The caller must call waitpid().
  const std::string& by() const { return by_; }  ///< The launcher; empty: the program itself.
  int said() const { return said_.get(); }       ///< Call hear() if this is readable; -1: none.
  /// Copies new output of the launcher to our standard error, and keeps its last line. Never
  /// blocks. Returns false at the end of the output.
  bool hear();
  const std::string& last_line() const { return last_line_; }

 private:
  pid_t pid_;
  std::string by_;
  UniqueFd said_;
  std::string last_line_;
  bool is_whole_ = true;  // True if `last_line_` is complete: the next character begins a new line.
};

/// Further options of a start.
struct LaunchHow {
  int standard_output = -1;  ///< Descriptor for the program's standard output, borrowed; -1: ours.
  /// If true, the child gets a new session, so that keys pressed at the terminal do not reach the
  /// child.
  bool own_session = false;
};

/// Starts a program on a host. Adds `environment` ("NAME=value") to the environment on that host.
///
/// If the host is this one and no launcher is given, starts the program directly. Otherwise runs
/// "LAUNCHER HOST sh" and writes a script with environment and command to its standard input. So no
/// secret is on a command line. It also does not matter whether the launcher joins its arguments
/// into a shell command. The default launcher is ssh, with options that prevent questions to the
/// user.
///
/// The program's standard input is empty. Its standard output is ours, or `how.standard_output`.
/// Its standard error is ours; Launched::hear() copies the output of a launcher to it. Fails with
/// kNotFound if the program or the launcher cannot be started on this host. Fails with
/// kInvalidArgument if the script would be longer than 60,000 bytes.
Result<Launched> launch_on(const std::string& host, const std::string& launcher,
                           const std::vector<std::string>& command,
                           const std::vector<std::string>& environment, LaunchHow how = {});

/// A back end that ended before the tree was complete, or that ended later with an error.
struct BackEndFailure {
  std::string host;  ///< The host as the caller named it; empty: this host.
  std::string how;   ///< For example "ended with code 255: ssh: Could not resolve hostname node9".
  std::string by;    ///< The launcher; empty: none.
};

/// Returns the failures as one sentence; empty if there are no failures. If errors differ only in
/// the host's name, the hosts are listed together, with the error of the first host. The sentence
/// also has a command with which the user can test the launcher.
std::string gather_failures(std::span<const BackEndFailure> failures);

}  // namespace xylem::launch
