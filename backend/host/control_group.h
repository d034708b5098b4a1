#pragma once

// Where the control groups of this process stand, of either version, also in a container.

#include <string>
#include <string_view>
#include <vector>

namespace xylem::backend {

/// Where a controller's files of this process stand: its own group first, then those above it.
/// `controller` is "cpu", "cpuacct" or "memory". `groups` is the text of /proc/self/cgroup and
/// `mounts` of /proc/self/mountinfo; of several mounts the last that fits. A mount that shows only
/// what is below a container's own group is looked into from there. Empty: none.
std::vector<std::string> group_folders(std::string_view controller, std::string_view groups,
                                       std::string_view mounts);

/// The same of this process, which reads both texts once: as they are when this is made. What
/// cannot be read is empty.
class OwnGroups {
 public:
  OwnGroups() = default;
  /// `root` stands before /proc, for tests; not before the folders that are found.
  explicit OwnGroups(const std::string& root);
  std::vector<std::string> folders(std::string_view controller) const {
    return group_folders(controller, groups_, mounts_);
  }

 private:
  std::string groups_, mounts_;
};

}  // namespace xylem::backend
