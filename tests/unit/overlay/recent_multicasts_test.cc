#include "overlay/recent_multicasts.h"

#include <gtest/gtest.h>

#include <map>

namespace xylem::overlay {
namespace {

wire::Multicast multicast(std::uint32_t stream, std::uint64_t number, std::size_t bytes = 100) {
  return {StreamId{stream}, number, {}, wire::Bytes(bytes)};
}

TEST(RecentMulticasts, GivesThemInTheOrderInWhichTheyWentDown) {
  RecentMulticasts recent;
  for (std::uint64_t number = 1; number <= 3; ++number) recent.keep(multicast(16, number));
  const auto all = recent.all();
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(all[i]->number, i + 1);
}

TEST(RecentMulticasts, KnowsWhatANewParentSendsAgain) {
  RecentMulticasts recent({.stream_bytes = 300, .all_bytes = 300});
  for (std::uint64_t number = 1; number <= 10; ++number) {
    EXPECT_TRUE(recent.keep(multicast(16, number)));
  }
  for (std::uint64_t number = 1; number <= 10; ++number) {
    EXPECT_FALSE(recent.keep(multicast(16, number))) << "also when it was dropped here";
  }
  EXPECT_TRUE(recent.keep(multicast(16, 11)));
}

TEST(RecentMulticasts, DropsTheOldestOfAStreamBeyondItsBytes) {
  RecentMulticasts recent({.stream_bytes = 1000, .all_bytes = 10'000});
  for (std::uint64_t number = 1; number <= 100; ++number) recent.keep(multicast(16, number));
  const auto all = recent.all();
  ASSERT_FALSE(all.empty());
  EXPECT_LE(all.size(), 10u);
  EXPECT_EQ(all.back()->number, 100u);
}

TEST(RecentMulticasts, BoundsAllStreamsTogetherAndEmptyOnesToo) {
  RecentMulticasts recent({.stream_bytes = 10'000, .all_bytes = 10'000});
  for (std::uint32_t stream = 16; stream < 1016; ++stream) recent.keep(multicast(stream, 1, 0));
  EXPECT_LE(recent.all().size() * sizeof(wire::Multicast), 10'000u);
}

TEST(RecentMulticasts, TakesRoomForASmallStreamFromTheLargest) {
  RecentMulticasts recent({.stream_bytes = 3000, .all_bytes = 4000});
  for (std::uint64_t number = 1; number <= 10; ++number) recent.keep(multicast(16, number, 500));
  for (std::uint64_t number = 1; number <= 2; ++number) recent.keep(multicast(17, number, 500));
  recent.keep(multicast(18, 1, 500));
  std::map<StreamId, std::uint64_t> newest;
  for (const wire::Multicast* one : recent.all()) newest[one->stream] = one->number;
  EXPECT_EQ(newest, (std::map<StreamId, std::uint64_t>{
                        {StreamId{16}, 10}, {StreamId{17}, 2}, {StreamId{18}, 1}}));
}

TEST(RecentMulticasts, CountsTheLeavesThatTheyName) {
  constexpr std::size_t kIntervals = 1000;
  RecentMulticasts recent({.stream_bytes = 20 * kIntervals, .all_bytes = 20 * kIntervals});
  for (std::uint64_t number = 1; number <= 3; ++number) {
    wire::Multicast one = multicast(16, number, 0);
    for (std::uint64_t leaf = 0; leaf < kIntervals; ++leaf) one.to.insert(2 * leaf);
    recent.keep(one);
  }
  EXPECT_EQ(recent.all().size(), 1u);
}

TEST(RecentMulticasts, TellsWhatAChildHasNotBeenSentBecauseNobodyBelowItWasConcerned) {
  RecentMulticasts recent;
  recent.keep(multicast(16, 1));
  for (std::uint32_t stream = 17; stream <= 19; ++stream) {
    wire::Multicast one = multicast(stream, 1);
    one.leaves = IntervalSet::range(stream, stream + 2);
    recent.keep(one);
  }
  const auto before = IntervalSet::of(17), now = IntervalSet::range(17, 19);
  const auto missing = recent.new_to(before, now);
  ASSERT_EQ(missing.size(), 1u) << "streams of all went to it anyway";
  EXPECT_EQ(missing[0]->stream, StreamId{18}) << "17 it had before, of 19 it has nobody";
  EXPECT_TRUE(recent.new_to(now, now).empty());
}

TEST(RecentMulticasts, ForgetsAStreamThatIsClosedAndHasItsRoomAgain) {
  RecentMulticasts recent({.stream_bytes = 1000, .all_bytes = 1000});
  recent.keep(multicast(16, 1, 800));
  recent.forget(StreamId{16});
  EXPECT_TRUE(recent.all().empty());
  recent.keep(multicast(17, 1, 800));
  EXPECT_EQ(recent.all().size(), 1u);
}

}  // namespace
}  // namespace xylem::overlay
