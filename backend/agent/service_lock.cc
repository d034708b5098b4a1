#include "backend/agent/service_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace xylem::backend {

ServiceLock::ServiceLock(const std::string& folder, const std::string& service)
    : path_(folder.empty() ? "" : folder + "/service-" + service) {}

bool ServiceLock::try_hold() {
  if (held_ || path_.empty()) return held_ = true;
  UniqueFd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return false;
  struct stat ours {
  }, named{};
  if (::fstat(file.get(), &ours) != 0 || ::stat(path_.c_str(), &named) != 0 ||
      ours.st_ino != named.st_ino || ours.st_dev != named.st_dev) {
    return false;
  }
  file_ = std::move(file);
  return held_ = true;
}

void ServiceLock::release() {
  file_.reset();
  held_ = false;
}

}  // namespace xylem::backend
