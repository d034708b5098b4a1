#include "backend/leaf/slice_room.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace xylem::backend {
namespace {

using Parts = std::map<std::uint64_t, std::uint64_t>;

std::uint64_t spread(SliceRoom& room, Nanos from, Nanos to, std::uint64_t ns, Parts& parts,
                     std::uint64_t later = 0) {
  return room.spread(from, to, 100, later, ns,
                     [&parts](std::uint64_t slice, std::uint64_t part) { parts[slice] += part; });
}

TEST(SliceRoom, SpreadsEvenlyOverFreeTime) {
  SliceRoom room;
  room.use(0, 20);
  room.use(1, 100);
  Parts parts;
  EXPECT_EQ(spread(room, 60, 220, 30, parts), 30u);
  EXPECT_EQ(parts, (Parts{{0, 20}, {2, 10}}));
}

TEST(SliceRoom, GivesNoMoreThanThereIs) {
  SliceRoom room;
  room.use(1, 90);
  Parts parts;
  EXPECT_EQ(spread(room, 100, 200, 1000, parts), 10u);
  EXPECT_EQ(spread(room, 100, 200, 1000, parts), 0u) << "what was given is used";
  EXPECT_EQ(parts, (Parts{{1, 10}}));
}

TEST(SliceRoom, TimeBehindTheEndIsNotInTheWay) {
  SliceRoom room;
  room.use(1, 60);  // From 140 to 200: behind the end.
  Parts parts;
  EXPECT_EQ(spread(room, 100, 140, 40, parts, 60), 40u);
}

TEST(SliceRoom, ForgetsOldSlicesAndGivesThemNothing) {
  SliceRoom room;
  Parts parts;
  room.use(1000, 1);
  EXPECT_EQ(spread(room, 0, 100, 50, parts), 0u);
  spread(room, 0, 100'100, 100'000'000, parts);
  EXPECT_EQ(parts.size(), SliceRoom::kSlices);
  EXPECT_EQ(parts.begin()->first, 1000 - SliceRoom::kSlices + 1);
}

TEST(SliceRoom, AfterARestartTimeBeforeItGetsNothing) {
  SliceRoom room;
  room.restart(250);
  Parts parts;
  EXPECT_EQ(spread(room, 0, 300, 1000, parts), 50u);
}

TEST(SliceRoom, AfterARestartTimeBeforeItMayBeUsed) {
  SliceRoom room;
  room.restart(250);
  room.use(2, 30);  // From 260 to 290.
  Parts parts;
  EXPECT_EQ(spread(room, 255, 300, 1000, parts), 20u) << "250 to 260 and 290 to 300";
}

TEST(SliceRoom, NoSliceEverGetsMoreThanItsLength) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    SliceRoom room;
    Parts all;
    Nanos now = 0;
    for (int i = 0; i < 500; ++i) {
      const Nanos from = std::max<Nanos>(0, now - static_cast<Nanos>(random() % 2000));
      now += static_cast<Nanos>(random() % 150);
      const std::uint64_t wanted = random() % 500;
      Parts parts;
      const std::uint64_t given = spread(room, from, now, wanted, parts);
      std::uint64_t sum = 0;
      for (const auto& [slice, part] : parts) {
        sum += part;
        all[slice] += part;
        ASSERT_LE(all[slice], 100u);
      }
      ASSERT_EQ(sum, given);
      ASSERT_LE(given, wanted);
      // A call that is exact comes after all that was before.
      const Nanos begin = now;
      now = (now / 100) * 100 + static_cast<Nanos>(random() % 100);
      if (now <= begin) now = begin;
      const auto slice = static_cast<std::uint64_t>(begin / 100);
      room.use(slice, static_cast<std::uint64_t>(now - begin));
      all[slice] += static_cast<std::uint64_t>(now - begin);
      ASSERT_LE(all[slice], 100u);
    }
  }
}

}  // namespace
}  // namespace xylem::backend
