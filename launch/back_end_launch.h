#pragma once

// Starting back ends on hosts, by whatever runs a command there.

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
  /// `by` is the launcher; `said` the reading end of its standard error, -1 when that is ours.
  Launched(pid_t pid, std::string by, UniqueFd said)
      : pid_(pid), by_(std::move(by)), said_(std::move(said)) {}

  pid_t pid() const { return pid_; }             ///< The caller's to collect.
  const std::string& by() const { return by_; }  ///< Empty: the program itself was started.
  int said() const { return said_.get(); }       ///< To be watched; -1: nothing to hear.
  /// Passes on to our standard error what the launcher has said since, and keeps its last line.
  /// Never waits. False when it will say nothing more.
  bool hear();
  const std::string& last_line() const { return last_line_; }

 private:
  pid_t pid_;
  std::string by_;
  UniqueFd said_;
  std::string last_line_;
  bool is_whole_ = true;  // last_line_ has had its end.
};

/// What else there is to say of a start.
struct LaunchHow {
  int standard_output = -1;  ///< Borrowed descriptor that becomes the program's; -1: ours.
  /// In a session of its own: keys pressed at the terminal do not reach it.
  bool own_session = false;
};

/// Starts a program on a host, with `environment` ("NAME=value") added to what it has there.
///
/// Here: directly. Elsewhere, or when a launcher is given: "LAUNCHER HOST sh", whose standard input
/// gets a script with environment and command; so nothing secret stands on a command line, and
/// launchers that join their arguments to a shell command do as well as those that do not. Without
/// a launcher that is ssh, which asks no questions.
///
/// Its standard input is empty, its output ours unless `how` says otherwise. Standard error is ours
/// too, by way of Launched::hear where there is a launcher. Fails with kNotFound when the program,
/// or the launcher, cannot be started here.
Result<Launched> launch_on(const std::string& host, const std::string& launcher,
                           const std::vector<std::string>& command,
                           const std::vector<std::string>& environment, LaunchHow how = {});

/// A back end that ended before the tree was there, or badly later.
struct BackEndFailure {
  std::string host;  ///< As it was asked for; empty: this host.
  std::string how;   ///< "ended with code 255: ssh: Could not resolve hostname node9"
  std::string by;    ///< The launcher; empty: none.
};

/// What has failed, as one sentence: hosts on which the same happened (but for their names)
/// together, with the words of the first; and how to try a launcher by hand. Empty for none.
std::string gather_failures(std::span<const BackEndFailure> failures);

}  // namespace xylem::launch
