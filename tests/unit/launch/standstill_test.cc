#include "launch/standstill.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xylem::launch {
namespace {

TEST(Standstill, LastsUntilSomethingIsReadOrWrittenOrSaid) {
  Standstill watch;
  watch.follow(-1, 0);
  Work work;
  EXPECT_EQ(watch.look(1 * kSecond, work), 1 * kSecond);
  EXPECT_EQ(watch.look(2 * kSecond, work), 2 * kSecond);
  work.bytes = 1;
  EXPECT_EQ(watch.look(3 * kSecond, work), 0);
  EXPECT_EQ(watch.look(4 * kSecond, work), 1 * kSecond);
  watch.heard();
  EXPECT_EQ(watch.look(5 * kSecond, work), 0);
  EXPECT_EQ(watch.look(6 * kSecond, work), 1 * kSecond) << "what was said counts once";
}

TEST(Standstill, IsNotEndedByTheLittleThatTimersTake) {
  Standstill watch;
  watch.follow(-1, 0);
  Work work;
  work.processor = 10 * kMillisecond;
  EXPECT_EQ(watch.look(1 * kSecond, work), 1 * kSecond);
  work.processor += 200 * kMillisecond;
  EXPECT_EQ(watch.look(2 * kSecond, work), 0) << "a fifth of a processor is work";
}

TEST(Standstill, DoesNotCountTheTimeInWhichNobodyLooked) {
  Standstill watch;
  watch.follow(-1, 0);
  EXPECT_EQ(watch.look(3600 * kSecond, Work{}), Standstill::kLongestPause);
}

TEST(WorkOf, SeesWhatAProcessDoesAndThatItIsStopped) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  ASSERT_GT(child, 0);
  const auto resting = work_of(child);
  ASSERT_TRUE(resting);
  EXPECT_FALSE(resting->stopped);
  ::kill(child, SIGSTOP);
  siginfo_t how{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &how, WSTOPPED), 0);
  EXPECT_TRUE(work_of(child).value_or(Work{}).stopped);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(work_of(child)) << "there is no such process";
  const std::uint64_t before = work_of(::getpid())->bytes;
  EXPECT_GT(work_of(::getpid())->bytes, before) << "the look itself reads";
}

}  // namespace
}  // namespace xylem::launch
