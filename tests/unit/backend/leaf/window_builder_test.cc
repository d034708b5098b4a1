#include "backend/leaf/window_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace xylem::backend {
namespace {

constexpr Nanos kBuiltWindow = 250;
constexpr LeafId kBuildingLeaf{3};

TimedRecord timed_call(std::uint16_t function, Nanos begin, Nanos end) {
  TimedRecord timed;
  timed.record = {};
  timed.record.begin = static_cast<std::uint64_t>(begin);
  timed.record.end = static_cast<std::uint64_t>(end);
  timed.record.peer = capture::kNoPeer;
  timed.record.calls = 1;
  timed.record.function = function & 0xfff;
  timed.begin_ns = begin;
  timed.end_ns = end;
  return timed;
}

TimedRecord completion(std::uint16_t function, Nanos begin, Nanos end, std::int32_t peer) {
  TimedRecord timed = timed_call(function, begin, end);
  timed.record.calls = 0;
  timed.record.peer = peer;
  timed.record.flags = capture::kRecordPart | capture::kRecordReceive;
  timed.record.bytes = 8;
  return timed;
}

WindowBuilder opened(std::uint64_t slice = 0) {
  WindowBuilder builder(kBuildingLeaf);
  builder.open(slice, kBuiltWindow);
  return builder;
}

TEST(WindowBuilder, AddsUpWhatAFunctionDid) {
  WindowBuilder builder = opened();
  std::vector<TimedRecord> records = {timed_call(1, 0, 10), timed_call(1, 20, 50),
                                      timed_call(2, 60, 60)};
  records[1].record.bytes = 100;
  EXPECT_EQ(builder.add(Lane{1}, records, false), 3u);
  const auto window = builder.build();
  ASSERT_EQ(window.rows.size(), 2u);
  const wire::ProfileRow& row = window.rows[0];
  EXPECT_EQ(row.leaf, kBuildingLeaf);
  EXPECT_EQ(row.calls, 2u);
  EXPECT_EQ(row.time_ns, 40u);
  EXPECT_EQ(row.min_ns, 10u);
  EXPECT_EQ(row.max_ns, 30u);
  EXPECT_EQ(row.bytes, 100u);
  EXPECT_FALSE(row.estimated);
  EXPECT_EQ(row.histogram.total(), 2u);
  EXPECT_EQ(window.begin_ns, 0);
  EXPECT_EQ(window.end_ns, kBuiltWindow);
}

TEST(WindowBuilder, StopsAtTheFirstRecordOfALaterSlice) {
  WindowBuilder builder = opened(1);
  const std::vector<TimedRecord> records = {timed_call(1, 300, 310), timed_call(1, 490, 501),
                                            timed_call(1, 320, 330)};
  EXPECT_EQ(builder.add(Lane{1}, records, true), 1u);
}

TEST(WindowBuilder, CountsLateRecordsInTheOpenSlice) {
  WindowBuilder builder = opened(4);
  EXPECT_EQ(builder.add(Lane{1}, std::vector{timed_call(1, 0, 10)}, true), 1u);
  const auto window = builder.build();
  EXPECT_EQ(window.begin_ns, 4 * kBuiltWindow);
  EXPECT_EQ(window.rows.at(0).calls, 1u);
  EXPECT_EQ(window.rows.at(0).max_ns, 10u);
  EXPECT_EQ(window.rows.at(0).time_ns, 0u) << "the time did not pass here";
  ASSERT_EQ(window.earlier.size(), 1u);
  EXPECT_EQ(window.earlier[0],
            (wire::EarlierRow{kBuildingLeaf, Lane{1}, FunctionId{1}, false, 0, kBuiltWindow, 10}));
}

TEST(WindowBuilder, ScalesTheTimeOfASampleByItsCallsAndSaysSo) {
  WindowBuilder builder = opened();
  TimedRecord sample = timed_call(1, 200, 202);
  sample.record.calls = 50;
  sample.record.bytes = 4;
  builder.add(Lane{1}, std::vector{timed_call(1, 0, 2), sample}, true);
  const auto row = builder.build().rows.at(0);
  EXPECT_TRUE(row.estimated);
  EXPECT_EQ(row.calls, 51u);
  EXPECT_EQ(row.time_ns, 102u);
  EXPECT_EQ(row.max_ns, 2u);
  EXPECT_EQ(row.bytes, 4u) << "bytes are exact: what sampling left out comes as completions";
}

TEST(WindowBuilder, GivesASampleNoMoreTimeThanItsCallsCanHaveTaken) {
  WindowBuilder builder = opened();
  TimedRecord sample = timed_call(1, 100, 210);
  sample.record.calls = 50;
  sample.record.peer = 3;
  sample.record.flags = capture::kRecordReceive;
  builder.add(Lane{1}, std::vector{timed_call(1, 0, 10), sample}, true);
  const auto window = builder.build();
  const wire::ProfileRow& row = window.rows.at(0);
  EXPECT_EQ(row.time_ns, 210u);
  EXPECT_EQ(row.max_ns, 110u);
  EXPECT_EQ(row.histogram.total(), 51u);
  EXPECT_EQ(row.histogram.count(1), 49u) << "the others took 1 ns each";
  ASSERT_EQ(window.waits.size(), 1u);
  EXPECT_EQ(window.waits[0].time_ns, 200u);
}

TEST(WindowBuilder, SendsCountInTheMatrixOnlyWithAPeer) {
  WindowBuilder builder = opened();
  TimedRecord send = timed_call(1, 0, 10);
  send.record.flags = capture::kRecordSend;
  send.record.bytes = 64;
  send.record.peer = 5;
  TimedRecord nowhere = send;
  nowhere.record.peer = capture::kNoPeer;
  builder.add(Lane{2}, std::vector{send, nowhere, send}, true);
  const auto window = builder.build();
  ASSERT_EQ(window.matrix.size(), 1u);
  EXPECT_EQ(window.matrix[0], (wire::MatrixRow{kBuildingLeaf, Lane{2}, Rank{5}, 128, 2}));
}

TEST(WindowBuilder, KeepsPeersAndProcessesApartHoweverManyThereAre) {
  constexpr std::uint32_t kPeers = 300, kLanes = 3;
  WindowBuilder builder = opened();
  for (int part = 0; part < 2; ++part) {
    for (std::uint32_t turn = 0; turn < 2 * kPeers * kLanes; ++turn) {
      TimedRecord message = timed_call(1, 0, 10);
      message.record.flags = capture::kRecordSend | capture::kRecordReceive;
      message.record.bytes = 1;
      message.record.peer = static_cast<std::int32_t>(turn % kPeers * 0x10001);
      builder.add(Lane{1 + turn / kPeers % kLanes}, std::vector{message}, true);
    }
    const auto window = builder.build();
    ASSERT_EQ(window.matrix.size(), kPeers * kLanes);
    ASSERT_EQ(window.waits.size(), kPeers * kLanes);
    for (const wire::MatrixRow& row : window.matrix) EXPECT_EQ(row.messages, 2u);
    for (const wire::WaitRow& row : window.waits) EXPECT_EQ(row.time_ns, 20u);
    EXPECT_EQ(builder.calls(Lane{1}), 2 * kPeers);
    builder.clear();
    EXPECT_EQ(builder.calls(Lane{1}), 0u);
  }
}

TEST(WindowBuilder, SharesAWaitEvenlyOverTheReceivesItCompleted) {
  WindowBuilder builder = opened();
  const std::vector<TimedRecord> records = {timed_call(7, 0, 90), completion(7, 0, 90, 1),
                                            completion(7, 0, 90, 2), completion(7, 0, 90, 1),
                                            timed_call(7, 91, 92)};
  EXPECT_EQ(builder.add(Lane{1}, records, false), 5u);
  const auto window = builder.build();
  ASSERT_EQ(window.waits.size(), 2u);
  EXPECT_EQ(window.waits[0], (wire::WaitRow{kBuildingLeaf, Lane{1}, Rank{1}, 60, 2}));
  EXPECT_EQ(window.waits[1], (wire::WaitRow{kBuildingLeaf, Lane{1}, Rank{2}, 30, 1}));
  EXPECT_EQ(window.rows.at(0).calls, 2u) << "completions are no calls";
  EXPECT_EQ(window.rows.at(0).bytes, 24u);
}

TEST(WindowBuilder, WaitsForTheRestOfACallsCompletions) {
  WindowBuilder builder = opened();
  const std::vector<TimedRecord> part = {timed_call(7, 0, 90), completion(7, 0, 90, 1)};
  EXPECT_EQ(builder.add(Lane{1}, part, false), 1u);
  EXPECT_EQ(builder.add(Lane{1}, std::span(part).subspan(1), true), 1u);
}

TEST(WindowBuilder, TakesAGroupThatIsTooLargeInParts) {
  WindowBuilder builder = opened();
  const std::vector<TimedRecord> many(WindowBuilder::kLargestGroup, completion(7, 0, 90, 1));
  EXPECT_EQ(builder.add(Lane{1}, many, false), many.size());
}

TEST(WindowBuilder, PartsOfALargeGroupShareTheTimeOfTheirCall) {
  constexpr std::size_t kPart = WindowBuilder::kLargestGroup;
  constexpr Nanos kTime = 10 * (2 * kPart + 512);
  WindowBuilder builder(kBuildingLeaf);
  builder.open(0, kSecond);
  const auto part = [](std::size_t size, std::int32_t peer) {
    return std::vector<TimedRecord>(size, completion(7, 5, 5 + kTime, peer));
  };
  EXPECT_EQ(builder.add(Lane{1}, part(kPart, 1), false), kPart);
  EXPECT_EQ(builder.add(Lane{1}, part(kPart, 2), false), kPart);
  EXPECT_EQ(builder.add(Lane{1}, part(512, 1), false), 0u);
  EXPECT_EQ(builder.add(Lane{1}, part(512, 1), true), 512u);
  for (int times = 0; times < 2; ++times) {  // The journal may have been full.
    const auto window = builder.build();
    ASSERT_EQ(window.waits.size(), 2u);
    EXPECT_EQ(window.waits[0].time_ns, 10 * (kPart + 512));
    EXPECT_EQ(window.waits[0].calls, kPart + 512);
    EXPECT_EQ(window.waits[1].time_ns, 10 * kPart);
  }
  builder.clear();
  EXPECT_EQ(builder.add(Lane{1}, part(kPart, 3), false), kPart);
  const auto rest = builder.build();
  ASSERT_EQ(rest.waits.size(), 1u);
  EXPECT_EQ(rest.waits[0].calls, kPart);
  EXPECT_EQ(rest.waits[0].time_ns, 0u) << "the window before has the whole time";
}

TEST(WindowBuilder, EachLargeGroupHasItsOwnTime) {
  constexpr std::size_t kPart = WindowBuilder::kLargestGroup;
  WindowBuilder builder(kBuildingLeaf);
  builder.open(0, kSecond);
  for (const Nanos begin : {0, 10'000, 20'000}) {
    const std::vector<TimedRecord> part(kPart, completion(7, begin, begin + 2 * kPart, 1));
    EXPECT_EQ(builder.add(Lane{1}, part, false), kPart);
  }
  EXPECT_EQ(builder.build().waits.at(0).time_ns, 3 * 2 * kPart);
}

TEST(WindowBuilder, CallsWithoutARecordTakeTheTimeOfThoseBeforeAndAreMarked) {
  WindowBuilder builder = opened();
  builder.add(Lane{1}, std::vector{timed_call(1, 0, 10)}, true);
  builder.clear();
  builder.open(1, kBuiltWindow);
  builder.add_calls(Lane{1}, FunctionId{1}, 5, 2 * kBuiltWindow);
  const auto window = builder.build();
  const wire::ProfileRow& row = window.rows.at(0);
  EXPECT_EQ(row.calls, 5u);
  // 50 ns, somewhere in the 490 ns since the last call.
  ASSERT_EQ(window.earlier.size(), 1u);
  EXPECT_EQ(window.earlier[0].time_ns, 24u);
  EXPECT_TRUE(window.earlier[0].estimated);
  EXPECT_EQ(row.time_ns, 26u);
  EXPECT_EQ(row.min_ns, 10u);
  EXPECT_EQ(row.max_ns, 10u);
  EXPECT_TRUE(row.estimated);
  EXPECT_EQ(row.histogram.total(), 5u);
  EXPECT_EQ(builder.calls(Lane{1}), 5u);
  EXPECT_EQ(builder.calls(Lane{1}, FunctionId{1}), 5u);
}

TEST(WindowBuilder, CallsThatWereNeverTimedHaveNoTimeAndAreMarked) {
  WindowBuilder builder = opened();
  builder.add_calls(Lane{1}, FunctionId{1}, 5, kBuiltWindow);
  const auto row = builder.build().rows.at(0);
  EXPECT_EQ(row.time_ns, 0u);
  EXPECT_EQ(row.histogram.count(0), 5u);
  EXPECT_TRUE(row.estimated);
}

TEST(WindowBuilder, ClearBeginsANewPartOfTheSameSlice) {
  WindowBuilder builder = opened(2);
  builder.add(Lane{1}, std::vector{timed_call(1, 0, 10)}, true);
  builder.clear();
  EXPECT_TRUE(builder.empty());
  EXPECT_TRUE(builder.is_open());
  EXPECT_EQ(builder.slice(), 2u);
  builder.add(Lane{1}, std::vector{timed_call(1, 0, 3)}, true);
  EXPECT_EQ(builder.build().rows.at(0).calls, 1u);
}

TEST(WindowBuilder, TheBlocksOfACollectiveCountOnlyInItsOwnBytes) {
  WindowBuilder builder = opened();
  std::vector<TimedRecord> records = {timed_call(1, 0, 10)};
  records[0].record.bytes = 48;
  for (std::int32_t peer = 0; peer < 300; ++peer) {
    TimedRecord block = completion(1, 0, 10, peer);
    block.record.flags = capture::kRecordPart | capture::kRecordBlock;
    records.push_back(block);
  }
  EXPECT_EQ(builder.add(Lane{1}, records, true), records.size());
  const auto window = builder.build();
  ASSERT_EQ(window.rows.size(), 1u);
  EXPECT_EQ(window.rows[0].bytes, 48u);
  EXPECT_EQ(window.rows[0].calls, 1u);
  EXPECT_TRUE(window.matrix.empty());
  EXPECT_TRUE(window.waits.empty());
}

TEST(WindowBuilder, HostileRecordsNeitherOverflowNorReachOutside) {
  WindowBuilder builder = opened();
  TimedRecord wild = timed_call(0xffff, 0, 249);
  wild.record.calls = capture::kMaxRecordCalls;
  wild.record.bytes = capture::kMaxRecordBytes;
  wild.record.peer = 0x7fffffff;
  wild.record.flags = 0xff;
  builder.add(Lane{1}, std::vector(3, wild), true);
  const auto row = builder.build().rows.at(0);
  EXPECT_EQ(row.bytes, 3 * capture::kMaxRecordBytes);
  EXPECT_LT(raw(row.function), capture::kMaxFunctions);
}

// ---- calls of more than a slice ----

std::uint64_t time_of(const wire::ProfileWindow& window) {
  std::uint64_t sum = 0;
  for (const wire::ProfileRow& row : window.rows) sum += row.time_ns;
  return sum;
}

TEST(WindowBuilder, CutsACallThatIsUnderWayAtTheEndOfTheSlice) {
  WindowBuilder builder = opened();
  const WindowBuilder::Open call{{}, FunctionId{2}, 200, 7, CommId{0}};
  builder.charge_open(Lane{1}, call, 1000);
  auto window = builder.build();
  ASSERT_EQ(window.rows.size(), 1u);
  EXPECT_EQ(window.rows[0].time_ns, 50u);
  EXPECT_EQ(window.rows[0].calls, 0u) << "it counts where it ends";
  wire::UnderWayRow listed;
  listed.leaf = kBuildingLeaf;
  listed.lane = Lane{1};
  listed.function = FunctionId{2};
  listed.begin_ns = 200;
  listed.peer = Rank{7};
  listed.comm = CommId{0};
  ASSERT_EQ(window.under_way.size(), 1u);
  EXPECT_EQ(window.under_way[0], listed);

  builder.open(1, kBuiltWindow);
  builder.charge_open(Lane{1}, call, 1000);
  EXPECT_EQ(time_of(builder.build()), 250u);

  builder.open(2, kBuiltWindow);
  builder.add(Lane{1}, std::vector{timed_call(2, 200, 530)}, true);
  window = builder.build();
  EXPECT_EQ(window.rows.at(0).calls, 1u);
  EXPECT_EQ(window.rows.at(0).time_ns, 30u);
  EXPECT_EQ(window.rows.at(0).max_ns, 330u);
  EXPECT_EQ(window.rows.at(0).histogram.count(wire::LogHistogram::bucket_of(330)), 1u);
  EXPECT_TRUE(window.earlier.empty());
  EXPECT_TRUE(window.under_way.empty());
}

TEST(WindowBuilder, ChargesACallOnceHoweverOftenItIsTold) {
  WindowBuilder builder = opened();
  const WindowBuilder::Open call{{}, FunctionId{2}, 200, -1, wire::kNoComm};
  for (int i = 0; i < 3; ++i) {
    builder.clear_under_way();
    builder.charge_open(Lane{1}, call, 240);
  }
  builder.charge_open(Lane{2}, call, 240);
  EXPECT_EQ(time_of(builder.build()), 80u);
  EXPECT_EQ(builder.charged_until(Lane{1}, ThreadIndex{0}), 240);
  EXPECT_EQ(builder.build().under_way.size(), 2u);
  EXPECT_FALSE(builder.build().under_way[0].peer || builder.build().under_way[0].comm);
}

TEST(WindowBuilder, ACallOfBeforeOrAfterTheSliceIsNotUnderWayInIt) {
  WindowBuilder builder = opened(2);
  const WindowBuilder::Open call{{}, FunctionId{2}, 200, -1, wire::kNoComm};
  builder.charge_open(Lane{1}, call, builder.begin_ns());
  const WindowBuilder::Open later{{}, FunctionId{2}, builder.end_ns(), -1, wire::kNoComm};
  builder.charge_open(Lane{1}, later, builder.end_ns() + 5);
  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(builder.charged_until(Lane{1}, ThreadIndex{0}), 0);
}

TEST(WindowBuilder, TimeThatNobodyChargedGoesToTheSlicesInWhichItPassed) {
  WindowBuilder builder = opened(4);
  builder.add(Lane{1}, std::vector{timed_call(2, 130, 1010)}, true);
  const auto window = builder.build();
  EXPECT_EQ(window.rows.at(0).time_ns, 10u);
  ASSERT_EQ(window.earlier.size(), 4u);
  EXPECT_EQ(window.earlier[0].time_ns, 120u);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(window.earlier[i].time_ns, 250u);
    EXPECT_EQ(window.earlier[i].begin_ns, static_cast<Nanos>(i) * kBuiltWindow);
    EXPECT_EQ(window.earlier[i].end_ns, static_cast<Nanos>(i + 1) * kBuiltWindow);
  }
}

TEST(WindowBuilder, ASuccessorGoesOnWhereTheFormerHasStopped) {
  WindowBuilder builder = opened(2);
  builder.resume(Lane{1}, ThreadIndex{0}, 400);
  builder.add(Lane{1}, std::vector{timed_call(2, 200, 530)}, true);
  const auto window = builder.build();
  EXPECT_EQ(window.rows.at(0).time_ns, 30u);
  ASSERT_EQ(window.earlier.size(), 1u);
  EXPECT_EQ(window.earlier[0].time_ns, 100u);
}

TEST(WindowBuilder, ACallInWhichTheProcessDiedCountsUpToItsDeath) {
  WindowBuilder builder = opened();
  const WindowBuilder::Open call{{}, FunctionId{2}, 200, 7, CommId{0}};
  builder.charge_open(Lane{1}, call, 1000);
  builder.open(1, kBuiltWindow);
  builder.end_open(Lane{1}, call, 300);
  const auto row = builder.build().rows.at(0);
  EXPECT_EQ(row.calls, 1u);
  EXPECT_EQ(row.time_ns, 50u);
  EXPECT_EQ(row.max_ns, 100u);
  EXPECT_TRUE(row.estimated);
}

TEST(WindowBuilder, ACallInWhichTheProcessDiedIsListedInItsLastWindow) {
  WindowBuilder builder = opened();
  const WindowBuilder::Open call{{}, FunctionId{2}, 200, 7, CommId{0}};
  builder.end_open(Lane{1}, call, 220);
  builder.clear_under_way();
  builder.charge_open(Lane{1}, call, 220);  // The thread's slot stays.
  ASSERT_EQ(builder.build().under_way.size(), 1u);
  EXPECT_EQ(builder.build().under_way[0].peer, Rank{7});
  builder.clear();
  EXPECT_TRUE(builder.build().under_way.empty());
}

TEST(WindowBuilder, TimeOlderThanAnHourCountsInTheOldestSlice) {
  constexpr std::uint64_t kNow = 1'000'000;
  WindowBuilder builder = opened(kNow);
  const auto end = static_cast<Nanos>(kNow) * kBuiltWindow + 1;
  builder.add(Lane{1}, std::vector{timed_call(2, 0, end)}, true);
  const auto window = builder.build();
  EXPECT_EQ(window.earlier.size(), WindowBuilder::kMaxEarlierSlices);
  std::uint64_t sum = time_of(window);
  for (const wire::EarlierRow& row : window.earlier) sum += row.time_ns;
  EXPECT_EQ(sum, static_cast<std::uint64_t>(end));
}

TEST(WindowBuilder, ARecordThatBeginsBeforeTheFormerHasEndedCountsItsRestOnly) {
  constexpr std::uint64_t kNow = 1'000'000;
  WindowBuilder builder(kBuildingLeaf, WindowBuilder::Overlap::kCountsOnce);
  builder.open(kNow, kBuiltWindow);
  const Nanos begin = static_cast<Nanos>(kNow) * kBuiltWindow;
  std::vector<TimedRecord> records;
  for (Nanos i = 1; i <= 1000; ++i) {  // As a hostile process may write them.
    const Nanos end = begin + i * kBuiltWindow / 1001;
    records.push_back(timed_call(static_cast<std::uint16_t>(i % 5), 0, end));
  }
  EXPECT_EQ(builder.add(Lane{1}, records, true), 1000u);
  const auto window = builder.build();
  EXPECT_EQ(window.earlier.size(), WindowBuilder::kMaxEarlierSlices);
  std::uint64_t sum = 0;
  for (const wire::ProfileRow& row : window.rows) sum += row.time_ns;
  for (const wire::EarlierRow& row : window.earlier) sum += row.time_ns;
  EXPECT_EQ(sum, static_cast<std::uint64_t>(records.back().end_ns));
}

TEST(WindowBuilder, TakesNoFurtherRecordWhenEarlierRowsHaveMadeTheWindowFull) {
  WindowBuilder builder(kBuildingLeaf, WindowBuilder::Overlap::kCountsOnce, 64u << 10);
  builder.open(10'000, kBuiltWindow);
  std::vector<TimedRecord> records(3, timed_call(2, 0, builder.begin_ns() + 1));
  for (std::uint32_t thread = 0; thread < 3; ++thread) records[thread].thread = ThreadIndex{thread};
  EXPECT_FALSE(builder.is_full());
  EXPECT_EQ(builder.add(Lane{1}, records, true), 1u);
  EXPECT_TRUE(builder.is_full());
  builder.clear();
  EXPECT_EQ(builder.add(Lane{1}, std::span(records).subspan(1), true), 1u);
}

// ---- against a slow model ----

struct Model {
  struct Row {
    std::uint64_t calls = 0, time = 0, min = ~0ull, max = 0, bytes = 0;
    bool estimated = false;
  };
  std::map<std::tuple<Lane, std::uint16_t>, Row> rows;
  std::map<std::tuple<Lane, std::int32_t>, std::pair<std::uint64_t, std::uint64_t>> matrix;

  void add(Lane lane, const TimedRecord& timed) {
    const capture::Record& record = timed.record;
    Row& row = rows[{lane, record.function}];
    row.bytes += record.bytes;
    if (!capture::is_part(record)) {
      const auto duration = static_cast<std::uint64_t>(timed.end_ns - timed.begin_ns);
      row.calls += record.calls;
      row.time += duration * record.calls;
      row.min = std::min(row.min, duration);
      row.max = std::max(row.max, duration);
      row.estimated |= record.calls > 1;
    }
    if ((record.flags & capture::kRecordSend) != 0 && record.peer >= 0) {
      auto& [bytes, messages] = matrix[{lane, record.peer}];
      bytes += record.bytes;
      ++messages;
    }
  }
};

TEST(WindowBuilder, AgreesWithASlowModelWhateverTheBatches) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 source(seed);
    const auto random = [&source] { return static_cast<int>(source() & 0xffff); };
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    WindowBuilder builder(kBuildingLeaf);
    builder.open(0, kSecond);
    Model model;
    std::uint64_t waited = 0, expected_wait = 0;
    for (std::uint32_t lane = 1; lane <= 3; ++lane) {
      std::vector<TimedRecord> records;
      Nanos now = 0;
      while (records.size() < 200) {
        const Nanos begin = now + 50 * 50;  // Room for the calls that a sample may stand for.
        now = begin + random() % 50;
        TimedRecord timed = timed_call(static_cast<std::uint16_t>(random() % 5), begin, now);
        timed.record.bytes = static_cast<std::uint8_t>(random() % 100);
        timed.record.peer = random() % 4 - 1;
        if (random() % 4 == 0) timed.record.flags = capture::kRecordSend;
        if (random() % 10 == 0) timed.record.calls = static_cast<std::uint8_t>(1 + random() % 50);
        records.push_back(timed);
        if (random() % 10 != 0) continue;
        const auto group = static_cast<std::uint64_t>(1 + random() % 5);
        for (std::uint64_t i = 0; i < group; ++i)
          records.push_back(completion(static_cast<std::uint16_t>(timed.record.function),
                                       timed.begin_ns, timed.end_ns, static_cast<std::int32_t>(i)));
        const auto duration = static_cast<std::uint64_t>(timed.end_ns - timed.begin_ns);
        expected_wait += duration / group * group;
      }
      records.push_back(timed_call(0, now, now + 1));  // No group at the very end.
      for (const TimedRecord& timed : records) model.add(Lane{lane}, timed);
      std::size_t at = 0;
      std::size_t batch = 1;
      while (at < records.size()) {
        const std::size_t size = std::min(batch, records.size() - at);
        const std::size_t taken =
            builder.add(Lane{lane}, std::span(records).subspan(at, size), false);
        at += taken;
        batch = taken == 0 ? batch + 1 : 1 + static_cast<std::size_t>(random() % 7);
      }
    }
    const auto window = builder.build();
    ASSERT_EQ(window.rows.size(), model.rows.size());
    for (const wire::ProfileRow& row : window.rows) {
      const Model::Row& expected = model.rows.at({row.lane, raw(row.function)});
      EXPECT_EQ(row.calls, expected.calls);
      EXPECT_EQ(row.time_ns, expected.time);
      EXPECT_EQ(row.min_ns, expected.calls == 0 ? 0 : expected.min);
      EXPECT_EQ(row.max_ns, expected.max);
      EXPECT_EQ(row.bytes, expected.bytes);
      EXPECT_EQ(row.estimated, expected.estimated);
      EXPECT_EQ(row.histogram.total(), expected.calls);
    }
    ASSERT_EQ(window.matrix.size(), model.matrix.size());
    for (const wire::MatrixRow& row : window.matrix) {
      const auto& [bytes, messages] =
          model.matrix.at({row.lane, static_cast<std::int32_t>(raw(row.destination))});
      EXPECT_EQ(row.bytes, bytes);
      EXPECT_EQ(row.messages, messages);
    }
    for (const wire::WaitRow& row : window.waits) waited += row.time_ns;
    EXPECT_EQ(waited, expected_wait) << "a group was torn apart";
  }
}

}  // namespace
}  // namespace xylem::backend
