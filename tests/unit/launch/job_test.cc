#include "launch/job.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace xylem::launch {
namespace {

constexpr uid_t kNobody = 65534;

/// The failure in a process of its own: 0 if it is `expected`.
[[noreturn]] void start_and_exit(const std::vector<std::string>& command, Code expected) {
  const SignalGate gate;
  const auto job = Job::start(command, {}, gate);
  std::_Exit(!job && job.error().code == expected ? 0 : 1);
}

// The limit does not apply to root.
[[noreturn]] void start_without_processes() {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_NPROC, &none) != 0) std::_Exit(2);
  if (::geteuid() == 0 && ::setuid(kNobody) != 0) std::_Exit(3);
  start_and_exit({"true"}, Code::kExhausted);
}

TEST(Job, CannotBeStartedFromNothing) {
  EXPECT_EXIT(start_and_exit({}, Code::kInvalidArgument), ::testing::ExitedWithCode(0), "");
}

TEST(Job, IsNotFoundOrForbiddenAsInAShell) {
  EXPECT_EXIT(start_and_exit({"/no/such/program"}, Code::kNotFound), ::testing::ExitedWithCode(0),
              "");
  EXPECT_EXIT(start_and_exit({"/etc/passwd"}, Code::kPermissionDenied),
              ::testing::ExitedWithCode(0), "");
}

TEST(Job, IsNotMissingIfTheSystemHasNoProcessForIt) {
  EXPECT_EXIT(start_without_processes(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace xylem::launch
