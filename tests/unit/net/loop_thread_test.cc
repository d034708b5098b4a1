#include "net/loop_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include "tests/support/no_threads.h"

namespace xylem::net {
namespace {

TEST(LoopThread, RunsTheWorkOnAThreadThatKnowsItself) {
  LoopThread thread;
  bool is_current = false;
  EXPECT_FALSE(thread.is_running());
  ASSERT_TRUE(thread.start("test", [&] { is_current = thread.is_current(); }));
  EXPECT_TRUE(thread.is_running());
  EXPECT_FALSE(thread.is_current());
  thread.join();
  thread.join();  // Nothing is left to wait for.
  EXPECT_FALSE(thread.is_running());
  EXPECT_TRUE(is_current);
}

TEST(LoopThread, GetsNoneOfTheProgramsSignals) {
  LoopThread thread;
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  sigset_t there;
  ASSERT_TRUE(thread.start("test", [&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &there); }));
  thread.join();
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD}) {
    EXPECT_EQ(::sigismember(&there, signal), 1) << signal;
    EXPECT_EQ(::sigismember(&after, signal), ::sigismember(&before, signal)) << signal;
  }
}

TEST(LoopThread, SaysThatTheSystemRefusesAThreadAndKeepsTheSignalMask) {
  LoopThread thread;
  {
    const xylem::testing::NoThreads no_threads;
    const auto started = thread.start("test", [] {});
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, Code::kExhausted);
  }
  EXPECT_FALSE(thread.is_running());
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGTERM), 0);
  ASSERT_TRUE(thread.start("test", [] {}));
  thread.join();
}

}  // namespace
}  // namespace xylem::net
