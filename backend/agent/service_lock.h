#pragma once

// Who takes a service's samples on a host: one back end, whoever is first.

#include <string>

#include "base/unique_fd.h"

namespace xylem::backend {

/// A lock that the kernel takes away with its holder, however that ends: a file in the run's folder
/// on this host, locked. A file that is no longer in the folder counts for nothing. One thread.
class ServiceLock {
 public:
  /// `folder` is the run's; empty: nobody else is there, and the lock is had for the asking.
  ServiceLock(const std::string& folder, const std::string& service);

  /// True when it is held, now or since before. Never waits. Costs an open file until it is held.
  bool try_hold();
  bool is_held() const { return held_; }
  /// Somebody else may have it. The file stays: it goes with the folder.
  void release();

 private:
  std::string path_;
  UniqueFd file_;
  bool held_ = false;
};

}  // namespace xylem::backend
