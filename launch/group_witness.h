#pragma once

// Tells a signal that went to our whole process group from one that was sent to us alone.

#include <sys/types.h>

#include <optional>

#include "base/unique_fd.h"

namespace xylem::launch {

/// A process in our process group that does nothing but be signalled. The job is in that group too,
/// so that terminals, `timeout` and batch systems reach it as they do without xylem; what reached
/// the witness has therefore reached the job, and must not be handed on to it a second time. The
/// sender's si_code does not tell: `kill -INT -- -PGID` looks like `kill -INT PID`.
///
/// Make it first in main, before other descriptors are open and before a thread is started; the
/// signals in question must be blocked (SignalGate). It ends with this object, or with this process
/// however that ends. One thread.
class GroupWitness {
 public:
  /// Without a process to be had there is no witness, and reached_group() never knows.
  GroupWitness();
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  /// Whether `signal`, which we have just taken, went to the group as well. Waits up to 100 ms for
  /// it: some senders (Slurm) go from process to process. Nothing when the witness is gone.
  std::optional<bool> reached_group(int signal);

 private:
  pid_t pid_ = -1;
  UniqueFd channel_;
};

}  // namespace xylem::launch
