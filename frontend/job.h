#pragma once

// The job of `xylem run` as a child process: it keeps our standard streams and terminal, and gets
// our signals.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "frontend/launch.h"

namespace xylem::frontend {

/// Blocks the signals that a job shall get, in this thread and those made later, and remembers how
/// they were, for the job. Construct it first in main.
class SignalGate {
 public:
  SignalGate();

 private:
  friend class Job;
  unsigned char blocked_before_[128];  // sigset_t, kept out of the header.
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

  /// Waits for the end; meanwhile hands on to the job each signal that somebody sent to us. Signals
  /// from the terminal reach the job by themselves, as it is in our process group. Returns what a
  /// shell would: the exit code, or 128 + signal.
  int wait();

 private:
  explicit Job(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace xylem::frontend
