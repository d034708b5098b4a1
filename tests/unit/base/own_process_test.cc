#include "base/own_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
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

TEST(OwnProcess, LeavesTheProcessorThatALauncherHasBoundItTo) {
  EXPECT_TRUE(holds_elsewhere([] {
    cpu_set_t all, one, now;
    if (::sched_getaffinity(0, sizeof all, &all) != 0) return false;
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; ++i) {
      if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    }
    if (::sched_setaffinity(0, sizeof one, &one) != 0) return false;
    use_all_processors();
    return ::sched_getaffinity(0, sizeof now, &now) == 0 && CPU_COUNT(&now) >= CPU_COUNT(&all);
  }));
}

}  // namespace
}  // namespace xylem
