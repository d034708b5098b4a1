#include "predict/disk/read_ahead.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace xylem::predict {
namespace {

/// A reader of a file with a cache that keeps all pages. Collects the ranges that are read.
class Reader {
 public:
  explicit Reader(std::uint64_t largest) : window_(largest) {}

  void read(std::uint64_t first, std::uint64_t pages) {
    for (std::uint64_t page = first; page < first + pages; ++page) {
      if (!there_.contains(page)) add(window_.on_absent(page, first + pages - page));
      ASSERT_TRUE(there_.contains(page)) << page;
      if (const PageRange ahead = window_.on_page(page); !ahead.empty()) add(ahead);
    }
    window_.ended(first + pages - 1);
  }

  std::vector<PageRange> ranges;

 private:
  void add(const PageRange& range) {
    ranges.push_back(range);
    for (std::uint64_t page = range.first; page < range.end; ++page) there_.insert(page);
  }

  ReadAhead window_;
  std::set<std::uint64_t> there_;
};

TEST(ReadAhead, GrowsAsLinuxDoes) {
  Reader reader(32);  // 128 KiB, the default of Linux.
  for (std::uint64_t page = 0; page < 100; page += 4) reader.read(page, 4);
  EXPECT_EQ(reader.ranges,
            (std::vector<PageRange>{{0, 8}, {8, 24}, {24, 56}, {56, 88}, {88, 120}, {120, 152}}));
}

TEST(ReadAhead, BeginsWithFourTimesASinglePage) {
  Reader reader(32);
  for (std::uint64_t page = 0; page < 30; ++page) reader.read(page, 1);
  EXPECT_EQ(reader.ranges, (std::vector<PageRange>{{0, 4}, {4, 12}, {12, 28}, {28, 60}, {60, 92}}));
}

TEST(ReadAhead, ReadsALongReadInWindows) {
  Reader reader(32);
  reader.read(0, 100);
  // The first window would have its marker at once, so half of it is ahead. The others have their
  // markers at their first pages: there is always one window more.
  EXPECT_EQ(reader.ranges,
            (std::vector<PageRange>{{0, 32}, {32, 64}, {64, 96}, {96, 128}, {128, 160}}));
}

TEST(ReadAhead, LeavesRandomReadsAlone) {
  Reader reader(32);
  std::vector<PageRange> expected;
  for (std::uint64_t page = 7; page < 10'000; page += 97) {
    reader.read(page, 2);
    expected.push_back({page, page + 2});
  }
  EXPECT_EQ(reader.ranges, expected);
}

TEST(ReadAhead, BeginsAnewWhenReadsBecomeSequential) {
  Reader reader(32);
  for (const std::uint64_t page : {0, 1, 2, 500, 501, 502, 503}) reader.read(page, 1);
  EXPECT_EQ(reader.ranges,
            (std::vector<PageRange>{{0, 4}, {4, 12}, {500, 501}, {501, 505}, {505, 513}}));
}

TEST(ReadAhead, ReadsNothingAheadWithoutAWindow) {
  Reader reader(0);
  reader.read(0, 3);
  reader.read(3, 1);
  EXPECT_EQ(reader.ranges, (std::vector<PageRange>{{0, 3}, {3, 4}}));
}

TEST(ReadAhead, NeverReadsMoreThanTheLargestWindow) {
  for (std::uint64_t largest = 1; largest < 70; ++largest) {
    Reader reader(largest);
    for (std::uint64_t page = 0; page < 300; page += 3) reader.read(page, 3);
    for (const PageRange& it : reader.ranges) {
      EXPECT_LE(it.end - it.first, std::max<std::uint64_t>(largest, 3)) << largest;
    }
  }
}

}  // namespace
}  // namespace xylem::predict
