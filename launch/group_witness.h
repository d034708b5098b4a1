#pragma once

// Finds out whether a signal was sent to our whole process group or only to us.

#include <sys/types.h>

#include <optional>

#include "base/unique_fd.h"

namespace xylem::launch {

/// The witness: a process in our process group that only receives signals. The job is in this group
/// too, so that terminals, `timeout` and batch systems reach the job as they do without xylem. So a
/// signal that has reached the witness has also reached the job, and must not be forwarded. The
/// field si_code does not tell this: `kill -INT -- -PGID` looks like `kill -INT PID`.
///
/// Construct it first in main, before other descriptors are open and before a thread starts, with
/// the signals blocked (SignalGate). The witness ends with this object, and also when our process
/// dies in any way. Not thread-safe.
class GroupWitness {
 public:
  /// If the witness cannot be created, reached_group() returns nothing.
  GroupWitness();
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  /// Whether `signal`, which we have just received, was also sent to the group. Waits up to 100 ms
  /// until it reaches the witness, since some senders (Slurm) signal one process after the other.
  /// Returns nothing if there is no witness any more.
  std::optional<bool> reached_group(int signal);

 private:
  pid_t pid_ = -1;
  UniqueFd channel_;
};

}  // namespace xylem::launch
