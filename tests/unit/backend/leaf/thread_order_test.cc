#include "backend/leaf/thread_order.h"

#include <gtest/gtest.h>

namespace xylem::backend {
namespace {

using Times = std::pair<Nanos, Nanos>;

capture::Record record(std::uint64_t begin, std::uint64_t end, std::uint16_t flags = 0) {
  capture::Record made{};
  made.begin = begin;
  made.end = end;
  made.flags = flags;
  return made;
}

TEST(ThreadOrder, ACallBeginsNoEarlierThanTheLastHasEnded) {
  ThreadOrder order;
  EXPECT_EQ(order.next(record(10, 20), 10, 20), (Times{10, 20}));
  EXPECT_EQ(order.next(record(18, 30), 18, 30), (Times{20, 30}));
  EXPECT_EQ(order.next(record(25, 28), 25, 28), (Times{30, 30}));
  EXPECT_EQ(order.after_last(29), 30);
  EXPECT_EQ(order.after_last(31), 31);
}

TEST(ThreadOrder, CompletionsHaveTheTimesOfTheirCall) {
  ThreadOrder order;
  order.next(record(1, 20), 10, 25);
  order.next(record(18, 30), 18, 30);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(order.next(record(18, 30, capture::kRecordPart), 18, 30), (Times{25, 30}));
  }
}

TEST(ThreadOrder, KnowsWhichPublishedCallsHaveEnded) {
  ThreadOrder order;
  EXPECT_FALSE(order.has_ended(10));
  order.next(record(10, 20), 10, 20);
  EXPECT_TRUE(order.has_ended(10));
  EXPECT_FALSE(order.has_ended(21));
}

TEST(ThreadOrder, ASuccessorContinuesTheOrder) {
  ThreadOrder order(20);
  EXPECT_EQ(order.last_end(), 20);
  EXPECT_FALSE(order.has_ended(10));
  // Further completions of a call whose record the former worker has read.
  const auto completion = record(10, 20, capture::kRecordPart);
  EXPECT_EQ(order.next(completion, 10, 20), (Times{10, 20}));
  EXPECT_EQ(order.next(record(18, 30), 18, 30), (Times{20, 30}));
  EXPECT_EQ(order.last_end(), 30);
}

TEST(ThreadOrder, AStepOfTheClockIsNoOverlap) {
  ThreadOrder order;
  order.next(record(1, 2), 5 * kSecond, 6 * kSecond);
  EXPECT_EQ(order.next(record(3, 4), 100, 200), (Times{100, 200}));
}

}  // namespace
}  // namespace xylem::backend
