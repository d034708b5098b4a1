// The parts of the replay, each beside a simple model.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "predict/replay/event_queue_internal.h"
#include "predict/replay/matching_internal.h"
#include "predict/replay/waiting_internal.h"

namespace xylem::predict {
namespace {

Event at(Ticks time, std::uint64_t order) { return {time, order, 0, 0, EventKind::kSend}; }

// Times lie close together, far apart, or both; orders are not always rising.
TEST(EventQueue, ReturnsEventsByTimeAndOrder) {
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    std::mt19937_64 random(trial);
    const int bits =
        static_cast<int>(trial % 17) * 3;  // At most 48, so that the sum of 6000 times fits.
    EventQueue queue;
    std::map<std::pair<Ticks, std::uint64_t>, int> model;
    Ticks now = 0;
    std::uint64_t created = 0;
    for (int step = 0; step < 6000; ++step) {
      // It fills up, then empties.
      const bool pushes = model.empty() || random() % 100 < (step < 3000 ? 60u : 40u);
      if (pushes) {
        const Ticks time = now + (random() % 4 == 0 ? 0 : random() >> (63 - bits) >> random() % 8);
        std::uint64_t order = created++;
        if (random() % 8 == 0) order = ~order;  // As an old event that is called again, but unique.
        queue.push(at(time, order));
        model[{time, order}] = 1;
      } else {
        ASSERT_FALSE(queue.empty());
        const Event event = queue.pop();
        ASSERT_EQ(std::pair(event.time, event.order), model.begin()->first)
            << "trial " << trial << ", step " << step;
        model.erase(model.begin());
        now = event.time;
      }
      ASSERT_EQ(queue.empty(), model.empty());
    }
  }
}

TEST(EventQueue, KeepsEventsOfTheLargestTimes) {
  EventQueue queue;
  const std::vector<Ticks> times = {kMaxTicks, kMaxTicks - 1, 0, 2 * kMaxTicks - 1, 1};
  for (std::size_t i = 0; i < times.size(); ++i) queue.push(at(times[i], i));
  std::vector<Ticks> found;
  while (!queue.empty()) found.push_back(queue.pop().time);
  EXPECT_EQ(found, (std::vector<Ticks>{0, 1, kMaxTicks - 1, kMaxTicks, 2 * kMaxTicks - 1}));
}

TEST(WaitingLines, KeepTheOrderOfCreation) {
  std::mt19937 random(1);
  WaitingLines lines(3);
  std::vector<std::vector<std::uint64_t>> model(3);
  for (std::uint64_t step = 0; step < 3000; ++step) {
    const std::size_t line = random() % 3;
    if (random() % 2 == 0) {
      const std::uint64_t order = random() % 4 == 0 ? random() : step << 32;
      lines.add(line, at(0, order));
      model[line].insert(std::ranges::upper_bound(model[line], order), order);
    } else if (!model[line].empty()) {
      lines.remove_first(line);
      model[line].erase(model[line].begin());
    }
    const std::uint32_t first = lines.first(line);
    ASSERT_EQ(first == WaitingLines::kNone, model[line].empty());
    if (first == WaitingLines::kNone) continue;
    ASSERT_EQ(lines.event(first).order, model[line].front());
    ASSERT_FALSE(lines.is_called(first));
  }
}

/// As Matching, with one list that is searched from the oldest entry on.
class SlowMatching {
 public:
  bool match_or_wait(const Waiting& it, Waiting& found) {
    const auto fits = [](std::uint32_t a, std::uint32_t b) {
      return a == b || a == 0xffffffff || b == 0xffffffff;
    };
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const Waiting& other = list_[i];
      if (other.side == it.side || other.receiver != it.receiver ||
          !fits(other.source, it.source) || !fits(other.tag, it.tag)) {
        continue;
      }
      found = other;
      list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    list_.push_back(it);
    return false;
  }
  const std::vector<Waiting>& all() const { return list_; }

 private:
  std::vector<Waiting> list_;
};

std::vector<std::tuple<int, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> sorted(
    const std::vector<Waiting>& all) {
  std::vector<std::tuple<int, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> made;
  for (const Waiting& it : all) {
    made.emplace_back(static_cast<int>(it.side), it.receiver, it.source, it.tag, it.operation);
  }
  std::ranges::sort(made);
  return made;
}

TEST(Matching, AgreesWithAList) {
  constexpr std::uint32_t kRanks = 40;
  std::mt19937 random(7);
  std::vector<bool> wild(kRanks);
  wild[3] = wild[30] = true;
  Matching matching(wild);
  SlowMatching model;
  int matches = 0;
  for (std::uint32_t step = 0; step < 40'000; ++step) {
    // Many wait at first, and few in the end.
    const bool receives = random() % 100 < (step < 20'000 ? 60u : 40u);
    Waiting it{receives ? Side::kReceive : Side::kMessage,
               static_cast<std::uint32_t>(random() % kRanks),
               static_cast<std::uint32_t>(random() % kRanks),
               static_cast<std::uint32_t>(random() % 3),
               step,
               random()};
    if (receives && wild[it.receiver] && random() % 3 == 0) it.source = 0xffffffff;
    if (receives && wild[it.receiver] && random() % 3 == 0) it.tag = 0xffffffff;
    Waiting found, expected;
    const bool is_match = matching.match_or_wait(it, found);
    ASSERT_EQ(is_match, model.match_or_wait(it, expected)) << "step " << step;
    if (!is_match) continue;
    ++matches;
    ASSERT_EQ(found.operation, expected.operation) << "step " << step;
    ASSERT_EQ(found.ready, expected.ready);
    if (!receives) continue;
    ASSERT_EQ(found.source, expected.source);
  }
  EXPECT_GT(matches, 5000);
  EXPECT_EQ(sorted(matching.all()), sorted(model.all()));
}

}  // namespace
}  // namespace xylem::predict
