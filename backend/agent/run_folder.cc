#include "backend/agent/run_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/run_contract.h"
#include "capture/core/ring.h"

namespace xylem::backend {
namespace {

constexpr int kBacklog = 1024;

}  // namespace

RunFolder::RunFolder(std::string path) : path_(std::move(path)) {
  struct stat found {};
  if (::stat(path_.c_str(), &found) != 0) return;
  device_ = found.st_dev;
  inode_ = found.st_ino;
}

void RunFolder::hold() {
  UniqueFd folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  // Another process may be sweeping, but it does not remove the folder, because this one answers.
  if (folder && ::flock(folder.get(), LOCK_SH | LOCK_NB) == 0) held_ = std::move(folder);
}

bool RunFolder::is_there() const {
  struct stat found {};
  return inode_ != 0 && ::stat(path_.c_str(), &found) == 0 && found.st_dev == device_ &&
         found.st_ino == inode_;
}

bool RunFolder::try_lock() {
  if (!is_there()) return false;
  const std::string name = path_ + "/" + kAgentLockName;
  UniqueFd lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  struct stat held {
  }, named{};
  if (::fstat(lock.get(), &held) != 0 || ::stat(name.c_str(), &named) != 0 ||
      held.st_ino != named.st_ino || held.st_dev != named.st_dev) {
    return false;
  }
  lock_ = std::move(lock);
  return true;
}

void RunFolder::unlink_socket() { ::unlink((path_ + "/" + kAgentSocketName).c_str()); }

bool RunFolder::is_answered() const {
  const std::string name = path_ + "/" + kAgentSocketName;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path) return true;
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         (errno != ECONNREFUSED && errno != ENOENT);
}

Result<UniqueFd> RunFolder::listen() {
  const std::string name = path_ + "/" + kAgentSocketName;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path) {
    return unexpected(Code::kInvalidArgument, "the run folder's name is too long: " + path_);
  }
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  ::unlink(name.c_str());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return unexpected(Code::kInternal, "cannot listen at " + name + ": " + std::strerror(errno));
  }
  return socket;
}

void RunFolder::remove() {
  if (!is_there()) return lock_.reset();
  const auto close_folder = [](DIR* folder) { ::closedir(folder); };
  if (!lock_ && !try_lock()) log(Level::kDebug, "run folder removed without its lock");
  std::vector<std::string> names;
  if (std::unique_ptr<DIR, decltype(close_folder)> folder{::opendir(path_.c_str()), close_folder}) {
    while (const dirent* entry = ::readdir(folder.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != ".." && name != kAgentLockName) names.push_back(name);
    }
  }
  for (const std::string& name : names) ::unlink((path_ + "/" + name).c_str());
  ::unlink((path_ + "/" + kAgentLockName).c_str());
  ::rmdir(path_.c_str());
  lock_.reset();
}

// ---- sweeping ----

namespace {

bool somebody_holds(const std::string& path, UniqueFd& ours) {
  ours.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat found {};
  return !ours || ::fstat(ours.get(), &found) != 0 || found.st_uid != ::geteuid() ||
         ::flock(ours.get(), LOCK_EX | LOCK_NB) != 0;
}

}  // namespace

std::string own_run_folders() {
  char path[kRunFolderBytes];
  return write_run_folder(path, ::geteuid(), "");
}

std::size_t sweep_run_folders(const std::string& prefix) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> candidates;
  for (const auto& entry : fs::directory_iterator(fs::path(prefix).parent_path(), error)) {
    if (entry.path().string().starts_with(prefix)) candidates.push_back(entry.path().string());
  }
  std::size_t removed = 0;
  for (const std::string& path : candidates) {
    UniqueFd ours;
    if (somebody_holds(path, ours)) continue;
    RunFolder folder(path);
    if (!folder.try_lock() || folder.is_answered()) continue;
    folder.remove();
    ++removed;
  }
  return removed;
}

void sweep_own_run_folders() { sweep_run_folders(own_run_folders()); }

SocketFolder::SocketFolder(std::string socket) : socket_(std::move(socket)) {
  if (!socket_.empty()) {
    folder_.emplace(std::filesystem::path(socket_).parent_path().string()).hold();
  }
}

SocketFolder::~SocketFolder() {
  if (!folder_) return;
  ::unlink(socket_.c_str());
  const std::string path = folder_->path();
  folder_.reset();  // A folder that this process holds is not left over.
  sweep_run_folders(path);
}

}  // namespace xylem::backend
