#include "backend/leaf/time_estimate.h"

#include <gtest/gtest.h>

#include <random>

namespace xylem::backend {
namespace {

constexpr FunctionId kPoll{1};
constexpr FunctionId kEstimatedSend{2};
constexpr ThreadIndex kTimedThread{0};
constexpr ThreadIndex kOtherThread{1};

TEST(TimeEstimate, ASampleStandsForItsCallsWhenThereWasTime) {
  TimeEstimate times;
  EXPECT_EQ(times.take(kTimedThread, kPoll, 0, 10, 1, 0), 10u);
  EXPECT_EQ(times.take(kTimedThread, kPoll, 5'000, 5'004, 1000, 0), 4'000u);
}

TEST(TimeEstimate, APreemptedSampleStandsForNoMoreThanHasPassed) {
  TimeEstimate times;
  times.take(kTimedThread, kPoll, 0, 1, 1, 0);
  EXPECT_EQ(times.take(kTimedThread, kPoll, 200'000, 4'200'000, 1000, 0), 4'199'999u);
}

TEST(TimeEstimate, TimeOfOtherCallsOfTheThreadIsNotFree) {
  TimeEstimate times;
  times.take(kTimedThread, kPoll, 0, 10, 1, 0);
  times.take(kTimedThread, kEstimatedSend, 20, 920, 1, 0);
  EXPECT_EQ(times.take(kTimedThread, kPoll, 950, 1'010, 1000, 0), 100u);
}

TEST(TimeEstimate, OtherThreadsTakeNoTimeAway) {
  TimeEstimate times;
  times.take(kTimedThread, kPoll, 0, 10, 1, 0);
  times.take(kOtherThread, kEstimatedSend, 20, 920, 1, 0);
  EXPECT_EQ(times.take(kTimedThread, kPoll, 950, 1'010, 1000, 0), 1'000u);
}

TEST(TimeEstimate, AnUnknownThreadsFirstSampleReachesBackToWhereItMayHaveBegun) {
  TimeEstimate times;
  EXPECT_EQ(times.take(kTimedThread, kPoll, 900, 910, 100, 500), 410u);
}

TEST(TimeEstimate, CallsWithoutARecordTakeTheMeanOfThoseWithOne) {
  TimeEstimate times;
  times.take(kTimedThread, kPoll, 0, 10, 1, 0);
  times.take(kTimedThread, kPoll, 1'000, 1'020, 1, 0);
  EXPECT_EQ(times.of_unrecorded(kPoll, 10, 100'000), 150u);
}

TEST(TimeEstimate, CallsWithoutARecordTakeNoMoreThanTheFreeTime) {
  TimeEstimate times;
  times.take(kTimedThread, kPoll, 0, 1'000, 1, 0);
  EXPECT_EQ(times.of_unrecorded(kPoll, 10, 1'300), 300u);
  times.take(kTimedThread, kEstimatedSend, 1'050, 1'100, 1, 0);
  EXPECT_EQ(times.of_unrecorded(kPoll, 10, 9'000), 50u) << "between poll and send";
}

TEST(TimeEstimate, WhatWasNeverTimedHasNoTime) {
  EXPECT_EQ(TimeEstimate().of_unrecorded(kPoll, 10, 1'000), 0u);
}

TEST(TimeEstimate, OneThreadNeverGetsMoreThanHasPassed) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    TimeEstimate times;
    Nanos now = 1'000;
    std::uint64_t sum = 0;
    for (int i = 0; i < 300; ++i) {
      const Nanos begin = now + random() % 1000;
      now = begin + (random() % 20 == 0 ? 4'000'000 : random() % 500);
      const std::uint64_t calls = random() % 2 == 0 ? 1 : 1 + random() % 1000;
      const FunctionId function{static_cast<std::uint16_t>(random() % 5)};
      const std::uint64_t time =
          times.take(kTimedThread, function, begin, now, i == 0 ? 1 : calls, 0);
      ASSERT_GE(time, static_cast<std::uint64_t>(now - begin));
      sum += time;
      ASSERT_LE(sum, static_cast<std::uint64_t>(now - 1'000)) << "record " << i;
    }
  }
}

TEST(TimeEstimate, HostileRecordsNeitherOverflowNorReachOutside) {
  TimeEstimate times;
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(times.take(ThreadIndex{0xffffffff}, FunctionId{capture::kMaxFunctions - 1}, 0,
                         std::numeric_limits<Nanos>::max(), 0xffffffff, 0),
              0u);
  }
  EXPECT_EQ(times.of_unrecorded(FunctionId{capture::kMaxFunctions - 1}, ~0ull, 0), 0u);
}

}  // namespace
}  // namespace xylem::backend
