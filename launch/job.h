#pragma once

// The job of `xylem run` as a child process. It shares our standard streams, terminal and process
// group, and gets each of our signals once:
//
//   sent to                            the job has it            we
//   the group: ctrl-C, kill -- -PGID   by itself                 do nothing
//   us alone: kill PID, batch system   because we hand it on     hand it on
//   us, then the group: timeout        as without xylem, twice   hand on the first
//
// Because of the common group, ctrl-Z and fg stop and continue both processes, the job can read
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

/// Blocks the signals that are forwarded to a job, in this thread and later ones, and saves the
/// previous mask for the job. Ignored signals stay ignored. A file size limit no longer ends this
/// process (survive_size_limit); it affects the job as without xylem. Construct it first in main.
class SignalGate {
 public:
  SignalGate();

  /// The number of a pending signal that would have ended the job. Check it before the job starts,
  /// since the job would not get it.
  std::optional<int> ended_before_start() const;

 private:
  friend class Job;
  unsigned char blocked_before_[128];  // sigset_t, kept out of the header.
  bool ignored_size_limit_before_ = false;
};

/// A started job.
class Job {
 public:
  /// Starts `command` (searched in PATH) with `environment` added to ours and the signal mask from
  /// before the gate. Fails with kNotFound or kPermissionDenied as a shell would (codes 127 and
  /// 126).
  static Result<Job> start(const std::vector<std::string>& command, const Environment& environment,
                           const SignalGate& gate);

  pid_t pid() const noexcept { return pid_; }

  /// Waits for the end of the job. Forwards each signal that was sent only to us, according to
  /// `witness`, or, without a witness, each signal that does not come from the terminal. Returns
  /// what a shell would: the exit code, or 128 + signal. Calls `attend` when any child of this
  /// process may have ended, and at the latest after the time it last returned (nothing: no limit).
  int wait(GroupWitness& witness, const std::function<std::optional<Nanos>()>& attend);

 private:
  explicit Job(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace xylem::launch
