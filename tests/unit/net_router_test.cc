#include <gtest/gtest.h>

#include "net/router.h"

namespace xylem::net {
namespace {

constexpr LinkId kLeft{1};
constexpr LinkId kRight{2};

wire::LeafSet leaves(std::uint64_t first, std::uint64_t end) {
  return {IntervalSet::range(first, end), {}};
}

TEST(Router, SplitsAnAcknowledgementByWhoIsBelow) {
  Router router;
  router.set_leaves(kLeft, leaves(1, 4));
  router.set_leaves(kRight, leaves(4, 6));
  wire::PacketId window;
  window.stream = wire::kWindowStream;
  window.wave = 9;
  window.wave_end = 10;
  window.sources = IntervalSet::range(2, 6);
  wire::Acknowledgement all;
  all.stored.push_back(window);

  const auto parts = router.split(all);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts.at(kLeft).stored.at(0).sources, IntervalSet::range(2, 4));
  EXPECT_EQ(parts.at(kRight).stored.at(0).sources, IntervalSet::range(4, 6));
  EXPECT_EQ(parts.at(kRight).stored.at(0).wave, 9u);
}

TEST(Router, LeavesOutChildrenThatAreNotConcerned) {
  Router router;
  router.set_leaves(kLeft, leaves(1, 4));
  wire::PacketId far;
  far.sources = IntervalSet::of(99);
  wire::Acknowledgement all;
  all.resend.push_back(far);
  EXPECT_TRUE(router.split(all).empty());
}

TEST(Router, ExpectsNothingMoreOfEndedLeaves) {
  Router router;
  router.set_leaves(kLeft, {IntervalSet::range(1, 4), IntervalSet::of(2)});
  EXPECT_EQ(router.expected().to_string(), "1,3");
  EXPECT_EQ(router.below().leaves.to_string(), "1-3");
}

TEST(Router, RemembersWhatEndedBelowAChildThatIsGone) {
  Router router;
  router.set_leaves(kLeft, {IntervalSet::range(1, 4), IntervalSet::range(1, 3)});
  router.remove_living(kLeft);
  EXPECT_EQ(router.below().ended.to_string(), "1-2");
  EXPECT_EQ(router.below().leaves.to_string(), "1-2") << "leaf 3 may be anywhere now";
}

TEST(Router, ALeafThatComesBackSendsAgain) {
  Router router;
  router.set_leaves(kLeft, {IntervalSet::of(1), IntervalSet::of(1)});
  router.remove_living(kLeft);
  router.set_leaves(kRight, leaves(1, 2));
  EXPECT_TRUE(router.below().ended.empty());
  EXPECT_EQ(router.expected().to_string(), "1");
}

}  // namespace
}  // namespace xylem::net
