#include "backend/host/control_group.h"

#include <limits>
#include <optional>

#include "backend/find/proc_file.h"

namespace xylem::backend {
namespace {

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = list.find(',');
    if (list.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    list.remove_prefix(end + 1);
  }
  return false;
}

/// Returns this process's group in the hierarchy of a controller: the group of version 1 if the
/// controller is there, else the group of version 2.
struct Group {
  std::string path;
  bool unified = false;
};

std::optional<Group> group_of(std::string_view controller, std::string_view groups) {
  std::optional<Group> unified;
  while (!groups.empty()) {
    const std::string_view line = next_line(groups);
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (has_word(controllers, controller)) return Group{path, false};
    if (controllers.empty()) unified = Group{path, true};
  }
  return unified;
}

struct Mount {
  std::string root;    ///< The part of the hierarchy that the mount shows.
  std::string folder;  ///< The folder at which it is mounted.
};

std::optional<Mount> mount_of(std::string_view controller, bool unified, std::string_view mounts) {
  std::optional<Mount> found;
  while (!mounts.empty()) {
    const std::string_view line = next_line(mounts);
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view fields = line.substr(0, dash);
    for (int i = 0; i < 3; ++i)
      next_word(fields);  // Skips the numbers of mount, parent and device.
    const std::string_view root = next_word(fields);
    const std::string_view folder = next_word(fields);
    std::string_view rest = line.substr(dash + 3);
    const std::string_view kind = next_word(rest);
    next_word(rest);  // The device.
    const std::string_view options = next_word(rest);
    const bool fits =
        unified ? kind == "cgroup2" : kind == "cgroup" && has_word(options, controller);
    if (fits && !folder.empty()) found = {std::string(root), std::string(folder)};
  }
  return found;
}

}  // namespace

std::vector<std::string> group_folders(std::string_view controller, std::string_view groups,
                                       std::string_view mounts) {
  const auto group = group_of(controller, groups);
  if (!group) return {};
  const auto mount = mount_of(controller, group->unified, mounts);
  if (!mount) return {};
  std::string below = group->path;
  if (mount->root != "/") {
    const bool is_inside = below.starts_with(mount->root);
    below = is_inside ? below.substr(mount->root.size()) : "";
  }
  if (!below.starts_with('/')) below.clear();  // Another group, whose name has the same beginning.
  while (!below.empty() && below.back() == '/') below.pop_back();
  std::vector<std::string> folders;
  for (;;) {
    folders.push_back(mount->folder + below);
    if (below.empty()) return folders;
    below.erase(below.rfind('/'));
  }
}

OwnGroups::OwnGroups(const std::string& root) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  groups_ = read_start(root + "/proc/self/cgroup", kAll);
  mounts_ = read_start(root + "/proc/self/mountinfo", kAll);
}

}  // namespace xylem::backend
