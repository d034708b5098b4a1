// Every record is stored exactly once, whatever dies. Random lives of a host, with deaths between
// any two stores and requests of the agent, lost links, lost acknowledgements, a full journal and
// hostile processes. At the end, the test adds up what the root has stored.

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "backend/agent/agent.h"
#include "base/log.h"
#include "tests/support/agent_host.h"
#include "tests/support/seeds.h"

namespace xylem::backend {
namespace {

using testing::AgentHost;
using testing::HandMadeCall;
using testing::HandMadeSegment;
using testing::seeds_to_try;
using testing::StoredSums;

class ExactlyOnceTest : public ::testing::Test {
 protected:
  ExactlyOnceTest() {
    set_log_sink([](Level, std::string_view) {});
  }
  ~ExactlyOnceTest() override { set_log_sink({}); }
};

struct Schedule {
  explicit Schedule(unsigned number) : seed(number), random(number) {}
  std::uint64_t operator()(std::uint64_t below) { return random() % below; }
  bool one_in(std::uint64_t n) { return random() % n == 0; }
  unsigned seed;
  std::mt19937_64 random;
};

struct Written {
  std::set<std::uint64_t> requests;  // The requests of records that fitted into the ring.
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
      completion.calls = 0;
      completion.flags = capture::kRecordPart | capture::kRecordReceive;
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

TEST_F(ExactlyOnceTest, WhateverDiesEveryRecordIsStoredExactlyOnce) {
  for (unsigned seed = 1; seed <= seeds_to_try(1500); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Schedule pick(seed);
    live_and_die(pick, 4u << 20, 3);
    if (HasFailure()) return;
  }
}

TEST_F(ExactlyOnceTest, WhenTheJournalIsFullWhatIsGivenUpIsCountedExactlyOnce) {
  for (unsigned seed = 1; seed <= seeds_to_try(700); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Schedule pick(seed);
    live_and_die(pick, Journal::kSmallest, 20);
    if (HasFailure()) return;
  }
}

// A process overwrites its whole header and its rings while the agent reads them. Another process
// of the same host is still counted exactly.
TEST_F(ExactlyOnceTest, HostileProcessSpoilsNothingButItsOwnNumbers) {
  for (unsigned seed = 1; seed <= seeds_to_try(60); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Schedule pick(seed);
    AgentHost host(Journal::kSmallest * 64);
    host.control.chunks = true;
    HandMadeSegment& good = host.add_process();
    HandMadeSegment& hostile = host.add_process(128);
    host.start();
    host.talk();
    for (int step = 0; step < 40; ++step) {
      const auto now = static_cast<std::uint64_t>(host.network.now);
      for (int i = 0; i < 20; ++i) good.write(0, {.function = 1, .begin = now - 10, .end = now});
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
