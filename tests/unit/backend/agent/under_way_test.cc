// Time belongs to the window in which it passes, and a call under way has its function, begin and
// peer in each window. Each test makes the calls of one situation. under_way_programs_test.cc has
// random programs.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "backend/agent/collector.h"
#include "tests/support/hand_made_segment.h"
#include "tests/support/moment_host.h"
#include "wire/chunk.h"

namespace xylem::backend {
namespace {

using testing::HandMadeSegment;
using testing::MomentHost;

constexpr std::uint16_t kLastCall = 5;

// ---- one call ----

TEST(UnderWay, ACallThatDoesNotReturnFillsEveryWindowAtOnce) {
  MomentHost host;
  host.drain_all();
  host.now += MomentHost::kMoment / 4;
  host.begin(0, 2, 7);
  const Nanos began = host.now;
  for (int i = 1; i <= 20; ++i) {
    host.now = 50 * kMillisecond + i * MomentHost::kMoment + 20 * kMicrosecond;
    host.drain_all();
    const auto windows = host.windows();
    ASSERT_EQ(windows.size(), static_cast<std::size_t>(i)) << "one window for each slice";
    const wire::ProfileWindow& newest = windows.back();
    ASSERT_EQ(newest.end_ns, 50 * kMillisecond + i * MomentHost::kMoment);
    ASSERT_EQ(newest.rows.size(), 1u);
    EXPECT_EQ(newest.rows[0].calls, 0u);
    EXPECT_EQ(
        newest.rows[0].time_ns,
        static_cast<std::uint64_t>(i == 1 ? MomentHost::kMoment * 3 / 4 : MomentHost::kMoment));
    EXPECT_TRUE(newest.earlier.empty());
    ASSERT_EQ(newest.under_way.size(), 1u);
    EXPECT_EQ(newest.under_way[0].function, FunctionId{2});
    EXPECT_EQ(newest.under_way[0].begin_ns, began);
    EXPECT_EQ(newest.under_way[0].peer, Rank{7});
    EXPECT_EQ(newest.under_way[0].comm, CommId{capture::kCommWorld});
  }
  host.finish(0);
  const Nanos ended = host.now;
  host.end();
  EXPECT_EQ(host.calls(), (std::map<std::uint16_t, std::uint64_t>{{2, 1}}));
  std::uint64_t sum = 0;
  for (const auto& [begin, functions] : host.times()) sum += functions.at(2);
  EXPECT_EQ(sum, static_cast<std::uint64_t>(ended - began));
}

TEST(UnderWay, AProcessThatComputesMakesNoWindows) {
  MomentHost host;
  host.begin(0, 1);
  host.now += 1000;
  host.finish(0);
  for (int i = 0; i < 20; ++i) {
    host.now += MomentHost::kMoment / 2;
    host.drain_all();
  }
  EXPECT_EQ(host.windows().size(), 1u);
}

TEST(UnderWay, TimeBeforeTheRankIsKnownComesLater) {
  MomentHost host;
  host.process().header().state.store(capture::ProcessState::kStarting);
  host.start();  // The agent sees the process before its MPI_Init returns.
  host.begin(0, 0);
  const Nanos began = host.now;
  for (int i = 0; i < 10; ++i) {
    host.now += MomentHost::kMoment;
    host.drain_all();
  }
  EXPECT_TRUE(host.windows().empty());
  host.finish(0);
  host.process().enter_world(0, 8);
  const Nanos ended = host.now;
  host.end();
  const auto times = host.times();
  EXPECT_EQ(times.size(), 11u);
  std::uint64_t sum = 0;
  for (const auto& [begin, functions] : times) {
    EXPECT_LE(functions.at(0), static_cast<std::uint64_t>(MomentHost::kMoment));
    sum += functions.at(0);
  }
  EXPECT_EQ(sum, static_cast<std::uint64_t>(ended - began));
}

TEST(UnderWay, ACallInWhichTheProcessDiesLastsUntilItsDeath) {
  MomentHost host;
  host.drain_all();
  host.begin(0, kLastCall, 3);
  const Nanos began = host.now;
  host.now += 5 * MomentHost::kMoment + 123;
  host.drain_all();
  const Nanos died = host.now;
  host.end();
  EXPECT_EQ(host.calls(), (std::map<std::uint16_t, std::uint64_t>{{kLastCall, 1}}));
  std::uint64_t sum = 0;
  for (const auto& [begin, functions] : host.times()) sum += functions.at(kLastCall);
  EXPECT_EQ(sum, static_cast<std::uint64_t>(died - began));
  ASSERT_EQ(host.windows().back().under_way.size(), 1u);
  EXPECT_EQ(host.windows().back().under_way[0].begin_ns, began);
  const wire::AccountRow account = host.windows().back().accounts.back();
  EXPECT_EQ(account.since_ns, 50 * kMillisecond);
  EXPECT_EQ(account.until_ns, died);
  EXPECT_EQ(account.threads, 1u);
}

TEST(UnderWay, ARecordThatTheRingDroppedEndsItsCall) {
  MomentHost host({.ring_records = capture::kMinRingRecords});
  for (std::uint32_t i = 0; i < capture::kMinRingRecords; ++i) {
    host.begin(0, 1);
    host.now += 10;
    host.finish(0);
  }
  host.begin(0, 2);
  host.now += 10;
  host.finish(0);  // Dropped.
  host.now += 3 * MomentHost::kMoment;
  host.drain_all();
  for (const wire::ProfileWindow& window : host.windows()) EXPECT_TRUE(window.under_way.empty());
  host.end();
  EXPECT_EQ(host.calls(), (std::map<std::uint16_t, std::uint64_t>{{1, capture::kMinRingRecords}}));
}

// The clocks are corrected more often than they remember corrections.
void keeps_its_begin(bool by_ticks, bool is_replaced) {
  SCOPED_TRACE(::testing::Message() << "by ticks " << by_ticks << ", replaced " << is_replaced);
  MomentHost host({.by_ticks = by_ticks, .window = 250 * kMillisecond});
  std::mt19937_64 random(3);
  for (int i = 0; i < 10; ++i) {  // The tick clock becomes ready.
    host.now += 30 * kMillisecond;
    host.drain_all();
  }
  host.begin(0, 2);
  const auto correct = [&] {
    host.now += 1100 * kMillisecond;
    host.offset += static_cast<Nanos>(random() % 1'000'000);
    host.drain_all();
  };
  for (int i = 0; i < 650; ++i) {
    correct();
    if (is_replaced && i % 100 == 99) host.start();
  }
  host.finish(0);
  if (is_replaced) host.start();  // The new agent reads the long call's record.
  host.now += 1000;
  host.begin(0, 3);  // It is under way before the chunk has the long call.
  host.now += 300 * kMillisecond;
  host.drain();
  if (is_replaced) host.start();
  for (int i = 0; i < 3; ++i) correct();
  host.finish(0);
  host.end();

  const auto events = host.events();
  ASSERT_EQ(events.size(), 2u);
  std::map<std::uint16_t, Nanos> begins;
  for (const wire::Event& event : events) begins[raw(event.function)] = event.begin_ns;
  std::size_t listed = 0;
  for (const wire::ProfileWindow& window : host.windows()) {
    for (const auto& row : window.under_way) {
      ASSERT_EQ(row.begin_ns, begins.at(raw(row.function)))
          << "in the window from " << window.begin_ns;
      ++listed;
    }
  }
  EXPECT_GT(listed, 600u);
  std::map<std::uint16_t, std::uint64_t> sums;
  for (const auto& [begin, functions] : host.times()) {
    for (const auto& [function, time] : functions) sums[function] += time;
  }
  for (const wire::Event& event : events) {
    EXPECT_EQ(sums[raw(event.function)], static_cast<std::uint64_t>(event.end_ns - event.begin_ns));
  }
}

TEST(UnderWay, ALongCallKeepsItsBeginWhateverTheClocksLearn) {
  for (const bool by_ticks : {false, true}) {
    for (const bool is_replaced : {false, true}) keeps_its_begin(by_ticks, is_replaced);
  }
}

TEST(UnderWay, TheOrderOfAThreadOutlivesTheAgent) {
  MomentHost host;
  const auto write = [&host](Nanos begin, Nanos end) {
    testing::HandMadeCall call;
    call.function = 1;
    call.begin = static_cast<std::uint64_t>(begin);
    call.end = static_cast<std::uint64_t>(end);
    host.process().write(0, call);
  };
  const Nanos began = host.now;
  write(began, began + 200);
  host.now += 3 * MomentHost::kMoment;
  host.drain_all();
  host.now += kSecond;  // The chunk is due.
  host.drain_all();
  host.start();
  write(began + 190, began + 250);  // The counter of its processor is behind.
  host.end();
  const auto events = host.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].begin_ns, began + 200);
  std::uint64_t longest = 0, shortest = ~0ull, sum = 0;
  for (const auto& window : host.windows()) {
    for (const auto& row : window.rows) {
      longest = std::max(longest, row.max_ns);
      if (row.calls != 0) shortest = std::min(shortest, row.min_ns);
      sum += row.time_ns;
    }
    for (const auto& row : window.earlier) sum += row.time_ns;
  }
  EXPECT_EQ(longest, 200u);
  EXPECT_EQ(shortest, 50u);
  EXPECT_EQ(sum, 250u);
}

// The collector reads its clock in the middle of a drain. At this point the thread continues.
TEST(UnderWay, ACallThatReturnsDuringTheDrainIsNotListed) {
  for (int when = 1; when <= 4; ++when) {
    SCOPED_TRACE(when);
    MomentHost host;
    const Nanos began = host.now;
    const Nanos slice_end = began + MomentHost::kMoment;
    const auto write = [&host](std::uint32_t thread, std::uint16_t function, Nanos begin, Nanos end,
                               bool is_counted) {
      testing::HandMadeCall call;
      call.function = function;
      call.begin = static_cast<std::uint64_t>(begin);
      call.end = static_cast<std::uint64_t>(end);
      call.is_counted = is_counted;
      host.process().write(thread, call);
    };
    host.begin(0, 2);
    write(1, 1, began + 10, began + 20, false);
    host.now = slice_end + 200'000;
    int reads = 0;
    host.on_clock = [&] {
      if (++reads != when) return;
      host.process().take_back(0);
      write(0, 2, began, began + 400'000, true);
      write(0, 3, began + 500'000, slice_end + 100'000, false);
    };
    std::ignore = host.drain();
    ASSERT_GE(reads, when);
    const auto windows = host.windows();
    ASSERT_FALSE(windows.empty());
    const wire::ProfileWindow& window = windows.front();
    ASSERT_EQ(window.begin_ns, began);
    ASSERT_EQ(window.under_way.size(), 1u);
    EXPECT_EQ(window.under_way[0].function, FunctionId{3});
    std::map<std::uint16_t, std::uint64_t> times, calls;
    for (const auto& row : window.rows) {
      times[raw(row.function)] = row.time_ns;
      calls[raw(row.function)] = row.calls;
    }
    EXPECT_EQ(times[2], 400'000u);
    EXPECT_EQ(calls[2], 1u);
    EXPECT_EQ(times[3], static_cast<std::uint64_t>(slice_end - began - 500'000));
    EXPECT_EQ(calls[3], 0u);
  }
}

// A rank loses its processor between two completions of a call, while another thread is in a call.
TEST(UnderWay, CompletionsThatAreHeldBackMakeNoWindowAfterWindow) {
  MomentHost host;
  const Nanos began = host.now;
  host.begin(0, 2);
  host.now += MomentHost::kMoment / 2;
  host.begin(1, 3);
  host.finish(1);
  testing::HandMadeCall completion;
  completion.function = 3;
  completion.begin = completion.end = host.ticks();
  completion.calls = 0;
  completion.peer = 1;
  completion.flags = capture::kRecordPart | capture::kRecordReceive;
  host.process().write(1, completion);
  host.now = began + MomentHost::kMoment + 200 * kMicrosecond;
  std::ignore = host.drain();
  EXPECT_LE(host.windows().size(), 1u);
  host.now += 100 * kMicrosecond;
  std::ignore = host.drain();
  const auto windows = host.windows();
  ASSERT_FALSE(windows.empty());
  EXPECT_LE(windows.size(), 2u);
  EXPECT_EQ(windows.back().begin_ns, began);
  ASSERT_EQ(windows.back().under_way.size(), 1u);
  EXPECT_EQ(windows.back().under_way[0].function, FunctionId{2});
  std::uint64_t receives = 0;
  for (const auto& window : windows) receives += window.waits.size();
  EXPECT_EQ(receives, 1u);
}

// The agent's budget does not reach the slice in which the process has died.
TEST(UnderWay, ALastCallCountsWholeIfTheSlicesLagBehind) {
  for (std::size_t budget = 1; budget <= 12; ++budget) {
    SCOPED_TRACE(budget);
    MomentHost host({.records_per_drain = budget});
    for (int i = 0; i < 10; ++i) {
      host.begin(0, 1);
      host.now += MomentHost::kMoment / 2;
      host.finish(0);
    }
    host.begin(0, kLastCall);
    const Nanos began = host.now;
    host.now += 10 * MomentHost::kMoment + 123;
    const Nanos died = host.now;
    host.collector().process_ended(MomentHost::kLane);
    for (int i = 0; i < 100; ++i) {
      host.now += 50 * kMicrosecond;
      host.drain_all();
    }
    EXPECT_EQ(host.collector().take_finished().size(), 1u);
    std::uint64_t sum = 0;
    for (const auto& [begin, functions] : host.times()) {
      const auto last = functions.find(kLastCall);
      if (last != functions.end()) sum += last->second;
    }
    EXPECT_EQ(sum, static_cast<std::uint64_t>(died - began));
  }
}

TEST(UnderWay, CallsAfterAStepBackOfTheClockHaveTheirTime) {
  for (const bool is_replaced : {false, true}) {
    SCOPED_TRACE(is_replaced);
    MomentHost host;
    host.now = 7200 * kSecond;
    host.start();
    host.drain_all();
    host.begin(0, 1);
    host.now += 10 * MomentHost::kMoment;
    host.drain_all();  // The call is counted up to here.
    host.offset = -3600 * kSecond;
    host.drain_all();
    host.now += 5 * kMillisecond;
    if (is_replaced) host.start();
    host.drain_all();
    host.finish(0);
    for (int i = 0; i < 100; ++i) {
      host.now += 10;
      host.begin(0, 2);
      host.now += 3 * MomentHost::kMoment;
      host.drain_all();
      host.finish(0);
    }
    host.end();
    std::map<std::uint16_t, std::uint64_t> sums;
    for (const auto& [begin, functions] : host.times()) {
      for (const auto& [function, time] : functions) sums[function] += time;
    }
    EXPECT_EQ(sums[2], static_cast<std::uint64_t>(300 * MomentHost::kMoment));
    EXPECT_GE(sums[1], static_cast<std::uint64_t>(9 * MomentHost::kMoment));
  }
}

TEST(UnderWay, AHostileProgressInTheFutureStopsNoTime) {
  MomentHost host;
  host.process().ring_at(0).charged_ns = 1'000'000 * kSecond;
  host.start();
  host.drain_all();
  host.now += 10;
  host.begin(0, 2);
  host.now += 5 * MomentHost::kMoment;
  host.drain_all();
  host.finish(0);
  host.end();
  std::uint64_t sum = 0;
  for (const auto& [begin, functions] : host.times()) sum += functions.at(2);
  EXPECT_EQ(sum, static_cast<std::uint64_t>(5 * MomentHost::kMoment));
}

// All records become known at once, because the agent was stopped or did not know the ranks.
void an_hour_of_many(bool dies) {
  SCOPED_TRACE(::testing::Message() << "dies " << dies);
  constexpr std::uint32_t kProcesses = 100;
  constexpr Nanos kHour = 3600 * kSecond;
  testing::Memory memory(256u << 20);
  Journal journal = *Journal::open(memory.bytes());
  Nanos now = 2 * kHour;
  CollectorOptions options;
  options.clock = [&now] { return now; };
  Collector collector(options, journal);
  wire::Control control;
  control.version = 1;
  control.window_ns = 500 * kMillisecond;
  control.enabled = true;
  collector.configure(LeafId{1}, control);
  std::vector<std::unique_ptr<HandMadeSegment>> processes;
  for (std::uint32_t i = 0; i < kProcesses; ++i) {
    processes.push_back(std::make_unique<HandMadeSegment>(1024));
    if (!dies) processes.back()->enter_world(i, kProcesses);
    processes.back()->begin(0, 0, static_cast<std::uint64_t>(now));
    processes.back()->begin(1, 0, static_cast<std::uint64_t>(now));
    collector.add(Lane{i + 1}, processes.back()->view(), false, now);
  }
  now += kHour;
  if (dies) {
    while (collector.drain(now).unfinished) {
    }
    for (std::uint32_t i = 0; i < kProcesses; ++i) collector.process_ended(Lane{i + 1});
  }
  while (collector.drain(now).unfinished) {
  }
  now += kSecond;
  while (collector.drain(now).unfinished) {
  }

  std::uint64_t calls = 0;
  std::map<Lane, std::uint64_t> time;
  std::size_t packets = 0, max_listed = 0;
  for (const PacketKey& key : journal.keys()) {
    if (key.stream != wire::kWindowStream) continue;
    ++packets;
    ASSERT_LT(journal.payload_bytes(key), 2 * options.window_bytes);
    const auto window = wire::decode_profile_window(journal.read(key).payload);
    ASSERT_TRUE(window);
    for (const auto& row : window->rows) {
      calls += row.calls;
      time[row.lane] += row.time_ns;
    }
    for (const auto& row : window->earlier) time[row.lane] += row.time_ns;
    max_listed = std::max(max_listed, window->under_way.size());
  }
  EXPECT_GT(packets, 10u);
  EXPECT_EQ(calls, dies ? 2 * kProcesses : 0);
  ASSERT_EQ(time.size(), kProcesses);
  for (const auto& [lane, ns] : time) {
    const auto expected = static_cast<double>(2 * (dies ? kHour : kHour + kSecond));
    ASSERT_NEAR(static_cast<double>(ns), expected, static_cast<double>(2 * control.window_ns));
  }
  if (dies) {
    EXPECT_EQ(collector.take_finished().size(), kProcesses);
  } else {
    EXPECT_EQ(max_listed, 2 * kProcesses) << "the last part lists all calls";
  }
}

TEST(UnderWay, AnHourOfManyProcessesComesInPacketsOfLimitedSize) {
  an_hour_of_many(false);
  an_hour_of_many(true);
}

}  // namespace
}  // namespace xylem::backend
