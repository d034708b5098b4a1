// An agent sleeps while no process calls MPI, and the first call wakes it.

#include <gtest/gtest.h>

#include "tests/support/agent_host.h"
#include "tests/unit/backend/agent/agent_fixture.h"

namespace xylem::backend {
namespace {

using testing::AgentHost;
using testing::HandMadeSegment;

class SleepingAgentTest : public AgentTest {
 protected:
  SleepingAgentTest() { host_.options.call_watch = &host_.call_watch; }

  Nanos pause() const { return *host_.network.timer - host_.network.now; }
  void wake() {
    host_.act([&] { host_.network.advance(*host_.agent, pause()); });
    host_.talk();
    host_.acknowledge();
  }
  bool is_asleep(HandMadeSegment& process) const {
    return process.header().enabled.load() == capture::kOnAgentSleeps;
  }
  // A host with a process that makes no calls, until the agent sleeps.
  HandMadeSegment& fall_asleep() {
    HandMadeSegment& process = host_.add_process();
    host_.start();
    host_.talk();
    for (int i = 0; i < 200 && pause() <= host_.options.idle_interval; ++i) wake();
    EXPECT_TRUE(is_asleep(process));
    return process;
  }
  // A call as the capture library makes it.
  void call(HandMadeSegment& process) {
    const bool wakes = process.wake_agent();
    write(host_, process, 1);
    if (wakes) host_.act([&] { host_.network.readable(*host_.agent, host_.call_watch.fd()); });
  }

  AgentHost host_;
};

TEST_F(SleepingAgentTest, SleepsWhenNoProcessHasMadeACallForAWhileAndWakesOnceASecond) {
  wire::ServiceSpec service;
  service.name = wire::kHostService;
  service.interval_ns = kSecond;
  host_.control.services = {service};
  fall_asleep();
  EXPECT_GE(host_.network.now, host_.options.sleep_after);
  for (const Nanos end = host_.network.now + 60 * kSecond; host_.network.now < end;) wake();
  int wakes = 0;
  for (const Nanos end = host_.network.now + 20 * kSecond; host_.network.now < end; ++wakes) {
    wake();
    EXPECT_TRUE(host_.call_watch.is_watching);
  }
  constexpr int kForSilences = 6;  // Windows of reports of the silence end when they end.
  EXPECT_LE(wakes, 20 + kForSilences);
  EXPECT_GE(wakes, 20);
}

TEST_F(SleepingAgentTest, TheFirstCallWakesItAndTheNextLooksComeSoon) {
  HandMadeSegment& process = fall_asleep();
  wake();
  host_.act([&] { host_.network.advance(*host_.agent, 400 * kMillisecond); });
  call(process);
  EXPECT_FALSE(is_asleep(process)) << "its next call makes no system call";
  EXPECT_FALSE(host_.call_watch.is_watching);
  EXPECT_LE(pause(), kMillisecond);
  wake();
  EXPECT_LE(pause(), host_.options.busy_interval) << "a ring may fill in 13 ms";
  host_.pass(kSecond);
  EXPECT_EQ(add_up(host_.root).window_calls, 1u);
}

TEST_F(SleepingAgentTest, DoesNotLoseACallThatBeginsJustWhenItFallsAsleep) {
  HandMadeSegment& process = host_.add_process();
  host_.start();
  host_.talk();
  for (int i = 0; i < 200 && !is_asleep(process); ++i) wake();
  ASSERT_TRUE(is_asleep(process));
  write(host_, process, 1);  // The process has not seen the change of its switch.
  EXPECT_LE(pause(), host_.options.idle_interval);
  wake();
  EXPECT_FALSE(is_asleep(process));
  host_.pass(kSecond);
  EXPECT_EQ(add_up(host_.root).window_calls, 1u);
}

TEST_F(SleepingAgentTest, StaysAwakeWhileACallIsUnderWay) {
  HandMadeSegment& process = host_.add_process();
  host_.start();
  host_.talk();
  host_.pass(kSecond);
  process.begin(0, 1, static_cast<std::uint64_t>(host_.network.now));
  for (int i = 0; i < 100; ++i) {
    wake();
    EXPECT_FALSE(is_asleep(process));
    EXPECT_LE(pause(), host_.options.idle_interval + kMillisecond);
  }
}

TEST_F(SleepingAgentTest, StaysAwakeWhereCallsCannotWakeIt) {
  host_.call_watch.refuses = true;
  HandMadeSegment& process = host_.add_process();
  host_.start();
  host_.talk();
  for (int i = 0; i < 100; ++i) {
    wake();
    EXPECT_FALSE(is_asleep(process));
    EXPECT_LE(pause(), host_.options.idle_interval + kMillisecond);
  }
  EXPECT_GE(host_.call_watch.begun, 2) << "processes may end, so it tries again";
  EXPECT_LE(host_.call_watch.begun, 8);
}

TEST_F(SleepingAgentTest, ANewProcessAndTheEndOfAProcessWakeIt) {
  HandMadeSegment& first = fall_asleep();
  HandMadeSegment& second = host_.add_process();
  EXPECT_FALSE(is_asleep(first));
  for (int i = 0; i < 200 && !is_asleep(second); ++i) wake();
  EXPECT_EQ(host_.call_watch.watched.size(), 2u);
  host_.end_process(Lane{1});
  EXPECT_FALSE(is_asleep(second));
  EXPECT_FALSE(host_.call_watch.is_watching) << "the memory of its switch is unmapped soon";
}

TEST_F(SleepingAgentTest, ASuccessorOfASleepingWorkerIsAwake) {
  HandMadeSegment& process = fall_asleep();
  host_.call_watch.end();
  host_.kill();
  host_.talk();
  wake();
  EXPECT_FALSE(is_asleep(process));
}

TEST_F(SleepingAgentTest, TellsOfASilenceAsSoonAsAnAgentThatIsAwake) {
  fall_asleep();
  EXPECT_GT(add_up(host_.root).accounts.at(Lane{1}).silent_since_ns, 0);
}

TEST_F(SleepingAgentTest, EndsAtOnceWhenTheRunIsOver) {
  HandMadeSegment& process = fall_asleep();
  host_.control.version = 2;
  host_.control.finish = true;
  host_.deliver(host_.control);
  EXPECT_FALSE(is_asleep(process));
  host_.end_process(Lane{1});
  host_.run_to_the_end(3 * kSecond);
  EXPECT_EQ(host_.network.stopped, 0);
}

}  // namespace
}  // namespace xylem::backend
