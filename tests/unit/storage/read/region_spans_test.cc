#include "storage/read/region_spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace xylem::storage {
namespace {

constexpr CallSiteId kBegin{7}, kEnd{8};

wire::Event event(std::uint64_t region, std::int32_t depth, Nanos at, bool begins,
                  ThreadIndex thread = ThreadIndex{}) {
  wire::Event it;
  it.kind = wire::kKindRegion;
  it.flags = begins ? wire::kEventPosts : wire::kEventCompletes;
  it.bytes = region;
  it.tag = depth;
  it.begin_ns = it.end_ns = at;
  it.thread = thread;
  it.site = begins ? kBegin : kEnd;
  return it;
}
wire::Event begin(std::uint64_t region, std::int32_t depth, Nanos at) {
  return event(region, depth, at, true);
}
wire::Event end(std::uint64_t region, std::int32_t depth, Nanos at) {
  return event(region, depth, at, false);
}
RegionSpan span(std::uint64_t region, std::int32_t depth, std::optional<Nanos> begin_ns,
                std::optional<Nanos> end_ns) {
  return {ThreadIndex{}, region, depth, begin_ns, end_ns, begin_ns ? kBegin : kEnd};
}

class RegionSpansTest : public ::testing::Test {
 protected:
  std::vector<RegionSpan> ended(std::initializer_list<wire::Event> events) {
    for (const wire::Event& it : events) spans_.take(it);
    return spans_.take_ended();
  }
  RegionSpans spans_;
};

TEST_F(RegionSpansTest, PairsNestedRegions) {
  EXPECT_EQ(ended({begin(1, 0, 10), begin(2, 1, 20), end(2, 1, 30), begin(2, 1, 40)}),
            (std::vector{span(2, 1, 20, 30)}));
  EXPECT_EQ(spans_.open(), (std::vector{span(1, 0, 10, {}), span(2, 1, 40, {})}));
  EXPECT_EQ(ended({end(2, 1, 50), end(1, 0, 60)}),
            (std::vector{span(2, 1, 40, 50), span(1, 0, 10, 60)}));
  EXPECT_TRUE(spans_.open().empty());
}

TEST_F(RegionSpansTest, ALevelIsBesideTheRegions) {
  EXPECT_EQ(ended({begin(9, -1, 5), begin(1, 0, 10), end(9, -1, 20), begin(8, -1, 20),
                   end(1, 0, 30), end(8, -1, 40)}),
            (std::vector{span(9, -1, 5, 20), span(1, 0, 10, 30), span(8, -1, 20, 40)}));
}

TEST_F(RegionSpansTest, ALostBeginAffectsOnlyItsVisit) {
  EXPECT_EQ(ended({begin(1, 0, 10), end(2, 1, 20), end(1, 0, 30)}),
            (std::vector{span(2, 1, {}, 20), span(1, 0, 10, 30)}));
}

TEST_F(RegionSpansTest, ALostEndAffectsOnlyItsVisit) {
  EXPECT_EQ(
      ended({begin(1, 0, 10), begin(2, 1, 20), begin(3, 1, 30), end(3, 1, 40), end(1, 0, 50)}),
      (std::vector{span(2, 1, 20, {}), span(3, 1, 30, 40), span(1, 0, 10, 50)}));
}

TEST_F(RegionSpansTest, AnEndAndABeginThatAreLostTogetherAreNotMixedUp) {
  EXPECT_EQ(ended({begin(1, 0, 10), end(2, 0, 20)}),
            (std::vector{span(1, 0, 10, {}), span(2, 0, {}, 20)}));
}

TEST_F(RegionSpansTest, OtherEventsHaveNoEffect) {
  wire::Event call;
  call.flags = wire::kEventPosts;
  EXPECT_TRUE(ended({call}).empty());
  EXPECT_TRUE(spans_.open().empty());
}

// Each visit whose two events are there has both times, whatever else is lost.
TEST_F(RegionSpansTest, KeepsAllWholeVisitsOfRandomProgramsWithLosses) {
  std::mt19937 random(20261127);
  for (int trial = 0; trial < 300; ++trial) {
    struct Open {
      std::uint64_t region;
      Nanos begin;
      bool is_lost;
    };
    const auto lossy = static_cast<unsigned>(trial % 3);
    std::vector<std::vector<Open>> threads(2);
    std::vector<std::tuple<unsigned, std::uint64_t, Nanos, Nanos>> whole;
    RegionSpans spans;
    Nanos now = 0;
    for (int step = 0; step < 200; ++step) {
      const auto number = static_cast<unsigned>(random() % 2);
      std::vector<Open>& stack = threads[number];
      const bool begins = stack.empty() || (stack.size() < 6 && random() % 2 == 0);
      const bool is_lost = random() % 4 < lossy;
      ++now;
      if (begins) stack.push_back({random() % 3 + 1, now, is_lost});
      const auto depth = static_cast<std::int32_t>(stack.size()) - 1;
      const Open top = stack.back();
      if (!is_lost) spans.take(event(top.region, depth, now, begins, ThreadIndex{number}));
      if (begins) continue;
      stack.pop_back();
      if (!is_lost && !top.is_lost) whole.emplace_back(number, top.region, top.begin, now);
    }
    std::vector<std::tuple<unsigned, std::uint64_t, Nanos, Nanos>> found;
    for (const RegionSpan& it : spans.take_ended()) {
      if (it.begin_ns && it.end_ns)
        found.emplace_back(raw(it.thread), it.region, *it.begin_ns, *it.end_ns);
    }
    if (lossy == 0) {
      EXPECT_EQ(found, whole) << trial;
      continue;
    }
    // If the end of a visit and the begin of the next one of the same region are lost, the two look
    // like one. All others are there.
    std::size_t missing = 0;
    for (const auto& it : whole) missing += std::ranges::count(found, it) == 0 ? 1 : 0;
    EXPECT_EQ(missing, 0u) << trial;
  }
}

}  // namespace
}  // namespace xylem::storage
