#include "backend/find/proc_table.h"

#include <dirent.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <memory>
#include <optional>

#include "backend/find/proc_file.h"

namespace xylem::backend {
namespace {

constexpr std::size_t kMaxEnvironment = 1u << 20;
constexpr std::size_t kMaxCommand = 16u << 10;
constexpr std::size_t kMaxMaps = 8u << 20;  // Some 80 000 mappings.
constexpr std::size_t kMaxStat = 4096;

std::string link_at(const std::string& path) {
  char text[PATH_MAX];
  const ssize_t length = ::readlink(path.c_str(), text, sizeof text);
  return std::string(text, length > 0 ? static_cast<std::size_t>(length) : 0);
}

// Fields 4 (parent) and 22 (start time).
bool read_stat(const std::string& folder, SeenProcess& process) {
  const std::string line = read_start(folder + "/stat", kMaxStat);
  std::string_view rest = behind_name(line);
  for (int field = 3; field <= 22; ++field) {
    const std::string_view word = next_word(rest);
    if (word.empty()) return false;
    const char* end = word.data() + word.size();
    if (field == 4) std::from_chars(word.data(), end, process.parent);
    if (field == 22) std::from_chars(word.data(), end, process.start_time);
  }
  return true;
}

std::optional<SeenProcess> look_at(const std::string& folder, std::uint32_t pid, bool all_users,
                                   std::size_t& unreadable) {
  SeenProcess process;
  process.pid = pid;
  struct stat owner {};
  if (::stat(folder.c_str(), &owner) != 0 || !read_stat(folder, process)) return std::nullopt;
  process.program = link_at(folder + "/exe");
  process.command_line = read_start(folder + "/cmdline", kMaxCommand);
  if (process.command_line.empty()) return process;  // The kernel's own, or a zombie.
  const bool is_ours = owner.st_uid == ::geteuid();
  if (!is_ours && !all_users) return process;
  if (::access((folder + "/environ").c_str(), R_OK) != 0 && errno == EACCES) ++unreadable;
  process.ids = launch_ids(read_start(folder + "/environ", kMaxEnvironment));
  if (process.ids) process.mpi_library = mpi_library_in(read_start(folder + "/maps", kMaxMaps));
  return process;
}

}  // namespace

std::uint64_t start_time_of(std::uint32_t pid) {
  SeenProcess process;
  return read_stat("/proc/" + std::to_string(pid), process) ? process.start_time : 0;
}

std::string no_descriptor_text(int error) {
  if (error == EMFILE) return "its host's agent has no descriptor left (ulimit -n)";
  if (error == ENFILE) return "its host has no descriptor left (sysctl fs.file-max)";
  if (error == 0 || error == ENOENT || error == EACCES)
    return "its host's agent cannot read what /proc says of it";
  return std::string("its host's agent got no descriptor for it: ") + std::strerror(error);
}

Result<UniqueFd> open_process(std::uint32_t pid, std::uint64_t start_time) {
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const auto exhausted = [](int error) {
    return unexpected(Code::kExhausted, no_descriptor_text(error));
  };
  if (!process) return errno == ESRCH ? Result<UniqueFd>(UniqueFd()) : exhausted(errno);
  errno = 0;
  const std::uint64_t found = start_time_of(pid);
  const int error = errno;
  if (found == start_time) return process;
  pollfd end{process.get(), POLLIN, 0};
  const bool is_over = found != 0 || ::poll(&end, 1, 0) > 0;  // 0: its file could not be read.
  return is_over ? Result<UniqueFd>(UniqueFd()) : exhausted(error);
}

std::string mpi_library_in(std::string_view maps) {
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(maps.size(), line.size() + 1));
    const auto slash = line.rfind('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view name = line.substr(slash + 1);
    // "libmpi.so.40", "libmpich.so.12", "libmpi_abi.so.0", "libmpi_cray.so", "libmpicxx" not.
    for (const std::string_view begin : {"libmpi.so", "libmpich.so", "libmpi_abi.so",
                                         "libmpi_cray.so", "libmpi_gnu", "libmpi_intel"}) {
      if (name.starts_with(begin)) return std::string(name);
    }
  }
  return {};
}

ProcTable read_proc_table(bool all_users, const std::string& root) {
  ProcTable table;
  const auto close_folder = [](DIR* folder) { ::closedir(folder); };
  const std::unique_ptr<DIR, decltype(close_folder)> folder{::opendir(root.c_str()), close_folder};
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    std::uint32_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    auto seen = look_at(root + "/" + entry->d_name, pid, all_users, table.unreadable);
    if (seen) table.processes.push_back(*std::move(seen));
  }
  std::sort(table.processes.begin(), table.processes.end(),
            [](const SeenProcess& a, const SeenProcess& b) { return a.pid < b.pid; });
  return table;
}

}  // namespace xylem::backend
