#include <gtest/gtest.h>

#include "net/recent_multicasts.h"

namespace xylem::net {
namespace {

wire::Multicast multicast(std::uint32_t stream, std::uint64_t number, std::size_t bytes = 100) {
  return {StreamId{stream}, number, {}, wire::Bytes(bytes)};
}

TEST(RecentMulticasts, GivesThemInTheOrderInWhichTheyWentDown) {
  RecentMulticasts recent;
  for (std::uint64_t number = 1; number <= 3; ++number) recent.keep(multicast(16, number));
  const auto all = recent.all();
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(all[i].number, i + 1);
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
  EXPECT_EQ(all.back().number, 100u);
}

TEST(RecentMulticasts, BoundsAllStreamsTogetherAndEmptyOnesToo) {
  RecentMulticasts recent({.stream_bytes = 10'000, .all_bytes = 10'000});
  for (std::uint32_t stream = 16; stream < 1016; ++stream) recent.keep(multicast(stream, 1, 0));
  EXPECT_LE(recent.all().size() * sizeof(wire::Multicast), 10'000u);
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
}  // namespace xylem::net
