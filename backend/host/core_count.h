#pragma once

// Counts the cores of this host that this process may use. The library hwloc is slow, and its
// memory stays allocated. So a child process counts the cores and then ends.

#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem::backend {

/// Returns the number of cores. A core counts if control groups allow this process to use at least
/// one of the core's processors (hardware threads). If hwloc sees no cores, processors are counted.
/// Takes tens of milliseconds and about 2 MB. Fails with kUnavailable when hwloc fails, or finds
/// neither cores nor processors.
Result<double> count_cores();

/// Runs count_cores() in a child process. Not thread-safe.
class CoreCount {
 public:
  CoreCount() = default;
  CoreCount(const CoreCount&) = delete;
  CoreCount& operator=(const CoreCount&) = delete;
  /// Ends the child.
  ~CoreCount();

  /// Fails with kExhausted when the system cannot create a process or pipe.
  Result<void> start();
  /// The descriptor is readable when the child has counted or has ended; -1 when there is no child.
  int fd() const { return pipe_.get(); }
  /// Collects the child and returns its count, or nullopt when counting failed. Call it when fd()
  /// is readable.
  std::optional<double> collect();

 private:
  UniqueFd pipe_;
  int pid_ = 0;
};

}  // namespace xylem::backend
