#pragma once

// Starts back ends on hosts with a launcher that runs a command there.

#include <sys/types.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::launch {

/// True for "", "localhost", loopback addresses and this host's own names.
bool is_this_host(const std::string& host);

/// A program that was started, or the launcher that starts it elsewhere. One thread.
class Launched {
 public:
  /// `by` is the launcher; `said` is the reading end of its standard error, none if it shares ours.
  Launched(pid_t pid, std::string by, UniqueFd said)
      : pid_(pid), by_(std::move(by)), said_(std::move(said)) {}

  pid_t pid() const { return pid_; }             ///< The caller collects it.
  const std::string& by() const { return by_; }  ///< Empty: the program itself was started.
  int said() const { return said_.get(); }       ///< Descriptor to watch; -1: none.
  /// Copies the launcher's new output to our standard error and keeps its last line. Never waits.
  /// False at the end of the output.
  bool hear();
  const std::string& last_line() const { return last_line_; }

 private:
  pid_t pid_;
  std::string by_;
  UniqueFd said_;
  std::string last_line_;
  bool is_whole_ = true;  // last_line_ has had its end.
};

/// Further options of a start.
struct LaunchHow {
  int standard_output = -1;  ///< Borrowed descriptor that becomes the program's; -1: ours.
  /// In a session of its own: keys pressed at the terminal do not reach it.
  bool own_session = false;
};

/// Starts a program on a host, with `environment` ("NAME=value") added to the host's own.
///
/// Here: directly. Elsewhere, or when a launcher is given: "LAUNCHER HOST sh", whose standard input
/// gets a script with environment and command. So nothing secret is on a command line, and it does
/// not matter whether the launcher joins its arguments into a shell command. The default launcher
/// is ssh, without prompts.
///
/// The program's standard input is empty; its standard output is ours unless `how` says otherwise.
/// Standard error is ours too, through Launched::hear if there is a launcher. Fails with kNotFound
/// when the program, or the launcher, cannot be started here.
Result<Launched> launch_on(const std::string& host, const std::string& launcher,
                           const std::vector<std::string>& command,
                           const std::vector<std::string>& environment, LaunchHow how = {});

/// A back end that ended before the tree was complete, or later with an error.
struct BackEndFailure {
  std::string host;  ///< As requested; empty: this host.
  std::string how;   ///< "ended with code 255: ssh: Could not resolve hostname node9"
  std::string by;    ///< The launcher; empty: none.
};

/// The failures as one sentence: hosts with the same error (except for host names) are grouped,
/// with the text of the first, followed by how to test the launcher by hand. Empty without
/// failures.
std::string gather_failures(std::span<const BackEndFailure> failures);

}  // namespace xylem::launch
