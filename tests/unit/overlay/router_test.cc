#include "overlay/router.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace xylem::overlay {
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

// Children may name the same leaves, while some move; what is split is what each child's leaves
// meet.
TEST(Router, SplitsAsLookingAtEveryChildWould) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto some = [&](std::uint64_t max, int runs) {
    IntervalSet set;
    for (int i = 0; i < runs; ++i) {
      const std::uint64_t first = random() % max;
      set.insert(first, first + 1 + random() % (random() % 5 == 0 ? max : 4));
    }
    return set;
  };
  for (int round = 0; round < 300; ++round) {
    Router router;
    std::map<LinkId, IntervalSet> children;
    for (std::uint64_t link = 1; link <= 1 + random() % 12; ++link) {
      children[LinkId{link}] = some(60, static_cast<int>(random() % 4));
      router.set_leaves(LinkId{link}, {children[LinkId{link}], {}});
    }
    if (random() % 2 == 0) {
      router.split({});
      router.remove_living(children.begin()->first);
      children.erase(children.begin());
    }
    wire::Acknowledgement all;
    for (std::uint64_t wave = 0; wave < random() % 20; ++wave) {
      wire::PacketId id;
      id.stream = wire::kFirstToolStream;
      id.wave = wave;
      id.wave_end = wave + 1;
      id.sources = some(80, 1 + static_cast<int>(random() % 3));
      (random() % 3 == 0 ? all.resend : all.stored).push_back(id);
    }
    std::map<LinkId, wire::Acknowledgement> expected;
    for (const auto& [link, leaves] : children) {
      for (const auto list : {&wire::Acknowledgement::stored, &wire::Acknowledgement::resend}) {
        for (wire::PacketId id : all.*list) {
          id.sources = id.sources.intersection(leaves);
          if (!id.sources.empty()) (expected[link].*list).push_back(id);
        }
      }
    }
    ASSERT_EQ(router.split(all), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace xylem::overlay
