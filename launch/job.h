#pragma once

// The job of `xylem run` as a child process: it keeps our standard streams, terminal and process
// group, and gets our signals, each once:
//
//   sent to                            the job has it            we
//   the group: ctrl-C, kill -- -PGID   by itself                 do nothing
//   us alone: kill PID, batch system   because we hand it on     hand it on
//   us, then the group: timeout        as without xylem, twice   hand on the first
//
// Because the group is one, ctrl-Z and fg stop and continue us both, the job reads from the
// terminal, and a pipeline stays one job of the shell.

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

/// Blocks the signals that a job shall get, in this thread and those made later, and remembers how
/// they were, for the job. Signals that are ignored stay so. A limit of file sizes does not end
/// this process from now on (survive_size_limit), the job as it would without xylem. Construct it
/// first in main.
class SignalGate {
 public:
  SignalGate();

  /// A signal that has come already and would have ended a job that there is not yet: its number.
  /// For the moment before the job is started, which could not get it any more.
  std::optional<int> ended_before_start() const;

 private:
  friend class Job;
  unsigned char blocked_before_[128];  // sigset_t, kept out of the header.
  bool ignored_size_limit_before_ = false;
};

/// A started job.
class Job {
 public:
  /// Starts `command` (searched in PATH) with `environment` set on top of ours, the signal mask of
  /// before the gate. Fails with kNotFound or kPermissionDenied as a shell would (codes 127 and
  /// 126).
  static Result<Job> start(const std::vector<std::string>& command, const Environment& environment,
                           const SignalGate& gate);

  pid_t pid() const noexcept { return pid_; }

  /// Waits for the end; meanwhile hands on to the job each signal that came to us alone, as
  /// `witness` tells; without it those that do not come from the terminal. Returns what a shell
  /// would: the exit code, or 128 + signal. Calls `attend` when any child of this process may have
  /// ended, and at the latest after what it returned the last time (nothing: no need).
  int wait(GroupWitness& witness, const std::function<std::optional<Nanos>()>& attend);

 private:
  explicit Job(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace xylem::launch
