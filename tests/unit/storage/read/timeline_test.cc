#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/unit/storage/viewed_run.h"

namespace xylem::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TimelineTest : public ViewedRun {
 protected:
  static wire::Event numbered(wire::Event event, std::uint32_t number) {
    event.flags |= wire::kEventNumbered;
    event.number = number;
    return event;
  }
};

TEST_F(TimelineTest, FewCallsAreAllThere) {
  put_world(1, 2);
  put(chunk_packet(0, 1, 0,
                   {message_event(100, 150, kSend, 1, wire::kEventSend, 64),
                    message_event(400, 450, kSend, 1, wire::kEventSend, 32)}));
  put(chunk_packet(0, 2, 0,
                   {message_event(10, 90, kReceive, 0, wire::kEventReceive),
                    message_event(95, 300, kReceive, 0, wire::kEventReceive, 64)}));
  const Timeline timeline = good(view().timeline({.range = {0, 1000}}));
  EXPECT_EQ(timeline.detail, TimelineDetail::kCalls) << timeline.reason;
  EXPECT_EQ(timeline.calls_in_all, 4u);
  ASSERT_EQ(timeline.calls.size(), 4u);
  EXPECT_EQ(timeline.calls[3].rank, Rank{1});
  EXPECT_EQ(timeline.calls[3].function, "MPI_Recv");
  EXPECT_EQ(timeline.calls[3].function_class, "point_to_point");
  EXPECT_EQ(timeline.calls[3].peer, 0);
  EXPECT_EQ(timeline.calls[3].comm, CommId{0});
  EXPECT_FALSE(timeline.calls[3].estimated);
  EXPECT_EQ(timeline.calls[3].number, std::nullopt);
  ASSERT_EQ(timeline.longest.size(), 4u);
  EXPECT_EQ(timeline.longest[0].duration_ns, 205u);
  EXPECT_THAT(timeline.densities.cells, IsEmpty());
}

// A pairing by order within the range would pair the first send with the second receive.
TEST_F(TimelineTest, MessagesWithoutNumbersArePairedWithNothing) {
  put_world(1, 2);
  put(chunk_packet(0, 1, 0, {message_event(100, 150, kSend, 1, wire::kEventSend, 64)}));
  put(chunk_packet(0, 2, 0, {message_event(95, 300, kReceive, 0, wire::kEventReceive, 64)}));
  const Timeline timeline = good(view().timeline({}));
  EXPECT_EQ(timeline.unpaired, 2u);
  EXPECT_EQ(timeline.messages_in_all, 2u);
  for (const Timeline::Message& message : timeline.messages) {
    EXPECT_FALSE(message.sent_ns && message.received_ns);
  }
}

TEST_F(TimelineTest, ClocksOfTwoHostsMayBeApartByTheSumOfTheirErrors) {
  put_world(2, 1);
  put(chunk_packet(0, 1, 0, {numbered(message_event(100, 150, kSend, 1, wire::kEventSend), 3)}));
  put(chunk_packet(1, 1, 0,
                   {numbered(message_event(10, 90, kReceive, 0, wire::kEventReceive), 3)}));
  EXPECT_EQ(good(view().timeline({})).backwards, 1u);
  ASSERT_TRUE(store_->put_clock({LeafId{0}, 0, 0, 4}));
  ASSERT_TRUE(store_->put_clock({LeafId{1}, 0, 0, 5}));
  EXPECT_EQ(good(view().timeline({})).backwards, 1u);
  ASSERT_TRUE(store_->put_clock({LeafId{1}, 1, 0, 6}));
  const Timeline timeline = good(view().timeline({}));
  EXPECT_EQ(timeline.backwards, 0u);
  ASSERT_THAT(timeline.messages, SizeIs(1));
  EXPECT_EQ(timeline.messages[0].sent_ns, 100);
  EXPECT_EQ(timeline.messages[0].received_ns, 90);
}

TEST_F(TimelineTest, ThePartnerOfAMessageMayBeBesideTheRangeOrOfAnotherRank) {
  put_world(1, 3);
  const Nanos later = 10 * kSecond;
  put(chunk_packet(0, 1, 0,
                   {numbered(message_event(100, 150, kSend, 1, wire::kEventSend, 64), 0),
                    numbered(message_event(200, 250, kSend, 2, wire::kEventSend, 32), 0)}));
  put(chunk_packet(
      0, 2, 0,
      {numbered(message_event(later, later + 5, kReceive, 0, wire::kEventReceive), 0),
       numbered(message_event(later, later + 7, kReceive, 0, wire::kEventReceive), 1)}));
  put(chunk_packet(0, 3, 0,
                   {numbered(message_event(150, 260, kReceive, 0, wire::kEventReceive), 0)}));
  const Timeline first = good(view().timeline({.ranks = {WorldId{0}, 0, 1}, .range = {0, 1000}}));
  ASSERT_THAT(first.messages, SizeIs(2));
  EXPECT_EQ(first.messages[0].received_ns, later + 5);
  EXPECT_EQ(first.messages[1].received_ns, 260);
  EXPECT_EQ(first.unpaired, 0u);
  EXPECT_EQ(first.calls_in_all, 2u) << "partners are no calls of the answer";

  const Timeline last =
      good(view().timeline({.ranks = {WorldId{0}, 1, 2}, .range = {later, later + 1000}}));
  ASSERT_THAT(last.messages, SizeIs(2));
  EXPECT_EQ(last.messages[0].sent_ns, 100);
  EXPECT_EQ(last.messages[1].sent_ns, std::nullopt) << "nobody has sent number 1";
  EXPECT_EQ(last.unpaired, 1u);
}

TEST_F(TimelineTest, CallsHaveTheNumbersOfTheirCollectives) {
  put_world(1, 1);
  put(chunk_packet(0, 1, 0, {numbered(message_event(100, 150, kWaitall, -1, 0), 12)}));
  const Timeline timeline = good(view().timeline({}));
  ASSERT_THAT(timeline.calls, SizeIs(1));
  EXPECT_EQ(timeline.calls[0].number, 12u);
}

TEST_F(TimelineTest, ManyCallsAreDensities) {
  put_world(1, 1);
  std::vector<wire::Event> events;
  for (Nanos i = 0; i < 1000; ++i) {
    // Sends take 0.3 of the first half, waits 0.5 of the second.
    events.push_back(i < 500 ? message_event(1000 * i, 1000 * i + 300, kSend, 0, 0)
                             : message_event(1000 * i, 1000 * i + 500, kWaitall, 0, 0));
  }
  put(chunk_packet(0, 1, 0, events));
  const Timeline all = good(view().timeline({.range = {0, 1'000'000}, .limit = 1000}));
  EXPECT_EQ(all.detail, TimelineDetail::kCalls);
  EXPECT_THAT(all.calls, SizeIs(1000));
  const Timeline timeline =
      good(view().timeline({.range = {0, 1'000'000}, .columns = 4, .limit = 999}));
  EXPECT_EQ(timeline.detail, TimelineDetail::kDensities);
  EXPECT_EQ(timeline.calls_in_all, 1000u);
  EXPECT_THAT(timeline.calls, IsEmpty());
  EXPECT_THAT(timeline.messages, IsEmpty());
  EXPECT_THAT(timeline.grid.cells, IsEmpty());
  EXPECT_THAT(timeline.longest, SizeIs(10));
  EXPECT_EQ(timeline.longest[0].duration_ns, 500u);
  const RankGrid& grid = timeline.densities;
  EXPECT_EQ(grid.slot_ns, 250'000);
  EXPECT_THAT(grid.cells, ElementsAre(75'000, 75'000, 125'000, 125'000));
  EXPECT_THAT(grid.classes, ElementsAre("point_to_point", "completion"));
  EXPECT_THAT(grid.dominant, ElementsAre(0, 0, 1, 1));
  ASSERT_THAT(grid.rows, SizeIs(1));
  EXPECT_EQ(grid.rows[0].total, 400'000u);
}

TEST_F(TimelineTest, SampledCallsAreSpreadOverTheTimeSinceTheRecordBefore) {
  put_world(1, 1);
  wire::Event sampled = message_event(500, 510, kSend, 0, wire::kEventEstimated);
  sampled.calls = 21;
  put(chunk_packet(0, 1, 0, {message_event(0, 100, kSend, 0, 0), sampled}));
  const Timeline timeline = good(view().timeline({.range = {0, 600}, .columns = 6, .limit = 1}));
  // Twenty calls of 10 ns between 100 and 500.
  EXPECT_THAT(timeline.densities.cells, ElementsAre(100, 50, 50, 50, 50, 10));
  EXPECT_TRUE(timeline.scope.estimated);
  // The record of these calls is after the range.
  const Timeline before = good(view().timeline({.range = {0, 400}, .columns = 4, .limit = 1}));
  EXPECT_EQ(before.calls_in_all, 1u);
  const Timeline middle = good(view().timeline({.range = {50, 550}, .columns = 1, .limit = 1}));
  EXPECT_THAT(middle.densities.cells, ElementsAre(260));
}

// The timed call of 1000 polls was preempted. The range has no time for 999 calls of this length.
TEST_F(TimelineTest, SampledCallsTakeNoMoreThanTheFreeTime) {
  put_world(1, 1);
  wire::Event sampled = message_event(500, 900, kSend, 0, wire::kEventEstimated);
  sampled.calls = 1000;
  put(chunk_packet(
      0, 1, 0,
      {message_event(0, 100, kSend, 0, 0), message_event(200, 500, kWaitall, 0, 0), sampled}));
  const Timeline timeline = good(view().timeline({.range = {0, 1000}, .columns = 1, .limit = 1}));
  EXPECT_THAT(timeline.densities.cells, ElementsAre(900));
}

// The densities are compared with a slow model: each nanosecond of each call is in one slot.
TEST_F(TimelineTest, DensitiesAreTheTimeOfEachSlotByAnyOtherReckoning) {
  constexpr unsigned kSeed = 20240612;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  put_world(1, 3);
  const Nanos begin = 500, end = 9511;
  std::vector<std::vector<wire::Event>> calls(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    for (Nanos at = 0; at < 10'000;) {
      const Nanos length = static_cast<Nanos>(random() % (random() % 20 == 0 ? 2000 : 30));
      calls[rank].push_back(message_event(
          at, at + length, FunctionId{static_cast<std::uint16_t>(random() % 3)}, 0, 0));
      at += length + static_cast<Nanos>(random() % 40);
    }
    put(chunk_packet(0, rank + 1, 0, calls[rank]));
  }
  for (const std::uint64_t columns : {1, 7, 100, 2000}) {
    for (const std::uint64_t rows : {1, 2, 3}) {
      const Timeline timeline = good(
          view().timeline({.range = {begin, end}, .columns = columns, .rows = rows, .limit = 10}));
      const RankGrid& grid = timeline.densities;
      ASSERT_EQ(timeline.detail, TimelineDetail::kDensities);
      EXPECT_EQ(timeline.scope.begin_ns, begin);
      EXPECT_EQ(timeline.scope.end_ns, end);
      std::vector<std::uint64_t> wanted(grid.cells.size());
      for (std::uint64_t rank = 0; rank < 3; ++rank) {
        for (const wire::Event& event : calls[rank]) {
          for (Nanos ns = std::max(event.begin_ns, begin); ns < std::min(event.end_ns, end); ++ns) {
            const std::uint64_t row = rank / ((3 + rows - 1) / rows);
            ++wanted[row * grid.columns + static_cast<std::uint64_t>((ns - begin) / grid.slot_ns)];
          }
        }
      }
      EXPECT_EQ(grid.cells, wanted) << columns << " columns, " << rows << " rows";
    }
  }
}

// The strip has the windows of all ranks, and the drawing below has the calls.
TEST_F(TimelineTest, TheStripHasTheShareOfTheCallsBelowIt) {
  constexpr unsigned kSeed = 20240613;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  put_world(1, 4);
  constexpr std::uint64_t kWindows = 24;
  std::vector<std::vector<std::uint64_t>> times(kWindows, std::vector<std::uint64_t>(4));
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    std::vector<wire::Event> events;
    const Nanos end = kWindow * static_cast<Nanos>(kWindows);
    for (Nanos at = 0; at < end;) {
      const Nanos length = static_cast<Nanos>(random() % (kWindow * (1 + at / kWindow % 3) / 4));
      events.push_back(message_event(at, std::min(at + length, end), kSend, 0, 0));
      at += length + static_cast<Nanos>(random() % kWindow) / 2;
    }
    // An agent cuts the time of a call where a window ends.
    for (const wire::Event& event : events) {
      for (Nanos at = event.begin_ns; at < event.end_ns;) {
        const Nanos until = std::min((at / kWindow + 1) * kWindow, event.end_ns);
        times[static_cast<std::size_t>(at / kWindow)][rank] +=
            static_cast<std::uint64_t>(until - at);
        at = until;
      }
    }
    put(chunk_packet(0, rank + 1, 0, events));
  }
  for (std::uint64_t wave = 0; wave < kWindows; ++wave) {
    std::vector<wire::ProfileRow> rows;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      rows.push_back(profile_row(0, rank + 1, 1));
      rows.back().time_ns = times[wave][rank];
    }
    put_window(0, wave, rows);
  }
  for (const std::uint64_t columns : {1, 5, 8, 24}) {
    const RankGrid strip = good(view().ranks({.columns = columns, .rows = 1}));
    for (std::size_t slot = 0; slot < strip.cells.size(); ++slot) {
      SCOPED_TRACE(::testing::Message() << "slot " << slot << " of " << strip.columns);
      const Nanos begin = static_cast<Nanos>(slot) * strip.slot_ns;
      const TimeRange range{begin, std::min(begin + strip.slot_ns, strip.scope.end_ns)};
      const Timeline below =
          good(view().timeline({.range = range, .columns = 1, .rows = 1, .limit = 1}));
      ASSERT_EQ(below.detail, TimelineDetail::kDensities);
      EXPECT_EQ(below.densities.cells.at(0), strip.cells[slot]);
      EXPECT_GT(strip.share(slot), 0.0);
      EXPECT_EQ(below.densities.share(0), strip.share(slot));
    }
  }
}

TEST_F(TimelineTest, FewCallsInManyChunksAreNotRefused) {
  put_world(1, 1);
  for (std::uint64_t i = 0; i < 688; ++i) put(chunk_packet(0, 1, i, i + 1));
  const Timeline timeline = good(view().timeline({}));
  EXPECT_EQ(timeline.detail, TimelineDetail::kCalls) << timeline.reason;
  EXPECT_THAT(timeline.calls, SizeIs(688));
}

TEST_F(TimelineTest, TooManyCallsAreWindowsAndTheAnswerSaysWhatToDo) {
  put_world(1, 1);
  put_window(0, 0, {profile_row(0, 1, 3)});
  EXPECT_THAT(good(view().timeline({})).reason, HasSubstr("--detail trace"));
  EXPECT_FALSE(good(view().timeline({})).too_many);
  put(chunk_packet(0, 1, 0, 100));
  put(chunk_packet(0, 1, 100, 200));
  EXPECT_EQ(good(view().timeline({})).detail, TimelineDetail::kCalls);
  // The rows of the chunks say how many events they have, so the blobs need not be opened.
  execute("UPDATE event_chunk SET events = 600000");
  const Timeline timeline = good(view().timeline({}));
  EXPECT_EQ(timeline.detail, TimelineDetail::kWindows);
  EXPECT_EQ(timeline.calls_in_all, std::nullopt);
  EXPECT_THAT(timeline.reason, HasSubstr("shorter"));
  EXPECT_TRUE(timeline.too_many);
  EXPECT_THAT(timeline.grid.cells, ElementsAre(3000));
  ASSERT_EQ(timeline.longest.size(), 10u);
  EXPECT_EQ(timeline.longest[0].duration_ns, 2000u);  // By window: the chunks do not have it.
  EXPECT_EQ(timeline.longest[1].duration_ns, 400u);
  EXPECT_EQ(good(view().timeline({.range = {0, 1000}})).detail, TimelineDetail::kCalls);
}

}  // namespace
}  // namespace xylem::storage
