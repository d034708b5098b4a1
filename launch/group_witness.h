#pragma once

// Distinguishes a signal to our whole process group from one sent only to us.

#include <sys/types.h>

#include <optional>

#include "base/unique_fd.h"

namespace xylem::launch {

/// A process in our process group that only receives signals. The job is in that group too, so that
/// terminals, `timeout` and batch systems reach it as they do without xylem. So a signal that
/// reached the witness has also reached the job and must not be forwarded. The sender's si_code
/// does not help: `kill -INT -- -PGID` looks like `kill -INT PID`.
///
/// Construct it first in main, before other descriptors are open and before a thread starts, with
/// the signals blocked (SignalGate). The process ends with this object or with our process, however
/// that ends. One thread.
class GroupWitness {
 public:
  /// If no process can be created, there is no witness, and reached_group() returns nothing.
  GroupWitness();
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  /// Whether `signal`, which we have just received, was also sent to the group. Waits up to 100 ms
  /// for it, since some senders (Slurm) signal one process after the other. Nothing if the witness
  /// is gone.
  std::optional<bool> reached_group(int signal);

 private:
  pid_t pid_ = -1;
  UniqueFd channel_;
};

}  // namespace xylem::launch
