#pragma once

// Finds the control group folders of this process, for cgroup v1 and v2, also in a container.

#include <string>
#include <string_view>
#include <vector>

namespace xylem::backend {

/// The folders with a controller's files for this process: its own group first, then the groups
/// above it. `controller` is "cpu", "cpuacct" or "memory". `groups` is the text of
/// /proc/self/cgroup and `mounts` of /proc/self/mountinfo; of several matching mounts the last
/// counts. In a mount that shows only a container's own group, the search starts there. Empty:
/// none.
std::vector<std::string> group_folders(std::string_view controller, std::string_view groups,
                                       std::string_view mounts);

/// The same for this process. Reads both texts once, in the constructor; a text that cannot be read
/// is empty.
class OwnGroups {
 public:
  OwnGroups() = default;
  /// `root` is a prefix of /proc, for tests; not of the returned folders.
  explicit OwnGroups(const std::string& root);
  std::vector<std::string> folders(std::string_view controller) const {
    return group_folders(controller, groups_, mounts_);
  }

 private:
  std::string groups_, mounts_;
};

}  // namespace xylem::backend
