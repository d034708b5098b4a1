#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backend/agent.h"
#include "base/log.h"
#include "tests/support/agent_host.h"

namespace xylem::backend {
namespace {

using testing::AgentHost;
using testing::HandMadeCall;
using testing::HandMadeSegment;
using testing::StoredSums;

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    set_log_sink([](Level, std::string_view) {});
  }
  ~AgentTest() override { set_log_sink({}); }

  void write(AgentHost& host, HandMadeSegment& process, int calls, std::uint16_t function = 1) {
    const auto now = static_cast<std::uint64_t>(host.network.now);
    for (int i = 0; i < calls; ++i)
      process.write(0,
                    {.function = function, .begin = now - 10, .end = now, .request = ++request_});
  }
  template <typename T>
  static std::vector<T> sent(const AgentHost& host) {
    std::vector<T> found;
    for (const wire::Message& message : host.others) {
      if (const auto* it = std::get_if<T>(&message)) found.push_back(*it);
    }
    return found;
  }
  static wire::Parent comm_process(std::uint32_t node) {
    return {NodeId{node}, {wire::Address{"10.0.0.2", 1, "", ""}}};
  }
  static std::size_t windows(const AgentHost& host) {
    return static_cast<std::size_t>(
        std::count_if(host.root.stored.begin(), host.root.stored.end(),
                      [](const auto& it) { return it.first.stream == wire::kWindowStream; }));
  }

  std::uint64_t request_ = 0;
};

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
  const std::size_t first = host.root.received;
  host.pass(3 * kSecond);
  EXPECT_EQ(host.root.received, first) << "sent again too early";
  host.network.take_sent();
  host.act([&] { host.network.advance(*host.agent, 3 * kSecond); });
  const auto again = host.network.take_sent_of<wire::Packet>();
  EXPECT_EQ(again.size(), first);
  for (const wire::Packet& packet : again) EXPECT_TRUE(packet.alone);
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
  host.root.stored.clear();  // None of it arrived.
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

// ---- exactly once ----

struct Schedule {
  explicit Schedule(unsigned number) : seed(number), random(number) {}
  std::uint64_t operator()(std::uint64_t below) { return random() % below; }
  bool one_in(std::uint64_t n) { return random() % n == 0; }
  unsigned seed;
  std::mt19937_64 random;
};

struct Written {
  std::set<std::uint64_t> requests;  // Of records that found room.
  std::uint64_t messages = 0;
};

void write_some(AgentHost& host, HandMadeSegment& process, Schedule& pick, Written& written,
                std::uint64_t& request) {
  const auto thread = static_cast<std::uint32_t>(pick(3));
  for (std::uint64_t i = pick(120); i > 0; --i) {
    HandMadeCall call;
    call.function = static_cast<std::uint16_t>(pick(5));
    call.end = static_cast<std::uint64_t>(host.network.now) - pick(1000);
    call.begin = call.end - pick(100'000);
    call.request = ++request;
    if (pick.one_in(3)) {
      call.flags = capture::kRecordSend;
      call.peer = static_cast<std::int32_t>(pick(4));
    }
    if (pick.one_in(8)) call.calls = 1 + static_cast<std::uint32_t>(pick(100));
    if (process.write(thread, call)) {
      written.requests.insert(request);
      written.messages += call.flags != 0 ? 1 : 0;
    }
    if (!pick.one_in(10)) continue;
    for (std::uint64_t n = pick(4); n > 0; --n) {
      HandMadeCall completion = call;
      completion.kind = capture::RecordKind::kCompletion;
      completion.calls = 0;
      completion.flags = capture::kRecordReceive;
      completion.request = ++request;
      if (process.write(thread, completion)) written.requests.insert(request);
    }
  }
  if (pick.one_in(4)) process.count(thread, static_cast<std::uint16_t>(pick(5)));
}

void disturb(AgentHost& host, Schedule& pick) {
  if (pick.one_in(4)) host.die_after = 1 + static_cast<int>(pick(60));
  if (pick.one_in(15)) host.kill();
  if (pick.one_in(12) && host.network.upward)
    host.act([&] { host.network.link_down(*host.agent, *host.network.upward); });
  if (pick.one_in(10) && !host.network.connects.empty())
    host.act([&] { host.network.refuse_connect(*host.agent); });
  if (pick.one_in(12)) {
    wire::Acknowledgement request;
    request.resend.push_back({wire::kEveryStream, kLeafLane, 0, 1, IntervalSet::of(5)});
    host.deliver(request);
  }
  if (pick.one_in(20)) {
    wire::Assignment assignment;
    assignment.node = AgentHost::kNode;
    assignment.leaf = AgentHost::kLeaf;
    assignment.level = 2;
    assignment.parents = {{NodeId{3 + static_cast<std::uint32_t>(pick(2))}, {}},
                          {kFrontEndNode, {}}};
    host.deliver(assignment);
  }
}

void check(AgentHost& host, const Written& written) {
  EXPECT_EQ(host.network.stopped, 0);
  EXPECT_TRUE(host.journal->empty());
  const StoredSums sums = add_up(host.root);
  EXPECT_EQ(sums.undecodable, 0u);
  std::uint64_t captured = 0, lost = 0;
  for (std::size_t i = 0; i < host.segments.size(); ++i) {
    const Lane lane{static_cast<std::uint32_t>(i) + 1};
    EXPECT_TRUE(host.source.forgotten.contains(lane));
    std::uint64_t of_process = 0, lost_here = 0;
    for (std::uint16_t f = 0; f < 8; ++f) {
      of_process += host.segments[i]->calls(f);
      lost_here += host.segments[i]->lost(f);
      const auto it = sums.calls.find({lane, FunctionId{f}});
      const std::uint64_t stored = it == sums.calls.end() ? 0 : it->second;
      if (sums.given_up_window_calls == 0) {
        EXPECT_EQ(stored + host.segments[i]->lost(f), host.segments[i]->calls(f))
            << "lane " << i + 1 << " function " << f;
      }
    }
    captured += of_process;
    lost += lost_here;
    if (sums.given_up_window_calls != 0) continue;
    ASSERT_TRUE(sums.accounts.contains(lane));
    const wire::AccountRow& account = sums.accounts.at(lane);
    EXPECT_TRUE(account.ended);
    EXPECT_EQ(account.captured, of_process);
    EXPECT_EQ(account.lost, lost_here);
    EXPECT_EQ(account.windowed, of_process - lost_here);
  }
  EXPECT_EQ(sums.window_calls + sums.given_up_window_calls + lost, captured);
  if (sums.given_up_window_calls == 0) {
    EXPECT_EQ(sums.messages, written.messages);
  }
  if (!host.control.chunks) return;
  for (const auto& [request, times] : sums.requests) ASSERT_EQ(times, 1) << "event " << request;
  if (sums.given_up_event_calls == 0) {
    EXPECT_EQ(sums.requests.size(), written.requests.size());
  }
}

void live_and_die(Schedule& pick, std::size_t journal_bytes, std::uint64_t ack_one_in) {
  AgentHost host(journal_bytes);
  host.control.chunks = pick.one_in(2);
  host.control.window_ns = static_cast<Nanos>(1 + pick(300)) * kMillisecond;
  host.options.collector.records_per_drain = pick.one_in(2) ? 50 : 100'000;
  host.options.outbox.max_in_flight = pick.one_in(2) ? 4096 : 8u << 20;
  host.options.linger = 10 * kSecond;
  Written written;
  std::uint64_t request = 0;
  host.start();
  for (std::uint64_t step = 20 + pick(30); step > 0; --step) {
    if (host.segments.size() < 3 && pick.one_in(3)) host.add_process(pick.one_in(2) ? 128 : 1024);
    for (std::size_t i = 0; i < host.segments.size(); ++i) {
      const auto it = host.source.registered.find(Lane{static_cast<std::uint32_t>(i) + 1});
      if (it == host.source.registered.end() || it->second.ended) continue;
      if (pick.one_in(2)) write_some(host, *host.segments[i], pick, written, request);
      if (pick.one_in(25)) host.end_process(it->first);
    }
    disturb(host, pick);
    host.pass(static_cast<Nanos>(pick(120)) * kMillisecond);
    if (pick.one_in(ack_one_in)) host.acknowledge([&] { return !pick.one_in(4); });
  }
  if (host.segments.empty()) host.add_process();
  for (std::size_t i = 0; i < host.segments.size(); ++i)
    host.end_process(Lane{static_cast<std::uint32_t>(i) + 1});
  host.die_after = pick.one_in(2) ? 1 + static_cast<int>(pick(100)) : -1;
  host.run_to_the_end();
  check(host, written);
}

TEST_F(AgentTest, WhateverDiesEveryRecordIsStoredExactlyOnce) {
  for (unsigned seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Schedule pick(seed);
    live_and_die(pick, 4u << 20, 3);
    if (HasFailure()) return;
  }
}

TEST_F(AgentTest, WhenTheJournalIsFullWhatIsGivenUpIsCountedExactlyOnce) {
  for (unsigned seed = 1; seed <= 700; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Schedule pick(seed);
    live_and_die(pick, Journal::kSmallest, 20);
    if (HasFailure()) return;
  }
}

// A process that scribbles over its whole header and its rings while the agent works on it: another
// process of the same host is counted exactly all the same.
TEST_F(AgentTest, HostileProcessSpoilsNothingButItsOwnNumbers) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Schedule pick(seed);
    AgentHost host(Journal::kSmallest * 64);
    host.control.chunks = true;
    HandMadeSegment& good = host.add_process();
    HandMadeSegment& hostile = host.add_process(128);
    host.start();
    host.talk();
    for (int step = 0; step < 40; ++step) {
      write(host, good, 20);
      auto* bytes = reinterpret_cast<unsigned char*>(&hostile.header());
      for (int i = 0; i < 100; ++i)
        bytes[pick(sizeof(capture::SegmentHeader))] = static_cast<unsigned char>(pick(256));
      hostile.header().agent_finished = 0;
      for (std::uint32_t ring = 0; ring < 4; ++ring) {
        hostile.ring_at(ring).head.store(pick(~0ull) >> pick(64));
        auto* records = reinterpret_cast<unsigned char*>(hostile.records_of(ring));
        for (int i = 0; i < 300; ++i)
          records[pick(128 * sizeof(capture::Record))] = static_cast<unsigned char>(pick(256));
      }
      host.pass(static_cast<Nanos>(pick(100)) * kMillisecond);
      if (pick.one_in(10)) host.kill();
      host.acknowledge();
    }
    host.end_process(Lane{1});
    host.end_process(Lane{2});
    host.run_to_the_end();
    EXPECT_EQ(host.network.stopped, 0);
    const StoredSums sums = add_up(host.root);
    EXPECT_EQ(sums.calls.at({Lane{1}, FunctionId{1}}) + good.lost(1), good.calls(1));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace xylem::backend
