// The scheduler keeps its rules, and agrees with a slow one on random work.

#include "predict/node/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/unit/predict/slow_cores.h"

namespace xylem::predict {
namespace {

using testing::Letters;
using testing::slow_cores;
using testing::Work;

/// Ranks that do their work on one node, and what they did at each tick.
class Cores final : private SchedulerEvents {
 public:
  Cores(const std::vector<std::vector<Work>>& work, std::uint32_t cores, Ticks slice)
      : work_(work),
        next_(work.size()),
        letters_(work.size()),
        scheduler_(std::vector<Node>(work.size(), Node{0}), cores, slice, *this) {}

  Letters run() {
    for (std::uint32_t rank = 0; rank < work_.size(); ++rank) plan(rank, 0);
    while (!events_.empty()) {
      const auto [time, is_wake, rank] = *events_.begin();
      events_.erase(events_.begin());
      if (is_wake) {
        scheduler_.wake(rank, time);
      } else {
        const Work& work = work_[rank][next_[rank]++];
        scheduler_.ask(rank, time, work.length, work.is_whole);
      }
    }
    return letters_;
  }

 private:
  /// The rank's next work, if its earlier work ends at `end`.
  void plan(std::uint32_t rank, Ticks end) {
    if (next_[rank] == work_[rank].size()) return;
    events_.insert({end + work_[rank][next_[rank]].pause, false, rank});
  }
  void begins(std::uint32_t rank, Ticks now) override {
    const Work& work = work_[rank][next_[rank] - 1];
    if (work.is_whole) plan(rank, now + work.length);
  }
  void ends(std::uint32_t rank, Ticks now) override { plan(rank, now); }
  void ran(std::uint32_t rank, Ticks begin, Ticks end) override { write(rank, begin, end, 'r'); }
  void waited(std::uint32_t rank, Ticks begin, Ticks end) override { write(rank, begin, end, 'w'); }
  void wake_at(std::uint32_t rank, Ticks time) override { events_.insert({time, true, rank}); }

  void write(std::uint32_t rank, Ticks begin, Ticks end, char letter) {
    ASSERT_LT(begin, end);
    ASSERT_GE(begin, letters_[rank].size());
    letters_[rank].resize(begin, '-');
    letters_[rank].resize(end, letter);
  }

  const std::vector<std::vector<Work>>& work_;
  std::vector<std::size_t> next_;
  Letters letters_;
  std::set<std::tuple<Ticks, bool, std::uint32_t>> events_;
  Scheduler scheduler_;
};

Letters on_cores(std::uint32_t cores, Ticks slice, const std::vector<std::vector<Work>>& work) {
  return Cores(work, cores, slice).run();
}

TEST(Scheduler, GivesEachRankACoreIfThereAreEnough) {
  EXPECT_EQ(on_cores(2, 1, {{{0, 3}, {2, 1}}, {{0, 4}}}), (Letters{"rrr--r", "rrrr"}));
}

TEST(Scheduler, TakesTurnsBySlices) {
  EXPECT_EQ(on_cores(1, 2, {{{0, 5}}, {{0, 3}}}), (Letters{"rrwwrrwr", "wwrrwwr"}));
}

TEST(Scheduler, GivesTheExampleOfTheHeader) {
  EXPECT_EQ(on_cores(1, 10, {{{0, 25}}, {{0, 5}}}),
            (Letters{std::string(10, 'r') + std::string(5, 'w') + std::string(15, 'r'),
                     std::string(10, 'w') + std::string(5, 'r')}));
}

TEST(Scheduler, GivesABlockedRanksCoreAway) {
  EXPECT_EQ(on_cores(1, 10, {{{0, 2}, {3, 1}}, {{0, 2}}}), (Letters{"rr---r", "wwrr"}));
}

TEST(Scheduler, KeepsTheCoreFromWorkToWork) {
  EXPECT_EQ(on_cores(1, 3, {{{0, 1}, {0, 1}, {0, 2}}, {{0, 1}}}), (Letters{"rrrwr", "wwwr"}));
}

TEST(Scheduler, RenewsASliceOnlyIfNobodyWaits) {
  // Rank 1 comes in the second slice of rank 0, and waits for its end.
  EXPECT_EQ(on_cores(1, 4, {{{0, 10}}, {{5, 1}}}), (Letters{"rrrrrrrrwrr", "-----wwwr"}));
  // It comes when the first slice passes.
  EXPECT_EQ(on_cores(1, 4, {{{0, 10}}, {{4, 1}}}), (Letters{"rrrrwrrrrrr", "----r"}));
}

TEST(Scheduler, DoesNotInterruptWorkOnMessages) {
  EXPECT_EQ(on_cores(1, 2, {{{0, 5, true}, {0, 1}}, {{0, 1}}}), (Letters{"rrrrrwr", "wwwwwr"}));
}

TEST(Scheduler, ServesTheQueueInOrder) {
  EXPECT_EQ(on_cores(1, 9, {{{0, 3}}, {{2, 1}}, {{1, 1}}}), (Letters{"rrr",
                                                                     "--ww"
                                                                     "r",
                                                                     "-wwr"}));
}

TEST(Scheduler, AgreesWithTheSlowOne) {
  std::uint64_t waits = 0, whole = 0;
  for (std::uint32_t trial = 0; trial < 4000; ++trial) {
    std::mt19937 random(20261201 + trial);  // Fixed, so that a failure can be repeated.
    const auto below = [&](std::uint32_t limit) {
      return static_cast<std::uint32_t>(random() % limit);
    };
    std::vector<std::vector<Work>> work(1 + below(7));
    const std::uint32_t max_pause = 1 + below(12), max_length = 1 + below(12);
    for (auto& of_rank : work) {
      of_rank.resize(below(8));
      for (Work& it : of_rank) it = {below(max_pause), 1 + below(max_length), below(3) == 0};
    }
    const std::uint32_t cores = 1 + below(4);
    const std::uint32_t slice = 1 + below(9);
    SCOPED_TRACE(::testing::Message()
                 << "trial " << trial << ", " << cores << " cores, slice " << slice);
    const Letters fast = on_cores(cores, slice, work);
    ASSERT_EQ(fast, slow_cores(work, cores, slice));
    for (std::size_t rank = 0; rank < work.size(); ++rank) {
      waits += static_cast<std::uint64_t>(std::ranges::count(fast[rank], 'w'));
      std::uint64_t length = 0;
      for (const Work& it : work[rank]) length += it.length, whole += it.is_whole ? 1 : 0;
      EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(fast[rank], 'r')), length);
    }
  }
  EXPECT_GT(waits, 10'000u);
  EXPECT_GT(whole, 1'000u);
}

}  // namespace
}  // namespace xylem::predict
