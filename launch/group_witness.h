#pragma once

// Finds out whether a signal was sent to our whole process group or only to our process.

#include <sys/types.h>

#include <optional>

#include "base/unique_fd.h"

namespace xylem::launch {

/// The witness is a process in our process group that only receives signals. The job is in this
/// group too. So terminals, `timeout` and batch systems reach the job as they do without xylem. A
/// signal to the group reaches the witness and the job, so it must not be forwarded. The field
/// `si_code` of a signal does not help: it is the same for `kill -INT -- -PGID` and `kill -INT
/// PID`.
///
/// Construct it at the beginning of main, after a SignalGate has blocked the signals. No other
/// descriptor may be open, and no thread may run. The witness ends with this object, and also when
/// our process dies in any way. Not thread-safe.
class GroupWitness {
 public:
  /// If the witness cannot be created, reached_group() returns nullopt.
  GroupWitness();
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  /// Call it when our process has received `signal`. Returns whether the signal was also sent to
  /// the group. Waits up to 100 ms until the witness also has the signal, since some senders
  /// (Slurm) signal one process after the other. Returns nullopt if the witness does not exist, or
  /// does not answer within a second.
  std::optional<bool> reached_group(int signal);

 private:
  pid_t pid_ = -1;
  UniqueFd channel_;
};

}  // namespace xylem::launch
