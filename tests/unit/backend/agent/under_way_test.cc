// Time belongs to the window in which it passes. Programs make calls of all lengths, and the
// windows are compared with these calls.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "backend/agent/collector.h"
#include "tests/support/hand_made_segment.h"
#include "wire/chunk.h"

namespace xylem::backend {
namespace {

using testing::HandMadeSegment;

constexpr Lane kOnly{1};
constexpr std::uint16_t kLastCall = 5;
// In programs, each thread has functions of its own.
constexpr std::uint16_t kFunctionsPerThread = 8;
constexpr std::uint16_t kPolled = 4;  // Only some calls of it are timed.
constexpr std::uint32_t kFunctions = 40;
constexpr std::uint32_t kUnlimited = 1u << 14;

struct HostOptions {
  std::uint32_t ring_records = kUnlimited;
  bool by_ticks = false;
  Nanos window = 1 * kMillisecond;
  std::size_t journal_bytes = 32u << 20;
  std::size_t records_per_drain = 200'000;
};

/// A process whose calls the test makes, its collector, and the windows that the collector writes.
class MomentHost {
 public:
  static constexpr Nanos kMoment = 1 * kMillisecond;  // The usual length of a window.

  explicit MomentHost(HostOptions options = {})
      : options_(options),
        memory_(options.journal_bytes),
        process_(options.ring_records, kFunctions) {
    if (options.by_ticks) process_.header().clock = capture::ClockKind::kTsc;
    process_.enter_world(0, 8);
    start();
  }

  /// Starts a collector with the journal and the segment of its predecessor.
  void start() {
    collector_.reset();
    JournalOptions keeps_all;
    keeps_all.may_give_up = [](StreamId) { return false; };
    journal_ = std::make_unique<Journal>(*Journal::open(memory_.bytes(), keeps_all));
    CollectorOptions options;
    options.records_per_drain = options_.records_per_drain;
    options.clock = [this] {
      if (on_clock) on_clock();
      return now;
    };
    options.read_pair = [this] {  // Each reading is off by up to 50 ns.
      return TickPair{ticks(), now + static_cast<Nanos>(jitter_() % 101) - 50, 50};
    };
    collector_ = std::make_unique<Collector>(options, *journal_);
    collector_->add(kOnly, process_.view(), false, now);
    wire::Control control;
    control.version = 1;
    control.window_ns = options_.window;
    control.enabled = true;
    control.chunks = true;
    collector_->set_offset(offset);
    collector_->configure(LeafId{1}, control);
  }

  DrainOutcome drain() {
    collector_->set_offset(offset);
    return collector_->drain(now);
  }
  void drain_all() {
    while (drain().unfinished) {
    }
  }
  /// The front end takes all packets that are journalled.
  void acknowledge() {
    for (const PacketKey& key : journal_->keys()) {
      taken_.push_back(journal_->read(key));
      journal_->acknowledge(key);
    }
  }
  void end() {
    process_.header().state.store(capture::ProcessState::kExited);
    collector_->process_ended(kOnly);
    now += 20 * kMicrosecond;
    for (int i = 0; i < 100'000 && (collector_->flush(now).unfinished || i < 3); ++i) acknowledge();
    // The tick clock needs a second pair.
    for (int i = 0; i < 100 && !collector_->is_idle(); ++i) {
      now += kMillisecond;
      std::ignore = collector_->flush(now);
      acknowledge();
    }
    EXPECT_TRUE(collector_->is_idle());
    EXPECT_EQ(collector_->take_finished().size(), 1u);
  }

  std::uint64_t ticks() const {
    return static_cast<std::uint64_t>(now) * (options_.by_ticks ? 3 : 1);
  }
  void begin(std::uint32_t thread, std::uint16_t function, std::int32_t peer = -1) {
    process_.begin(thread, function, ticks(), peer);
    begun_[thread] = {ticks(), function};
  }
  /// Ends the thread's call. Its record stands for `calls` calls.
  void finish(std::uint32_t thread, std::uint32_t calls = 1) {
    const auto& [began, function] = begun_.at(thread);
    process_.take_back(thread);
    testing::HandMadeCall call;
    call.function = function;
    call.begin = began;
    call.end = ticks();
    call.calls = calls;
    call.is_counted = true;
    process_.write(thread, call);
  }

  std::vector<wire::ProfileWindow> windows() const {
    std::vector<wire::ProfileWindow> all;
    for (const wire::Packet& packet : packets(wire::kWindowStream)) {
      auto window = wire::decode_profile_window(packet.payload);
      EXPECT_TRUE(window) << window.error().message;
      if (window) all.push_back(*std::move(window));
    }
    return all;
  }
  std::vector<wire::Event> events() const {
    std::vector<wire::Event> all;
    for (const wire::Packet& packet : packets(wire::kChunkStream)) {
      const auto chunk = wire::decode_chunk(packet.payload);
      EXPECT_TRUE(chunk);
      if (chunk) all.insert(all.end(), chunk->begin(), chunk->end());
    }
    return all;
  }

  /// Time by window and function, of rows and of earlier rows.
  std::map<Nanos, std::map<std::uint16_t, std::uint64_t>> times() const {
    std::map<Nanos, std::map<std::uint16_t, std::uint64_t>> sums;
    for (const wire::ProfileWindow& window : windows()) {
      for (const auto& row : window.rows) sums[window.begin_ns][raw(row.function)] += row.time_ns;
      for (const auto& row : window.earlier) {
        EXPECT_EQ(row.end_ns - row.begin_ns, options_.window);
        EXPECT_EQ(row.begin_ns % options_.window, 0);
        sums[row.begin_ns][raw(row.function)] += row.time_ns;
      }
    }
    return sums;
  }
  std::map<std::uint16_t, std::uint64_t> calls() const {
    std::map<std::uint16_t, std::uint64_t> sums;
    for (const wire::ProfileWindow& window : windows()) {
      for (const auto& row : window.rows) sums[raw(row.function)] += row.calls;
    }
    return sums;
  }

  Nanos window() const { return options_.window; }
  HandMadeSegment& process() { return process_; }
  Collector& collector() { return *collector_; }

  std::function<void()> on_clock;  // Called when the collector reads its clock.
  Nanos now = 50 * kMillisecond;
  Nanos offset = 0;

 private:
  std::vector<wire::Packet> packets(StreamId stream) const {
    std::vector<wire::Packet> all;
    for (const wire::Packet& packet : taken_) {
      if (packet.id.stream == stream) all.push_back(packet);
    }
    for (const PacketKey& key : journal_->keys()) {
      if (key.stream == stream) all.push_back(journal_->read(key));
    }
    return all;
  }

  HostOptions options_;
  std::vector<wire::Packet> taken_;
  testing::Memory memory_;
  HandMadeSegment process_;
  std::mt19937_64 jitter_{7};
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Collector> collector_;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint16_t>> begun_;
};

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
    host.collector().process_ended(kOnly);
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

// ---- random programs ----

struct Variety {
  std::uint32_t threads = 1;
  bool samples = false;
  bool replaces = false;  ///< The agent's worker dies now and then.
  bool learns = false;    ///< The offset to the front end's clock changes.
  bool dies = false;      ///< The process dies in a call.
  bool by_ticks = false;  ///< Times are ticks of a counter, which the agent converts.
  /// As many calls, but in a minute with windows of 250 ms. So the clocks bend a hundred times, and
  /// an agent is replaced while they do.
  bool is_long = false;
  bool journal_is_small = false;  ///< It is full until the front end takes packets.
  std::size_t budget = 200'000;
  std::uint32_t ring_records = kUnlimited;
};

/// A thread makes calls of all lengths, with pauses of all lengths.
class RandomThread {
 public:
  RandomThread(std::uint32_t number, const Variety& variety, Nanos now)
      : number_(number),
        samples_(variety.samples),
        scale_(variety.is_long ? 1000 : 1),
        next_(now) {}

  Nanos next() const { return next_; }
  bool is_in_call() const { return in_call_; }

  void step(MomentHost& host, std::mt19937_64& random) {
    if (in_call_) {
      host.finish(number_, std::exchange(pending_, 0) + 1);
      in_call_ = false;
      next_ += any_length(random);
      return;
    }
    if (samples_ && random() % 3 == 0) {  // Calls that are not timed, one after the other.
      host.process().count(number_, own(kPolled));
      ++pending_;
      next_ += scale_ * (1 + static_cast<Nanos>(random() % 20'000));
      return;
    }
    // A record stands for calls of its own function only.
    const auto function = pending_ != 0 ? kPolled : static_cast<std::uint16_t>(random() % 4);
    host.begin(number_, own(function), static_cast<std::int32_t>(random() % 8) - 1);
    in_call_ = true;
    next_ += any_length(random);
  }

 private:
  std::uint16_t own(std::uint16_t function) const {
    return static_cast<std::uint16_t>(number_ * kFunctionsPerThread + function);
  }
  Nanos any_length(std::mt19937_64& random) const {
    static constexpr Nanos kLengths[] = {20, 300, 5'000, 80'000, 400'000, 1'500'000, 5'000'000};
    const auto max = static_cast<std::uint64_t>(scale_ * kLengths[random() % std::size(kLengths)]);
    return 1 + static_cast<Nanos>(random() % max);
  }

  std::uint32_t number_;
  bool samples_;
  Nanos scale_;
  Nanos next_;
  bool in_call_ = false;
  std::uint32_t pending_ = 0;
};

/// Returns the number of threads that were in a call at the end.
std::size_t run_program(MomentHost& host, const Variety& variety, std::mt19937_64& random) {
  std::vector<RandomThread> threads;
  for (std::uint32_t t = 0; t < variety.threads; ++t)
    threads.emplace_back(t, variety, host.now + 1 + static_cast<Nanos>(random() % 1000));
  const Nanos end = host.now + (variety.is_long ? 60 * kSecond : 60 * kMillisecond);
  const Nanos longest_pause = variety.is_long ? 750 * kMillisecond : 3 * kMillisecond;
  const Nanos worst_offset = variety.is_long ? 2 * kMillisecond : 100 * kMicrosecond;
  Nanos next_drain = host.now;
  const auto in_call = [&] {
    return std::count_if(threads.begin(), threads.end(),
                         [](const RandomThread& t) { return t.is_in_call(); });
  };
  while (host.now < end || (!variety.dies && in_call() != 0)) {
    auto first =
        std::min_element(threads.begin(), threads.end(), [&](const auto& a, const auto& b) {
          // After the end only calls that are under way go on.
          const bool a_over = host.now >= end && !a.is_in_call();
          const bool b_over = host.now >= end && !b.is_in_call();
          return a_over != b_over ? b_over : a.next() < b.next();
        });
    if (next_drain <= first->next()) {
      host.now = std::max(host.now, next_drain);
      if (variety.learns && random() % 4 == 0)
        host.offset += static_cast<Nanos>(random() % static_cast<std::uint64_t>(2 * worst_offset)) -
                       worst_offset;
      if (variety.replaces && random() % 8 == 0) host.start();
      host.drain();
      if (random() % 8 == 0) host.acknowledge();
      next_drain =
          host.now + 1 + static_cast<Nanos>(random() % static_cast<std::uint64_t>(longest_pause));
    } else {
      host.now = std::max(host.now, first->next());
      first->step(host, random);
    }
  }
  const auto left = static_cast<std::size_t>(in_call());
  host.now += 100;
  if (variety.dies) host.process().count(0, kLastCall);
  host.end();
  return left;
}

void check(const MomentHost& host, const Variety& variety, std::size_t left_in_calls) {
  std::map<std::uint16_t, std::uint64_t> sums;
  for (const auto& [begin, functions] : host.times()) {
    std::map<int, std::uint64_t> by_thread;
    for (const auto& [function, time] : functions) {
      by_thread[function / kFunctionsPerThread] += time;
      sums[function] += time;
    }
    for (const auto& [thread, time] : by_thread) {
      ASSERT_LE(time, static_cast<std::uint64_t>(host.window()))
          << "thread " << thread << " in the window from " << begin;
    }
  }
  std::map<std::uint16_t, std::uint64_t> expected;
  std::map<ThreadIndex, Nanos> last_end;
  for (const wire::Event& event : host.events()) {
    ASSERT_LE(event.begin_ns, event.end_ns);
    ASSERT_GE(event.begin_ns, last_end[event.thread]) << "two calls of a thread overlap";
    last_end[event.thread] = event.end_ns;
    expected[raw(event.function)] += static_cast<std::uint64_t>(event.end_ns - event.begin_ns);
  }
  std::size_t died_in = 0;
  for (const wire::ProfileWindow& window : host.windows()) {
    if (window.accounts.empty() || !window.accounts.back().ended) continue;
    for (const auto& row : window.under_way) {
      ++died_in;
      expected[raw(row.function)] +=
          static_cast<std::uint64_t>(window.accounts.back().until_ns - row.begin_ns);
    }
  }
  EXPECT_EQ(died_in, left_in_calls);
  if (variety.ring_records != kUnlimited) return;
  for (const auto& [function, time] : expected) {
    if (function % kFunctionsPerThread == kPolled) {
      EXPECT_GE(sums[function], time) << "what was timed counts at least";
    } else {
      ASSERT_EQ(sums[function], time) << "function " << function;
    }
  }
}

void try_programs(const Variety& variety, unsigned seeds) {
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    HostOptions options;
    options.ring_records = variety.ring_records;
    options.by_ticks = variety.by_ticks;
    options.records_per_drain = variety.budget;
    if (variety.is_long) options.window = 250 * kMillisecond;
    if (variety.journal_is_small) options.journal_bytes = Journal::kSmallest * 3 / 2;
    MomentHost host(options);
    const std::size_t left = run_program(host, variety, random);
    check(host, variety, left);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(UnderWayPrograms, OfOneThread) { try_programs({}, 60); }
TEST(UnderWayPrograms, OfThreads) { try_programs({.threads = 4}, 30); }
TEST(UnderWayPrograms, WithSampling) { try_programs({.samples = true}, 60); }
TEST(UnderWayPrograms, OfThreadsWithSampling) { try_programs({.threads = 3, .samples = true}, 30); }
TEST(UnderWayPrograms, WithAnOffsetThatIsLearned) {
  try_programs({.threads = 2, .samples = true, .learns = true}, 30);
  try_programs({.threads = 2, .samples = true, .learns = true, .is_long = true}, 20);
}
TEST(UnderWayPrograms, OverReplacementsOfTheAgent) {
  try_programs({.threads = 2, .replaces = true}, 30);
}
TEST(UnderWayPrograms, OverReplacementsWithSamplingAndALearnedOffset) {
  Variety variety{.threads = 2, .samples = true, .replaces = true, .learns = true};
  try_programs(variety, 30);
  variety.is_long = true;
  try_programs(variety, 20);
}
TEST(UnderWayPrograms, WithTicks) { try_programs({.by_ticks = true}, 60); }
TEST(UnderWayPrograms, WithTicksAndEverythingElse) {
  Variety variety{
      .threads = 2, .samples = true, .replaces = true, .learns = true, .by_ticks = true};
  try_programs(variety, 30);
  variety.is_long = true;
  try_programs(variety, 20);
}
TEST(UnderWayPrograms, ThatDieInACall) {
  try_programs({.threads = 2, .samples = true, .dies = true}, 40);
  try_programs({.threads = 3, .dies = true}, 40);
}
TEST(UnderWayPrograms, WhoseRingOverruns) {
  try_programs({.samples = true, .ring_records = capture::kMinRingRecords}, 40);
}
TEST(UnderWayPrograms, WithAJournalThatIsFullNowAndThen) {
  try_programs({.threads = 3, .samples = true, .journal_is_small = true}, 15);
  try_programs({.threads = 2, .replaces = true, .is_long = true, .journal_is_small = true}, 15);
}
TEST(UnderWayPrograms, WithAnAgentThatLagsBehind) {
  try_programs({.threads = 2, .samples = true, .budget = 7}, 30);
  try_programs({.threads = 2, .replaces = true, .dies = true, .budget = 3}, 30);
}

}  // namespace
}  // namespace xylem::backend
