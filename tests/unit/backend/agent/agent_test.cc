#include "backend/agent/agent.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/agent_host.h"
#include "tests/unit/backend/agent/agent_fixture.h"

namespace xylem::backend {
namespace {

using testing::AgentHost;
using testing::HandMadeSegment;
using testing::StoredSums;

TEST_F(AgentTest, DeliversEveryCallOfAShortJobAndLeaves) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  write(host, process, 100);
  host.pass(kSecond);
  host.acknowledge();
  write(host, process, 50, 2);
  host.end_process(Lane{1});
  host.run_to_the_end();
  EXPECT_EQ(host.network.stopped, 0);
  EXPECT_TRUE(host.journal->empty());
  EXPECT_TRUE(host.source.folder_removed);
  EXPECT_TRUE(host.source.forgotten.contains(Lane{1}));
  const StoredSums sums = add_up(host.root);
  EXPECT_EQ(sums.calls.at({Lane{1}, FunctionId{1}}), 100u);
  EXPECT_EQ(sums.calls.at({Lane{1}, FunctionId{2}}), 50u);
  const wire::AccountRow& account = sums.accounts.at(Lane{1});
  EXPECT_TRUE(account.ended);
  EXPECT_EQ(account.captured, 150u);
  EXPECT_EQ(account.windowed, 150u);
  EXPECT_EQ(account.lost, 0u);
  EXPECT_EQ(sums.last_windows, 1u);
  EXPECT_EQ(sent<wire::Goodbye>(host).size(), 1u);
}

TEST_F(AgentTest, ReportsItsHostThenMovesToItsParentAndLeavesTheFrontEndsLink) {
  AgentHost host;
  host.parents = {comm_process(3), host.parents.front()};
  host.start();
  ASSERT_EQ(host.network.connects.size(), 1u);
  EXPECT_EQ(host.network.connects[0].hello.host_key, "folder:1");
  host.talk();
  ASSERT_EQ(sent<wire::HostReport>(host).size(), 1u);
  EXPECT_EQ(sent<wire::HostReport>(host)[0].host_key, "folder:1");
  ASSERT_EQ(sent<wire::Attached>(host).size(), 1u);
  EXPECT_EQ(sent<wire::Attached>(host)[0].parent, NodeId{3});
  ASSERT_EQ(host.network.links.size(), 1u) << "the front end's link stayed open";
  EXPECT_EQ(host.network.links.begin()->second.node, NodeId{3});
}

TEST_F(AgentTest, FallsBackAlongItsLineWhenParentsAreLost) {
  AgentHost host;
  host.parents = {comm_process(3), comm_process(4), host.parents.front()};
  host.start();
  host.talk();
  host.act([&] { host.network.link_down(*host.agent, *host.network.upward); });
  ASSERT_EQ(host.network.connects.size(), 1u);
  EXPECT_EQ(host.network.connects[0].parent.node, NodeId{4});
  EXPECT_EQ(host.network.connects[0].hello.leaf, AgentHost::kLeaf);
  host.act([&] { host.network.refuse_connect(*host.agent); });
  host.act([&] { host.network.advance(*host.agent, 150 * kMillisecond); });
  ASSERT_EQ(host.network.connects.size(), 1u);
  EXPECT_EQ(host.network.connects[0].parent.node, kFrontEndNode);
}

TEST_F(AgentTest, StaysWhereItIsWhenABetterParentDoesNotAnswer) {
  AgentHost host;
  host.start();
  host.talk();
  wire::Assignment assignment;
  assignment.node = AgentHost::kNode;
  assignment.leaf = AgentHost::kLeaf;
  assignment.level = 2;
  assignment.parents = {comm_process(3), host.parents.front()};
  host.deliver(assignment);
  ASSERT_EQ(host.network.connects.size(), 1u);
  host.act([&] { host.network.refuse_connect(*host.agent); });
  HandMadeSegment& process = host.add_process();
  write(host, process, 5);
  host.pass(kSecond);
  EXPECT_EQ(add_up(host.root).window_calls, 5u);
}

TEST_F(AgentTest, EncodesNothingBeforeItHasAPlace) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  host.start();
  write(host, process, 5);
  host.act([&] { host.network.advance(*host.agent, 3 * kSecond); });
  EXPECT_TRUE(host.journal->empty());
  host.talk();
  host.pass(kSecond);
  EXPECT_EQ(add_up(host.root).window_calls, 5u);
}

TEST_F(AgentTest, WaitsForTheClockButNoLongerThanItsPatience) {
  AgentHost host;
  host.network.link_status.clock_known = false;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  write(host, process, 5);
  host.pass(900 * kMillisecond);
  EXPECT_TRUE(host.journal->empty());
  host.pass(500 * kMillisecond);
  EXPECT_EQ(add_up(host.root).window_calls, 5u);
}

TEST_F(AgentTest, TimesAreThoseOfTheFrontEndsClock) {
  AgentHost host;
  host.control.epoch_ns = 400'000'000;
  host.control.chunks = true;
  host.network.link_status.offset_ns = 7 * kSecond;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  const Nanos end = host.network.now;
  process.write(0, {.function = 1,
                    .begin = static_cast<std::uint64_t>(end - 100),
                    .end = static_cast<std::uint64_t>(end)});
  host.pass(kSecond);
  for (const auto& [key, packet] : host.root.stored) {
    if (key.stream != wire::kChunkStream) continue;
    const auto events = wire::decode_chunk(packet.payload);
    ASSERT_TRUE(events);
    EXPECT_EQ(events->at(0).end_ns, end + 7 * kSecond - 400'000'000);
    EXPECT_EQ(events->at(0).begin_ns, events->at(0).end_ns - 100);
  }
  EXPECT_EQ(add_up(host.root).requests.size(), 1u);
}

// A drain may be long, or may wait for a processor, and ranks write records meanwhile. Records with
// impossible times are not believed.
TEST_F(AgentTest, KeepsTheTimesOfCallsThatEndWhileItReads) {
  AgentHost host;
  host.control.chunks = true;
  host.reads_later = 2 * kSecond;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  const Nanos begin = host.network.now;
  std::uint32_t thread = 0;
  for (const Nanos ends_after : {10 * kMillisecond, kSecond, 3600 * kSecond}) {
    process.write(thread++, {.function = 1,
                             .begin = static_cast<std::uint64_t>(begin),
                             .end = static_cast<std::uint64_t>(begin + ends_after)});
  }
  host.pass(3 * kSecond);
  std::vector<Nanos> durations;
  for (const auto& [key, packet] : host.root.stored) {
    if (key.stream != wire::kChunkStream) continue;
    const auto events = wire::decode_chunk(packet.payload);
    ASSERT_TRUE(events);
    for (const wire::Event& event : *events) {
      durations.push_back(event.end_ns - event.begin_ns);
    }
  }
  ASSERT_EQ(durations.size(), 3u);
  EXPECT_EQ(durations[0], 10 * kMillisecond);
  EXPECT_EQ(durations[1], kSecond);
  EXPECT_GE(durations[2], 2 * kSecond);
  EXPECT_LE(durations[2], 3 * kSecond) << "it was read before that";
  host.end_process(Lane{1});
  host.run_to_the_end();
  EXPECT_EQ(add_up(host.root).window_calls, 3u);
}

// Windows of a millisecond end while the agent reads. The end up to which it seals does not move.
TEST_F(AgentTest, ReadsOutRecordsOfTheFutureThoughItsClockGoesOn) {
  AgentHost host;
  host.control.window_ns = kMillisecond;
  host.tick = kMillisecond;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  const Nanos begin = host.network.now;
  for (int i = 0; i < 100; ++i) {
    process.write(0, {.function = 1,
                      .begin = static_cast<std::uint64_t>(begin),
                      .end = static_cast<std::uint64_t>(begin + 3600 * kSecond)});
    host.pass(10 * kMillisecond);
  }
  host.end_process(Lane{1});
  host.run_to_the_end();
  EXPECT_EQ(add_up(host.root).window_calls, 100u);
  for (const auto& [key, packet] : host.root.stored) {
    if (key.stream != wire::kWindowStream) continue;
    EXPECT_LT(wire::window_slice(key.wave),
              static_cast<std::uint64_t>(host.network.now / kMillisecond + host.looks));
  }
}

TEST_F(AgentTest, StoresCallsWithoutRecordWhenTheProcessHasEnded) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  write(host, process, 3);
  for (int i = 0; i < 7; ++i) process.count(0, 1);  // Sampled out.
  process.count(1, 4);                              // The call it died in.
  host.pass(kSecond);
  host.acknowledge();
  EXPECT_EQ(add_up(host.root).window_calls, 3u);
  host.end_process(Lane{1});
  host.run_to_the_end();
  const StoredSums sums = add_up(host.root);
  EXPECT_EQ(sums.calls.at({Lane{1}, FunctionId{1}}), 10u);
  EXPECT_EQ(sums.calls.at({Lane{1}, FunctionId{4}}), 1u);
  EXPECT_EQ(sums.accounts.at(Lane{1}).windowed, 11u);
}

TEST_F(AgentTest, SealsEarlyRatherThanLetARingFill) {
  AgentHost host;
  host.control.window_ns = 10 * kSecond;
  HandMadeSegment& process = host.add_process(256);
  host.start();
  host.talk();
  for (int i = 0; i < 200; ++i) {
    write(host, process, 20);
    host.pass(10 * kMillisecond);
    host.acknowledge();
  }
  EXPECT_EQ(process.lost(1), 0u);
  EXPECT_GT(windows(host), 10u);
  for (const auto& [key, packet] : host.root.stored) {
    if (key.stream != wire::kWindowStream) continue;
    EXPECT_EQ(wire::window_slice(key.wave), 0u);
  }
}

TEST_F(AgentTest, ChunksOfAProcessFollowEachOtherWithoutGap) {
  AgentHost host;
  host.control.chunks = true;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  for (int i = 0; i < 10; ++i) {
    write(host, process, 37);
    host.pass(150 * kMillisecond);
    host.acknowledge();
  }
  host.pass(kSecond);
  std::uint64_t next = 0;
  for (const auto& [key, packet] : host.root.stored) {
    if (key.stream != wire::kChunkStream) continue;
    EXPECT_EQ(key.wave, next);
    next = packet.id.wave_end;
  }
  EXPECT_EQ(next, 370u);
}

TEST_F(AgentTest, SendsAgainAndAloneWhatIsNotAcknowledged) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  write(host, process, 5);
  host.pass(kSecond);
  const auto first = host.root.stored;
  host.pass(3 * kSecond);
  EXPECT_EQ(host.root.received, host.root.stored.size()) << "sent again too early";
  host.network.take_sent();
  host.act([&] { host.network.advance(*host.agent, 3 * kSecond); });
  std::size_t again = 0;
  for (const wire::Packet& packet : host.network.take_sent_of<wire::Packet>()) {
    if (!first.contains(key_of(packet.id))) continue;  // A report that the process makes no calls.
    ++again;
    EXPECT_TRUE(packet.alone);
  }
  EXPECT_EQ(again, first.size());
}

TEST_F(AgentTest, SendsEverythingAgainToANewParent) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  write(host, process, 5);
  host.pass(kSecond);
  const std::size_t before = host.root.received;
  host.act([&] { host.network.link_down(*host.agent, *host.network.upward); });
  host.pass(kSecond);
  EXPECT_EQ(host.root.received, 2 * before);
}

TEST_F(AgentTest, SendsAgainWhenAsked) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  write(host, process, 5);
  host.pass(kSecond);
  const std::size_t before = host.root.received;
  wire::Acknowledgement request;
  request.resend.push_back({wire::kEveryStream, kLeafLane, 0, 1, IntervalSet::of(5)});
  host.deliver(request);
  host.talk();
  EXPECT_EQ(host.root.received, 2 * before);
}

TEST_F(AgentTest, IgnoresAcknowledgementsOfOtherLeaves) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  write(host, process, 5);
  host.pass(kSecond);
  wire::Acknowledgement others;
  for (wire::PacketId id : host.root.unacknowledged) {
    id.sources = IntervalSet::of(6);
    others.stored.push_back(id);
  }
  host.deliver(others);
  EXPECT_FALSE(host.journal->empty());
}

TEST_F(AgentTest, LingersAfterTheLastProcessHasEnded) {
  AgentHost host;
  host.add_process();
  host.start();
  host.talk();
  host.pass(60 * kSecond);
  host.end_process(Lane{1});
  host.pass(host.options.linger - 200 * kMillisecond);
  HandMadeSegment& next = host.add_process();
  write(host, next, 4);
  host.end_process(Lane{2});
  host.run_to_the_end();
  EXPECT_EQ(add_up(host.root).window_calls, 4u);
  EXPECT_EQ(host.deaths, 0);
}

TEST_F(AgentTest, GoesOnWhenSomebodyRegistersAsItCloses) {
  AgentHost host;
  host.add_process();
  host.start();
  host.talk();
  host.source.before_close = [&] {
    host.source.before_close = {};
    host.segments.push_back(std::make_unique<HandMadeSegment>());
    host.segments.back()->enter_world(1, 2);
    host.source.add(*host.segments.back());
  };
  host.end_process(Lane{1});
  host.pass(10 * kSecond);
  EXPECT_FALSE(host.network.stopped);
  host.act([&] { host.network.readable(*host.agent, host.source.fd()); });
  write(host, *host.segments.back(), 9);
  host.end_process(Lane{2});
  host.run_to_the_end();
  EXPECT_EQ(host.network.stopped, 0);
  EXPECT_EQ(add_up(host.root).window_calls, 9u);
}

TEST_F(AgentTest, CountsWhoLivesOnAsItStandsWhenTheRunIsOver) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  write(host, process, 5);
  host.control.finish = true;
  host.control.version = 2;
  host.deliver(host.control);
  host.run_to_the_end();
  EXPECT_EQ(host.network.stopped, 0);
  const StoredSums sums = add_up(host.root);
  EXPECT_EQ(sums.window_calls, 5u);
  EXPECT_FALSE(sums.accounts.at(Lane{1}).ended);
  EXPECT_EQ(process.header().enabled.load(), 0u);
  EXPECT_EQ(process.header().was_disabled.load(), 1u);  // So messages have no numbers any more.
}

TEST_F(AgentTest, EndsAsSoonAsItsPatienceIsOverHoweverSeldomItLooks) {
  for (const Nanos late : {0, 350, 700}) {
    AgentHost host;
    host.options.idle_interval = 1 * kSecond;
    host.options.finish_patience = 300 * kMillisecond;
    host.add_process();
    host.start();
    host.talk();
    host.pass(20 * kSecond + late * kMillisecond);
    host.acknowledge();
    host.control.finish = true;
    host.control.version = 2;
    host.deliver(host.control);
    const Nanos told_at = host.network.now;
    host.run_to_the_end();
    EXPECT_EQ(host.network.stopped, 0);
    EXPECT_GE(host.network.now, told_at + host.options.finish_patience);
    EXPECT_LE(host.network.now, told_at + host.options.finish_patience + 100 * kMillisecond);
  }
}

TEST_F(AgentTest, WaitsLongerForProcessesThatHaveFinalizedMpi) {
  for (const bool ends : {false, true}) {
    AgentHost host;
    host.options.finish_patience = 300 * kMillisecond;
    host.options.exit_patience = 4 * kSecond;
    HandMadeSegment& process = host.add_process();
    host.start();
    host.talk();
    process.header().state = capture::ProcessState::kFinalized;
    host.acknowledge();
    host.control.finish = true;
    host.control.version = 2;
    host.deliver(host.control);
    const Nanos told_at = host.network.now;
    if (ends) {
      host.pass(2 * kSecond);
      EXPECT_FALSE(host.network.stopped) << "the process is about to end";
      host.end_process(Lane{1});
    }
    host.run_to_the_end();
    EXPECT_EQ(host.network.stopped, 0);
    EXPECT_EQ(add_up(host.root).accounts.at(Lane{1}).ended, ends);
    if (!ends) {
      EXPECT_GE(host.network.now, told_at + host.options.exit_patience);
    }
    EXPECT_LE(host.network.now, told_at + host.options.exit_patience + 200 * kMillisecond);
  }
}

TEST_F(AgentTest, GivesUpAfterAMinuteWithoutAFrontEnd) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  write(host, process, 5);
  host.act([&] { host.network.link_down(*host.agent, *host.network.upward); });
  const Nanos lost_at = host.network.now;
  while (!host.network.stopped && host.network.now < lost_at + 100 * kSecond) {
    while (!host.network.connects.empty())
      host.act([&] { host.network.refuse_connect(*host.agent); });
    host.act([&] { host.network.advance(*host.agent, 100 * kMillisecond); });
  }
  EXPECT_EQ(host.network.stopped, Agent::kGaveUp);
  EXPECT_TRUE(host.source.folder_removed);
  EXPECT_GE(host.network.now, lost_at + 60 * kSecond);
  EXPECT_LT(host.network.now, lost_at + 65 * kSecond);
}

const Error kRefused{Code::kPermissionDenied, "no TLS with the run's key"};

TEST_F(AgentTest, GivesUpAtOnceWhenItIsRefusedBeforeItWasLetIn) {
  AgentHost host;
  host.add_process();
  host.start();
  ASSERT_FALSE(host.network.connects.empty());
  host.act([&] { host.network.refuse_connect(*host.agent, kRefused); });
  EXPECT_EQ(host.network.stopped, Agent::kGaveUp);
  EXPECT_TRUE(host.source.folder_removed);
}

TEST_F(AgentTest, GoesOnTryingWhenItIsRefusedAfterItWasLetIn) {
  AgentHost host;
  host.add_process();
  host.start();
  host.talk();
  host.act([&] { host.network.link_down(*host.agent, *host.network.upward); });
  while (host.network.connects.empty())
    host.act([&] { host.network.advance(*host.agent, 10 * kMillisecond); });
  host.act([&] { host.network.refuse_connect(*host.agent, kRefused); });
  EXPECT_FALSE(host.network.stopped);
  while (host.network.connects.empty())
    host.act([&] { host.network.advance(*host.agent, 10 * kMillisecond); });
}

TEST_F(AgentTest, SaysWhyACommunicationProcessCouldNotBeStarted) {
  AgentHost host;
  host.starter.refuse = true;
  host.start();
  host.talk();
  host.deliver(wire::StartCommProcess{NodeId{7}, 1});
  host.talk();
  ASSERT_EQ(sent<wire::CommProcessReport>(host).size(), 1u);
  EXPECT_EQ(sent<wire::CommProcessReport>(host)[0].node, NodeId{7});
  EXPECT_EQ(sent<wire::CommProcessReport>(host)[0].failure, "cannot start xylem-commproc");
}

TEST_F(AgentTest, SaysWhenACommunicationProcessDied) {
  AgentHost host;
  host.start();
  host.talk();
  host.deliver(wire::StartCommProcess{NodeId{7}, 1});
  host.starter.how_it_ended = "killed";
  host.act([&] { host.network.readable(*host.agent, host.starter.last_pidfd); });
  host.talk();
  ASSERT_EQ(sent<wire::CommProcessReport>(host).size(), 1u);
  EXPECT_EQ(sent<wire::CommProcessReport>(host)[0].failure, "killed");
}

TEST_F(AgentTest, SuccessorSendsWhatItsPredecessorLeftEvenWithoutAskingAnybody) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  write(host, process, 5);
  host.pass(kSecond);
  host.root.stored.clear();  // Nothing has arrived.
  write(host, process, 6);
  host.kill();
  host.talk();
  host.pass(kSecond);
  EXPECT_EQ(add_up(host.root).window_calls, 11u);
}

TEST_F(AgentTest, LooksOftenWhileRingsFillAndSeldomWhenNothingComes) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  host.start();
  host.talk();
  host.pass(2 * kSecond);
  const auto pause = [&] { return *host.network.timer - host.network.now; };
  host.act([&] { host.network.advance(*host.agent, pause()); });
  EXPECT_EQ(pause(), host.options.idle_interval);
  for (int i = 0; i < 10; ++i) {
    write(host, process, 200);
    host.act([&] { host.network.advance(*host.agent, pause()); });
  }
  EXPECT_LE(pause(), host.options.busy_interval);
}

TEST_F(AgentTest, AnIdleAgentDoesAllThatIsDueWhenItLooksAtItsRings) {
  AgentHost host;
  wire::ServiceSpec service;
  service.name = wire::kHostService;
  service.interval_ns = kSecond;
  host.control.services = {service};
  host.control.epoch_ns = 777'777;
  host.add_process();
  host.start();
  host.talk();
  host.pass(5 * kSecond);
  host.acknowledge();
  int wakes = 0;
  const Nanos end = host.network.now + 10 * kSecond;
  while (*host.network.timer <= end) {
    ++wakes;
    host.act([&] { host.network.advance(*host.agent, *host.network.timer - host.network.now); });
    const Nanos at = host.network.now + host.network.link_status.offset_ns - host.control.epoch_ns;
    EXPECT_EQ(at % host.options.idle_interval, 0) << "not when windows end and samples are taken";
    host.talk();
    host.acknowledge();
  }
  EXPECT_LE(wakes, 10 * kSecond / host.options.idle_interval + 1);
  EXPECT_GE(sent<wire::LinkReport>(host).size(), 14u);
  EXPECT_GE(
      std::ranges::count_if(host.root.stored,
                            [](const auto& it) { return it.first.stream == wire::kSeriesStream; }),
      14);
}

TEST_F(AgentTest, LooksOftenWhileAProcessIsStarting) {
  AgentHost host;
  HandMadeSegment& process = host.add_process();
  process.header().state.store(capture::ProcessState::kStarting);
  host.start();
  host.talk();
  host.pass(5 * kSecond);
  host.act([&] { host.network.advance(*host.agent, *host.network.timer - host.network.now); });
  EXPECT_EQ(*host.network.timer - host.network.now, host.options.busy_interval);
}

}  // namespace
}  // namespace xylem::backend
