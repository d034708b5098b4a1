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

/// Returns true for "", "localhost", "127.0.0.1", "::1", and this host's name, full or short.
bool is_this_host(const std::string& host);

/// A child process: the program that was started, or the launcher that runs it on another host.
/// Not thread-safe.
class Launched {
 public:
  /// `by` is the launcher; empty if the child is the program itself. `said` is the reading end of
  /// the launcher's standard error. Without a launcher `said` is empty, and the child writes to our
  /// standard error.
  Launched(pid_t pid, std::string by, UniqueFd said)
      : pid_(pid), by_(std::move(by)), said_(std::move(said)) {}

  pid_t pid() const { return pid_; }  ///< The caller must call waitpid().
  /// The launcher; empty if the child is the program itself.
  const std::string& by() const { return by_; }
  /// Call hear() if this is readable; -1 without a launcher.
  int said() const { return said_.get(); }
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
  /// Descriptor for the child's standard output, borrowed; -1 means our standard output.
  int standard_output = -1;
  /// Without a launcher: descriptor for the child's standard error, borrowed; -1 means our standard
  /// error.
  int standard_error = -1;
  /// If true, the child gets a new session. Then keys pressed at the terminal do not reach the
  /// child.
  bool own_session = false;
};

/// Starts a program on a host. Adds `environment` ("NAME=value") to the environment on that host.
///
/// If the host is this one and no launcher is given, starts the program directly. Otherwise runs
/// "LAUNCHER HOST sh" and writes a script to the launcher's standard input. The script contains the
/// environment and the command. So no secret is on a command line, and launchers that join their
/// arguments into a shell command also work. The default launcher is ssh, with options that prevent
/// questions to the user.
///
/// The program's standard input is empty. The child's standard output is ours, or
/// `how.standard_output`. Without a launcher, the program's standard error is ours, or
/// `how.standard_error`. With a launcher, Launched::hear() copies the launcher's standard error to
/// ours.
///
/// Fails with kNotFound if the program or the launcher is not on this host, with kPermissionDenied
/// if it may not be executed, and with kExhausted if the system refuses another process. Fails with
/// kInvalidArgument if the launcher is blank, or if the script would be longer than 60,000 bytes.
/// Also fails if make_pipe() fails.
Result<Launched> launch_on(const std::string& host, const std::string& launcher,
                           const std::vector<std::string>& command,
                           const std::vector<std::string>& environment, LaunchHow how = {});

/// A back end, or its launcher, that has ended with an error.
struct BackEndFailure {
  std::string host;  ///< The host as the caller named it; empty: this host.
  std::string how;   ///< For example "ended with code 255: ssh: Could not resolve hostname node9".
  std::string by;    ///< The launcher; empty if there was none.
};

/// Returns the failures as one sentence; empty if there are no failures. If errors differ only in
/// the host's name, the hosts are listed together, with the error of the first host. If a launcher
/// was used, the sentence also has a command with which the user can test the launcher.
std::string gather_failures(std::span<const BackEndFailure> failures);

}  // namespace xylem::launch
