#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "storage/schema_internal.h"
#include "storage/write/store_file_internal.h"

namespace xylem::storage {
namespace {

constexpr mode_t kOwnerOnly = 0600;

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

Unexpected cannot_make(const std::string& path, int why) {
  const std::string start = path + ": the store cannot be made there: ";
  switch (why) {
    case ENOENT:
    case ENOTDIR: {
      std::error_code failure;
      if (std::filesystem::is_directory(folder_of(path), failure)) {
        return unexpected(Code::kNotFound, start + "its folder takes no new files (" +
                                               std::strerror(why) +
                                               "); name another place by --store");
      }
      return unexpected(Code::kNotFound, start + "there is no folder " + folder_of(path) +
                                             "; make it, or name another place by --store");
    }
    case EACCES:
    case EPERM:
    case EROFS:
      return unexpected(Code::kPermissionDenied,
                        start + std::strerror(why) + "; name another place by --store");
    case ENOSPC:
    case EDQUOT:
      return unexpected(Code::kExhausted,
                        start + std::strerror(why) + "; free some, or name another by --store");
    default:
      return unexpected(Code::kInternal, start + std::strerror(why));
  }
}

}  // namespace

Result<UniqueFd> hold_old_run(const std::string& path, bool lock) {
  UniqueFd old(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!old) return cannot_make(path, errno);
  if (!is_run_file(old.get())) {
    return unexpected(Code::kInvalidArgument,
                      path +
                          ": it exists and is not a run of xylem, so it is not overwritten; "
                          "remove it yourself, or name another place by --store");
  }
  if (lock && ::flock(old.get(), LOCK_EX | LOCK_NB) != 0) {
    return unexpected(Code::kUnavailable,
                      path + ": another xylem is writing it; name another place by --store");
  }
  return old;
}

Result<ClaimedFile> claim_file(const std::string& path, bool overwrite, bool lock) {
  if (path.empty()) return unexpected(Code::kInvalidArgument, "the store's path is empty");
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) {
      return unexpected(Code::kInvalidArgument,
                        path + ": it is a directory; name a file in it by --store");
    }
    if (!S_ISREG(found.st_mode)) {
      return unexpected(Code::kInvalidArgument, path + ": it is not a regular file");
    }
    if (!overwrite) {
      return unexpected(Code::kAlreadyExists,
                        path + ": it exists; --overwrite replaces it, --store names another");
    }
    const auto old = hold_old_run(path, lock);
    if (!old) return unexpected(old.error());
    remove_database(path);
  }
  ClaimedFile file{
      path, UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly))};
  if (!file.lock && errno == EEXIST) {
    return unexpected(Code::kAlreadyExists, path + ": another process has just created it");
  }
  if (!file.lock) return cannot_make(path, errno);
  if (lock && ::flock(file.lock.get(), LOCK_EX | LOCK_NB) != 0) return cannot_make(path, errno);
  if (!lock) file.lock.reset();
  return file;
}

Result<ClaimedFile> reclaim_file(const std::string& path, bool lock) {
  ClaimedFile file{path, UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC))};
  if (!file.lock) {
    const int why = errno;
    const Code code = why == ENOENT || why == ENOTDIR                 ? Code::kNotFound
                      : why == EACCES || why == EPERM || why == EROFS ? Code::kPermissionDenied
                                                                      : Code::kInternal;
    return unexpected(code, path + ": the store cannot be opened again: " + std::strerror(why));
  }
  if (!is_run_file(file.lock.get())) {
    return unexpected(Code::kInvalidArgument, path + ": it is not a run of xylem any more");
  }
  if (lock) static_cast<void>(::flock(file.lock.get(), LOCK_EX | LOCK_NB));
  return file;
}

long file_system_of(const std::string& path) {
  struct statfs found {};
  if (::statfs(folder_of(path).c_str(), &found) != 0) return 0;
  return static_cast<long>(found.f_type);
}

bool is_network_file_system(long type) {
  // From statfs(2) and the file systems' own headers; f_type is 32 bits wide, whatever its type.
  constexpr std::array<std::uint32_t, 6> kNetwork = {
      0x6969,      // NFS
      0x0BD00BD0,  // Lustre
      0x47504653,  // GPFS
      0x19830326,  // BeeGFS
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB2
  };
  return std::ranges::find(kNetwork, static_cast<std::uint32_t>(type)) != kNetwork.end();
}

Result<std::string> make_live_folder() {
  const char* const tmpdir = std::getenv("TMPDIR");
  std::string folder = tmpdir != nullptr && *tmpdir != '\0' ? tmpdir : "/tmp";
  folder += "/xylem-live-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return cannot_make(folder, errno);
  return folder;
}

void remove_database(const std::string& path) {
  bool is_logged = false;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    const std::string file = path + suffix;
    if (::unlink(file.c_str()) == 0 || errno == ENOENT || is_logged) continue;
    is_logged = true;
    log(Level::kError, file + " cannot be deleted: " + std::strerror(errno));
  }
}

void StorePlace::remove_live() const {
  remove_database(live.path);
  if (is_elsewhere()) ::rmdir(live_folder.c_str());
}

Result<StorePlace> claim_place(const std::string& path, bool overwrite, long pretend_file_system) {
  const long type = pretend_file_system != 0 ? pretend_file_system : file_system_of(path);
  const bool is_network = is_network_file_system(type);
  StorePlace place;
  place.target = path;
  if (!is_network) {
    auto target = claim_file(path, overwrite, true);
    if (!target) return unexpected(target.error());
    place.live = std::move(*target);
    return place;
  }

  // Makes the live file first. If this fails, an earlier run at `path` stays.
  auto folder = make_live_folder();
  if (!folder) return unexpected(folder.error());
  place.live_folder = *folder;
  const std::string name = std::filesystem::path(path).filename();
  auto live = claim_file(*folder + "/" + name, false, true);
  if (!live) {
    ::rmdir(folder->c_str());
    return unexpected(live.error());
  }
  place.live = std::move(*live);
  if (auto target = claim_file(path, overwrite, false); !target) {
    place.remove_live();
    return unexpected(target.error());
  }
  log(Level::kWarn, "store on a network file system: written here, copied each minute",
      {{"path", place.target}, {"live", place.live.path}});
  return place;
}

Result<StorePlace> reclaim_place(const std::string& path, const std::string& live_path) {
  const bool is_elsewhere = live_path != path;
  const bool is_copied =
      is_elsewhere && !std::filesystem::exists(live_path) && std::filesystem::exists(path);
  auto live = reclaim_file(is_copied ? path : live_path, !is_copied);
  if (!live) return unexpected(std::move(live.error()));
  StorePlace place;
  place.target = path;
  place.live = std::move(*live);
  if (is_elsewhere && !is_copied) {
    place.live_folder = std::filesystem::path(live_path).parent_path();
  }
  return place;
}

void Reserve::take(const std::string& path, std::size_t bytes) {
  UniqueFd file(::open(folder_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kOwnerOnly));
  if (file && ::fallocate(file.get(), 0, 0, static_cast<off_t>(bytes)) == 0) {
    file_ = std::move(file);
  }
  lower_limit(bytes);
}

void Reserve::lower_limit(std::size_t bytes) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur -= std::min<rlim_t>(bytes, before / 4);
  if (::setrlimit(RLIMIT_FSIZE, &limit) == 0) limit_before_ = before;
}

void Reserve::release() {
  file_.reset();
  if (!limit_before_) return;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0) {
    limit.rlim_cur = std::min(*limit_before_, limit.rlim_max);
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  limit_before_.reset();
}

bool fits_file(const std::string& path, std::uint64_t bytes) {
  struct stat file {};
  struct statvfs disk {};
  struct rlimit limit {};
  if (::stat(path.c_str(), &file) != 0 || ::statvfs(path.c_str(), &disk) != 0 ||
      ::getrlimit(RLIMIT_FSIZE, &limit) != 0) {
    return false;
  }
  if (limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur) return false;
  const auto size = static_cast<std::uint64_t>(file.st_size);
  return bytes <= size || (bytes - size) / disk.f_frsize < disk.f_bavail;
}

}  // namespace xylem::storage
