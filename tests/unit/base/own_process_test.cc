#include "base/own_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>

#include "base/unique_fd.h"

namespace xylem {
namespace {

/// Whether `claim` holds in a process of its own, so that this one keeps its limits.
bool holds_elsewhere(const std::function<bool()>& claim) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(claim() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool limit_to(decltype(RLIMIT_NOFILE) resource, rlim_t soft, rlim_t hard) {
  const rlimit limit{soft, hard};
  return ::setrlimit(resource, &limit) == 0;
}

TEST(OwnProcess, OutlivesTheLimitOfFileSizes) {
  EXPECT_TRUE(holds_elsewhere([] {
    const UniqueFd file(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    return !survive_size_limit() && limit_to(RLIMIT_FSIZE, 4096, 4096) &&
           ::ftruncate(file.get(), 8192) != 0 && errno == EFBIG && survive_size_limit();
  }));
}

TEST(OwnProcess, RaisesItsLimitsAsFarAsIsAllowed) {
  EXPECT_TRUE(holds_elsewhere([] {
    rlimit limit{};
    if (!limit_to(RLIMIT_NOFILE, 40, 100)) return false;
    stretch_limits();
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == 100;
  }));
}

}  // namespace
}  // namespace xylem
