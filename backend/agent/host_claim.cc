#include "backend/agent/host_claim.h"

#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace xylem::backend {
namespace {

constexpr int kPauseMs = 5;

// An agent that ends may remove the folder between any two steps. Then the folder is made again.
Result<bool> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return unexpected(Code::kPermissionDenied,
                      "cannot make the folder " + path + ": " + std::strerror(errno));
  }
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return false;
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & 077) != 0) {
    return unexpected(Code::kPermissionDenied, path + " is not a private folder of this user");
  }
  return true;
}

}  // namespace

Result<HostClaim> claim_host(const std::string& path, Nanos patience) {
  for (const Nanos deadline = monotonic_now() + patience; monotonic_now() < deadline;
       ::poll(nullptr, 0, kPauseMs)) {
    const auto made = make_folder(path);
    if (!made) return unexpected(made.error());
    if (!*made) continue;
    HostClaim claim;
    claim.folder = std::make_unique<RunFolder>(path);
    if (!claim.folder->try_lock()) continue;
    if (!claim.folder->is_answered()) {
      auto listener = claim.folder->listen();
      if (!listener) return unexpected(std::move(listener.error()));
      claim.listener = *std::move(listener);
      claim.folder->hold();
    }
    claim.folder->unlock();
    return claim;
  }
  return unexpected(Code::kUnavailable, "another process holds the lock for too long: " + path);
}

}  // namespace xylem::backend
