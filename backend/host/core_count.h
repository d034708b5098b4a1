#pragma once

// How many cores the processes of this host may use, by hwloc: slow to learn, and of a size that
// stays with whoever has loaded it. So a child does it, and ends.

#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// Cores that hold at least one processor that control groups let this process use; processors
/// where hwloc sees no cores. Takes tens of milliseconds and about 2 MB. Fails with kUnavailable.
Result<double> count_cores();

/// count_cores() in a child process. One thread.
class CoreCount {
 public:
  CoreCount() = default;
  CoreCount(const CoreCount&) = delete;
  CoreCount& operator=(const CoreCount&) = delete;
  /// Ends the child.
  ~CoreCount();

  /// Fails with kExhausted when the system gives no process or pipe.
  Result<void> start();
  /// Readable when the child has ended; -1 when there is none.
  int fd() const { return pipe_.get(); }
  /// To be called when fd() is readable: collects the child. nullopt when it could not count.
  std::optional<double> collect();

 private:
  UniqueFd pipe_;
  int pid_ = 0;
};

}  // namespace xylem::backend
