#include "backend/agent/call_watch.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "capture/core/ring.h"
#include "tests/support/hand_made_segment.h"

namespace xylem::backend {
namespace {

using testing::HandMadeSegment;

constexpr int kNow = 0;
constexpr int kLongMs = 20'000;

// Switches as agents see them, in memory that a process has mapped a second time.
class FutexWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (watch_.fd() < 0) GTEST_SKIP() << "this system has no futex_waitv()";
    for (HandMadeSegment& process : processes_) {
      segments_.push_back(*Segment::map(process.fd()));
      segments_.back().let_calls_wake();
      switches_.push_back(&segments_.back().capture_switch());
    }
  }
  bool is_readable(int timeout_ms) const {
    pollfd fd{watch_.fd(), POLLIN, 0};
    return ::poll(&fd, 1, timeout_ms) == 1;
  }
  // Wakes the agent as the capture library does.
  static void call(HandMadeSegment& process) {
    CaptureSwitch& on = process.header().enabled;
    on.store(capture::kOn);
    ::syscall(SYS_futex, &on, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }

  std::vector<HandMadeSegment> processes_{3};
  std::vector<Segment> segments_;
  std::vector<const CaptureSwitch*> switches_;
  FutexWatch watch_;
};

TEST_F(FutexWatchTest, TheFirstCallOfAnyProcessWakes) {
  for (HandMadeSegment& process : processes_) {
    ASSERT_TRUE(watch_.begin(switches_));
    EXPECT_FALSE(is_readable(kNow));
    call(process);
    EXPECT_TRUE(is_readable(kLongMs));
    watch_.end();
    EXPECT_FALSE(is_readable(kNow)) << "the next sleep begins without an old call";
    process.header().enabled.store(capture::kOnAgentSleeps);
  }
}

TEST_F(FutexWatchTest, ACallBeforeTheWatchBeginsWakesToo) {
  call(processes_[1]);
  ASSERT_TRUE(watch_.begin(switches_));
  EXPECT_TRUE(is_readable(kLongMs));
}

TEST_F(FutexWatchTest, EndsWithoutACallAndBeginsAgain) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(watch_.begin(switches_));
    watch_.end();
    EXPECT_FALSE(is_readable(kNow));
  }
  ASSERT_TRUE(watch_.begin(switches_));
  call(processes_[0]);
  EXPECT_TRUE(is_readable(kLongMs));
}

TEST_F(FutexWatchTest, WatchesNothingWhenThereAreMoreSwitchesThanTheKernelTakes) {
  std::vector<const CaptureSwitch*> many(FutexWatch::kMaxSwitches, switches_[0]);
  EXPECT_TRUE(watch_.begin(many));
  many.push_back(switches_[1]);
  EXPECT_FALSE(watch_.begin(many));
  call(processes_[0]);
  EXPECT_FALSE(is_readable(kNow));
}

}  // namespace
}  // namespace xylem::backend
