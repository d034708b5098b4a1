#pragma once

// Elects the back end that takes the samples of a service on a host. The first back end that tries
// wins.

#include <string>

#include "base/unique_fd.h"

namespace xylem::backend {

/// A locked file in the run's folder on this host. The kernel releases the lock when its holder
/// ends. A file that is no longer in the folder does not count. Not thread-safe.
class ServiceLock {
 public:
  /// `folder` is the run's folder. If it is empty, there is no other back end, and try_hold()
  /// always succeeds.
  ServiceLock(const std::string& folder, const std::string& service);

  /// True if this object now holds the lock. Never waits. Each failed try opens the file once.
  bool try_hold();
  bool is_held() const { return held_; }
  /// Releases the lock. The file stays until the folder is removed.
  void release();

 private:
  std::string path_;
  UniqueFd file_;
  bool held_ = false;
};

}  // namespace xylem::backend
