#pragma once

// Finds the control group folders of this process, for cgroup v1 and v2, also in a container.

#include <string>
#include <string_view>
#include <vector>

namespace xylem::backend {

/// Returns the folders that have a controller's files for this process. The folder of the process's
/// own group comes first. Then come the folders of the groups above this group. `controller` is
/// "cpu", "cpuacct" or "memory". `groups` is the text of /proc/self/cgroup, and `mounts` is the
/// text of /proc/self/mountinfo. If several mounts match, the last counts. If a mount shows only a
/// container's own group, the search starts at that group. Returns nothing if this process has no
/// group of the controller, or if no mount shows it.
std::vector<std::string> group_folders(std::string_view controller, std::string_view groups,
                                       std::string_view mounts);

/// Finds the groups of this process. The constructor reads the two texts of group_folders(). A text
/// that cannot be read counts as empty. Constant after construction, so any thread may call
/// folders().
class OwnGroups {
 public:
  OwnGroups() = default;
  /// `root` is a prefix of /proc, for tests. The returned folders do not have this prefix.
  explicit OwnGroups(const std::string& root);
  std::vector<std::string> folders(std::string_view controller) const {
    return group_folders(controller, groups_, mounts_);
  }

 private:
  std::string groups_, mounts_;
};

}  // namespace xylem::backend
