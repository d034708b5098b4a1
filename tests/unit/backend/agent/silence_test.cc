#include "backend/agent/silence.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "backend/find/proc_file.h"
#include "base/log.h"
#include "tests/support/agent_host.h"

namespace xylem::backend {
namespace {

using testing::AgentHost;
using testing::HandMadeSegment;

TEST(Silence, IsToldAfterTwoSecondsAndThenEverMoreSeldom) {
  Silence silence(0);
  silence.look(5, kSecond);
  EXPECT_FALSE(silence.is_due(2 * kSecond));
  std::size_t told = 0;
  for (Nanos now = kSecond; now < 86400 * kSecond; now += kSecond / 4) {
    if (silence.is_time_to_look(now)) silence.look(5, now);
    if (!silence.is_due(now)) continue;
    EXPECT_GE(now, 3 * kSecond);
    silence.told(now);
    ++told;
  }
  EXPECT_EQ(silence.since(), kSecond);
  EXPECT_LE(told, 100u);
  // Reports are rare, but a silence never grows by much more than an eighth without a report.
  EXPECT_GE(told, 80u);
}

TEST(Silence, EndsWithTheNextCall) {
  Silence silence(0);
  silence.look(5, 0);
  silence.look(6, 10 * kSecond);
  EXPECT_EQ(silence.since(), 10 * kSecond);
  EXPECT_FALSE(silence.is_due(11 * kSecond));
  EXPECT_TRUE(silence.is_due(12 * kSecond));
}

TEST(Silence, IsToldAgainAtOnceToASuccessor) {
  Silence silence(0);
  silence.look(5, 0);
  silence.look(5, 3600 * kSecond);
  silence.told(3600 * kSecond);
  EXPECT_FALSE(silence.is_due(3700 * kSecond));
  silence.tell_again();
  EXPECT_TRUE(silence.is_due(3700 * kSecond));
  silence.look(6, 3800 * kSecond);
  silence.tell_again();
  EXPECT_FALSE(silence.is_due(3801 * kSecond));
}

TEST(Whereabouts, IsInsideOfWhatIsCountedAndHasNoRecord) {
  HandMadeSegment process;
  const WindowBuilder builder{LeafId{0}};
  process.count(0, 3);
  EXPECT_EQ(whereabouts(process.view(), builder, Lane{1}), (Whereabouts{FunctionId{3}, false}));
  Segment segment = process.view();
  segment.advance_windowed(FunctionId{3}, 1);
  EXPECT_EQ(whereabouts(segment, builder, Lane{1}), (Whereabouts{std::nullopt, true}));
}

TEST(Whereabouts, AreNotKnownOfSampledFunctions) {
  HandMadeSegment process;
  process.header().sample_every[3].store(1000);
  process.count(0, 3);
  EXPECT_EQ(whereabouts(process.view(), WindowBuilder{LeafId{0}}, Lane{1}), Whereabouts{});
}

TEST(Whereabouts, AreOutsideAfterSampledFunctionsThatDoNotWait) {
  HandMadeSegment process;
  process.header().functions[3].never_waits = 1;
  process.header().sample_every[3].store(1000);
  process.count(0, 3);
  EXPECT_EQ(whereabouts(process.view(), WindowBuilder{LeafId{0}}, Lane{1}),
            (Whereabouts{std::nullopt, true}));
}

TEST(Whereabouts, AreNotKnownWhileSomeThreadsAreOutside) {
  HandMadeSegment process;
  process.count(1, 3);  // One of two threads.
  EXPECT_EQ(whereabouts(process.view(), WindowBuilder{LeafId{0}}, Lane{1}), Whereabouts{});
  process.count(0, 4);
  EXPECT_EQ(whereabouts(process.view(), WindowBuilder{LeafId{0}}, Lane{1}),
            (Whereabouts{FunctionId{3}, false}));
}

std::uint64_t start_time_of(pid_t pid) {
  const std::string stat = read_start("/proc/" + std::to_string(pid) + "/stat", 4096);
  std::string_view words = behind_name(stat);
  for (int i = 3; i < 22; ++i) next_word(words);
  return static_cast<std::uint64_t>(to_double(next_word(words)));
}

TEST(IsStopped, TellsAStoppedProcessFromOneThatSleepsAndFromALaterOne) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGSTOP);
    for (;;) ::pause();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  const auto pid = static_cast<std::uint32_t>(child);
  const std::uint64_t start = start_time_of(child);
  EXPECT_TRUE(is_stopped(pid, start));
  EXPECT_FALSE(is_stopped(pid, start + 1));
  ::kill(child, SIGCONT);
  ASSERT_EQ(::waitpid(child, &status, WCONTINUED), child);
  EXPECT_FALSE(is_stopped(pid, start));
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  EXPECT_FALSE(is_stopped(pid, start));
}

/// A host whose processes make some calls and then none.
class SilentHost : public ::testing::Test {
 protected:
  SilentHost() {
    set_log_sink([](Level, std::string_view) {});
    host_.options.collector.is_stopped = [this](std::uint32_t, std::uint64_t) { return stopped_; };
  }
  ~SilentHost() override { set_log_sink({}); }

  void write(HandMadeSegment& process, int calls) {
    const auto now = static_cast<std::uint64_t>(host_.network.now);
    for (int i = 0; i < calls; ++i)
      process.write(0, {.function = 1, .begin = now - 10, .end = now});
  }
  void pass(Nanos duration) {
    for (Nanos left = duration; left > 0; left -= 50 * kMillisecond) {
      host_.pass(50 * kMillisecond);
      host_.acknowledge();
    }
  }
  wire::AccountRow account(std::uint32_t lane) {
    return add_up(host_.root).accounts.at(Lane{lane});
  }
  std::size_t windows() const {
    return static_cast<std::size_t>(
        std::count_if(host_.root.stored.begin(), host_.root.stored.end(),
                      [](const auto& it) { return it.first.stream == wire::kWindowStream; }));
  }

  bool stopped_ = false;
  AgentHost host_;
};

TEST_F(SilentHost, TellsSinceWhenAndInsideOfWhat) {
  HandMadeSegment& process = host_.add_process();
  host_.start();
  host_.talk();
  write(process, 10);
  pass(kSecond);
  EXPECT_EQ(account(1).silent_since_ns, 0);
  process.count(0, 3);
  pass(5 * kSecond);
  EXPECT_EQ(account(1).inside, FunctionId{3});
  EXPECT_FALSE(account(1).stopped);
  EXPECT_GT(account(1).silent_since_ns, 0);
  EXPECT_EQ(account(1).captured, 11u);
  const std::size_t before = windows();
  stopped_ = true;
  pass(60 * kSecond);
  EXPECT_TRUE(account(1).stopped);
  EXPECT_LE(windows(), before + 25);
  EXPECT_GE(windows(), before + 10);
  EXPECT_EQ(add_up(host_.root).calls.at({Lane{1}, FunctionId{1}}), 10u);
}

TEST_F(SilentHost, TakesItBackWithTheNextCall) {
  HandMadeSegment& process = host_.add_process();
  host_.start();
  host_.talk();
  write(process, 10);
  pass(5 * kSecond);
  EXPECT_GT(account(1).silent_since_ns, 0);
  EXPECT_EQ(account(1).inside, std::nullopt);
  EXPECT_TRUE(account(1).outside);
  write(process, 1);
  pass(kSecond);
  EXPECT_EQ(account(1).silent_since_ns, 0);
}

TEST_F(SilentHost, TellsASuccessorOfTheFrontEndAtOnce) {
  HandMadeSegment& process = host_.add_process();
  host_.start();
  host_.talk();
  write(process, 10);
  pass(600 * kSecond);
  const std::size_t before = windows();
  pass(5 * kSecond);
  EXPECT_EQ(windows(), before);
  ++host_.control.version;
  host_.deliver(host_.control);
  pass(2 * kSecond);
  EXPECT_EQ(windows(), before + 1);
}

TEST_F(SilentHost, SaysNothingWhileCaptureIsOff) {
  host_.control.enabled = false;
  host_.add_process();
  host_.start();
  host_.talk();
  pass(20 * kSecond);
  EXPECT_EQ(windows(), 0u);
}

TEST_F(SilentHost, TellsItOfOneProcessWhileAnotherMakesCalls) {
  HandMadeSegment& busy = host_.add_process();
  HandMadeSegment& silent = host_.add_process();
  host_.start();
  host_.talk();
  write(silent, 3);
  for (int i = 0; i < 200; ++i) {
    write(busy, 1);
    pass(50 * kMillisecond);
  }
  EXPECT_EQ(account(1).silent_since_ns, 0);
  EXPECT_GT(account(2).silent_since_ns, 0);
  EXPECT_LE(account(2).silent_since_ns, host_.network.now);
}

}  // namespace
}  // namespace xylem::backend
