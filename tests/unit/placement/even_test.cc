#include "placement/even.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace xylem::placement {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Counts = std::vector<std::uint64_t>;

EvenPlacement placed(const Counts& occupied, std::uint64_t comm_processes) {
  auto placement = place_evenly(occupied, comm_processes);
  EXPECT_TRUE(placement) << placement.error().message;
  return placement ? *std::move(placement) : EvenPlacement{};
}

std::vector<std::uint32_t> order_of(const Counts& occupied, std::uint64_t comm_processes) {
  std::vector<std::uint32_t> order;
  for (HostId host : fill_order(occupied, placed(occupied, comm_processes))) {
    order.push_back(raw(host));
  }
  return order;
}

/// The rule that even placement must equal: each process in turn to the least loaded host, the
/// lowest index on ties.
std::vector<std::uint32_t> place_greedily(Counts load, std::uint64_t comm_processes) {
  std::vector<std::uint32_t> order;
  for (; comm_processes > 0; --comm_processes) {
    const auto least = std::ranges::min_element(load);  // The first of equals.
    ++*least;
    order.push_back(static_cast<std::uint32_t>(least - load.begin()));
  }
  return order;
}

TEST(PlaceEvenly, GivesTheWorkedExamples) {
  EXPECT_THAT(placed({8, 2, 2, 0}, 4).added, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(placed({4, 4, 4, 4}, 3).added, ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(placed({16, 0, 0}, 2).added, ElementsAre(0, 1, 1));
  EXPECT_THAT(placed({5, 3, 1, 1}, 6).added, ElementsAre(0, 1, 3, 2));
}

TEST(PlaceEvenly, ShowsTheRoundsThatLedThere) {
  const EvenPlacement placement = placed({8, 2, 2, 0}, 4);
  ASSERT_EQ(placement.rounds.size(), 2u);
  EXPECT_EQ(placement.rounds[0].processes, 16u);
  EXPECT_EQ(placement.rounds[0].hosts, 4u);
  EXPECT_EQ(placement.rounds[0].quotient, 4u);
  EXPECT_EQ(placement.rounds[0].remainder, 0u);
  EXPECT_THAT(placement.rounds[0].too_full, ElementsAre(HostId{0}));
  EXPECT_EQ(placement.rounds[1].processes, 8u);
  EXPECT_EQ(placement.rounds[1].hosts, 3u);
  EXPECT_EQ(placement.rounds[1].quotient, 2u);
  EXPECT_EQ(placement.rounds[1].remainder, 2u);
  EXPECT_THAT(placement.rounds[1].too_full, IsEmpty());
  EXPECT_THAT(placement.target, ElementsAre(8, 3, 3, 2));
}

TEST(PlaceEvenly, PlacesNothingAnywhere) {
  EXPECT_THAT(placed({}, 0).added, IsEmpty());
  EXPECT_THAT(placed({3, 0, 9}, 0).added, ElementsAre(0, 0, 0));
}

TEST(PlaceEvenly, RefusesToPlaceOnNoHosts) {
  const auto placement = place_evenly({}, 1);
  ASSERT_FALSE(placement);
  EXPECT_EQ(placement.error().code, Code::kInvalidArgument);
  EXPECT_THAT(placement.error().message, HasSubstr("there is no host for 1"));
}

TEST(PlaceEvenly, CountsUpToTheLimitAndRefusesBeyondIt) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(placed({0, 0}, kMax).added, ElementsAre(kMax / 2 + 1, kMax / 2));
  EXPECT_THAT(placed({kMax - 3, 1, 0}, 2).added, ElementsAre(0, 1, 1));
  for (const Counts& occupied : {Counts{kMax}, Counts{kMax, kMax, 1}}) {
    const auto placement = place_evenly(occupied, 1);
    ASSERT_FALSE(placement);
    EXPECT_EQ(placement.error().code, Code::kInvalidArgument);
  }
}

TEST(PlaceEvenly, EqualsTheGreedyRuleForAnyHosts) {
  std::mt19937 random(20240607);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 40'000; ++trial) {
    Counts occupied(1 + random() % 12);
    const std::uint32_t spread = trial % 2 == 0 ? 6 : 40;
    for (auto& there : occupied) there = random() % 3 == 0 ? 0 : random() % spread;
    const std::uint64_t comm_processes = random() % 60;
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << comm_processes << " on "
                                      << ::testing::PrintToString(occupied));
    const EvenPlacement placement = placed(occupied, comm_processes);
    const auto greedy = place_greedily(occupied, comm_processes);
    Counts added(occupied.size());
    for (std::uint32_t host : greedy) ++added[host];
    ASSERT_EQ(placement.added, added);
    ASSERT_EQ(order_of(occupied, comm_processes), greedy);
    ASSERT_EQ(std::accumulate(added.begin(), added.end(), std::uint64_t{0}), comm_processes);
  }
}

TEST(PlaceEvenly, FillsHostsUpToTheirRoom) {
  const auto placement = place_evenly(Counts{8, 0, 0}, 10, Counts{10, 2, 2});
  ASSERT_TRUE(placement) << placement.error().message;
  EXPECT_THAT(placement->added, ElementsAre(6, 2, 2)) << "host 0 is no longer too full then";
  EXPECT_THAT(place_evenly(Counts{0, 0, 0}, 3, Counts{0, 5, 1})->added, ElementsAre(0, 2, 1));
  const auto full = place_evenly(Counts{0, 0}, 3, Counts{1, 1});
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("have room for 2"));
}

TEST(PlaceEvenly, EqualsTheGreedyRuleAmongHostsWithRoom) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 20'000; ++trial) {
    Counts occupied(1 + random() % 8);
    Counts room(occupied.size());
    for (auto& count : occupied) count = random() % 12;
    for (auto& count : room) count = random() % 7;
    const std::uint64_t max = std::accumulate(room.begin(), room.end(), std::uint64_t{0});
    const std::uint64_t n = random() % (max + 1);
    const auto placement = place_evenly(occupied, n, room);
    ASSERT_TRUE(placement) << placement.error().message;
    std::vector<HostId> greedy;
    Counts load = occupied;
    for (std::uint64_t k = 0; k < n; ++k) {
      std::size_t least = load.size();
      for (std::size_t i = 0; i < load.size(); ++i) {
        if (load[i] - occupied[i] == room[i]) continue;
        if (least == load.size() || load[i] < load[least]) least = i;
      }
      ++load[least];
      greedy.push_back(HostId{static_cast<std::uint32_t>(least)});
    }
    ASSERT_EQ(placement->target, load) << "trial " << trial;
    ASSERT_EQ(fill_order(occupied, *placement), greedy) << "trial " << trial;
  }
}

TEST(FillOrder, IsTheGreedyOrder) {
  EXPECT_THAT(order_of({8, 2, 2, 0}, 4), ElementsAre(3, 3, 1, 2));
  EXPECT_THAT(order_of({4, 4, 4, 4}, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(order_of({0, 0}, 5), ElementsAre(0, 1, 0, 1, 0));
}

TEST(ExplainEven, ShowsEachStep) {
  const std::vector<tree::Host> hosts{
      {"a", 1, 8, 0}, {"b", 1, 2, 0}, {"c", 1, 2, 0}, {"d", 1, 0, 0}};
  EXPECT_EQ(explain(hosts, placed({8, 2, 2, 0}, 4)),
            "even placement of 4 communication processes on 4 hosts\n"
            "round 1: 16 processes on 4 hosts: 4 each; too full: a\n"
            "round 2: 8 processes on 3 hosts: 2 each, the first 2 one more; too full: none\n"
            "host     has    gets  target\n"
            "a          8       0       8\n"
            "b          2       1       3\n"
            "c          2       1       3\n"
            "d          0       2       2\n");
}

}  // namespace
}  // namespace xylem::placement
