#pragma once

// The job of `xylem run` as a child process. It shares our standard streams, terminal and process
// group. The job gets the same signals as without xylem:
//
//   sent to                            the job has it            we
//   the group: ctrl-C, kill -- -PGID   directly                  do nothing
//   us alone: kill PID, batch system   because we forward it     forward it
//   us, then the group: timeout(1)     once or twice             forward at most one
//
// We share the process group, so ctrl-Z and fg stop and continue both processes. The job can read
// from the terminal, and a pipeline stays one job of the shell.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "launch/group_witness.h"
#include "launch/launch.h"

namespace xylem::launch {

/// Blocks the signals that are forwarded to a job, in this thread and in threads started later.
/// Saves the previous mask for the job. Ignored signals stay ignored. A file size limit no longer
/// ends this process (survive_size_limit); for the job, the limit has the same effect as without
/// xylem. Construct it at the beginning of main.
class SignalGate {
 public:
  SignalGate();

  /// Removes a pending signal that would end the job, and returns its number; nullopt if no such
  /// signal is pending. Call it before the job starts. A signal that was sent to the group earlier
  /// did not reach the job, and wait() would not forward it.
  std::optional<int> ended_before_start() const;

 private:
  friend class Job;
  unsigned char blocked_before_[128];  // A sigset_t; this header does not include <signal.h>.
  bool ignored_size_limit_before_ = false;
};

/// A started job. Not thread-safe.
class Job {
 public:
  /// Searches `command` in PATH and starts it. Adds `environment` to our environment, and restores
  /// the signal mask that `gate` saved. Fails with kInvalidArgument if `command` is empty, and with
  /// kPermissionDenied if the system forbids it (a shell exits with 126). Fails with kExhausted if
  /// the system has no memory or no process for the job. Any other failure is kNotFound (a shell
  /// exits with 127).
  static Result<Job> start(const std::vector<std::string>& command, const Environment& environment,
                           const SignalGate& gate);

  pid_t pid() const noexcept { return pid_; }

  /// Waits for the end of the job. Returns the exit code that a shell would return: 128 + signal if
  /// a signal has ended the job.
  ///
  /// Forwards each signal that, according to `witness`, was sent only to our process. If the
  /// witness is gone, forwards each signal that does not come from the terminal.
  ///
  /// Calls `attend` when a child of this process may have ended. `attend` returns a maximum
  /// duration until its next call; nullopt means no maximum.
  int wait(GroupWitness& witness, const std::function<std::optional<Nanos>()>& attend);

 private:
  explicit Job(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace xylem::launch
