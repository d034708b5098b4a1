#include "wire/profile.h"

#include <capnp/message.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "tests/support/hostile_bytes.h"
#include "tests/support/wire_samples.h"
#include "xylem.capnp.h"

namespace xylem::wire {
namespace {

using ::testing::HasSubstr;
using testing::sample_window;
using testing::sample_window_of_calls_under_way;

constexpr std::uint64_t kGreatest = std::numeric_limits<std::uint64_t>::max();

// Durations of every magnitude, small and great alike.
std::uint64_t any_duration(std::mt19937_64& random) {
  return random() >> (random() % 65 == 64 ? 63 : random() % 64);
}

// The slow model: all values, kept and sorted.
struct AllValues {
  std::vector<std::uint64_t> values;

  std::uint64_t quantile(double q) {
    std::sort(values.begin(), values.end());
    const auto rank =
        static_cast<std::size_t>(std::max(1.0, std::ceil(q * static_cast<double>(values.size()))));
    return values[rank - 1];
  }
  std::uint64_t within(std::uint64_t first, std::uint64_t last) const {
    return static_cast<std::uint64_t>(std::count_if(
        values.begin(), values.end(), [=](std::uint64_t v) { return first <= v && v <= last; }));
  }
};

Bytes bytes(std::initializer_list<int> values) {
  Bytes result;
  for (const int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

TEST(LogHistogram, SortsDurationsByPowersOfTwo) {
  EXPECT_EQ(LogHistogram::bucket_of(0), 0u);
  EXPECT_EQ(LogHistogram::bucket_of(1), 1u);
  for (std::size_t b = 1; b < 64; ++b) {
    const std::uint64_t end = std::uint64_t{1} << b;
    EXPECT_EQ(LogHistogram::bucket_of(end - 1), b);
    EXPECT_EQ(LogHistogram::bucket_of(end), b + 1);
  }
  EXPECT_EQ(LogHistogram::bucket_of(kGreatest), LogHistogram::kBuckets - 1);
}

TEST(LogHistogram, AgreesWithAllValuesKept) {
  std::mt19937_64 random(20240607);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    LogHistogram histogram;
    AllValues model;
    for (std::size_t n = 1 + random() % 200; n > 0; --n) {
      const std::uint64_t value = any_duration(random);
      const std::uint64_t count = 1 + random() % 3;
      histogram.add(value, count);
      model.values.insert(model.values.end(), count, value);
    }
    EXPECT_EQ(histogram.total(), model.values.size());
    EXPECT_EQ(histogram.count(0), model.within(0, 0));
    for (std::size_t b = 1; b < LogHistogram::kBuckets; ++b) {
      const std::uint64_t first = std::uint64_t{1} << (b - 1);
      ASSERT_EQ(histogram.count(b), model.within(first, first + (first - 1))) << "bucket " << b;
    }
    for (const double q : {0.0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0}) {
      const std::uint64_t exact = model.quantile(q);
      const std::uint64_t bound = histogram.quantile_bound(q);
      EXPECT_GE(bound, exact) << "quantile " << q;
      EXPECT_LE(bound / 2, exact) << "quantile " << q;
    }
  }
}

TEST(LogHistogram, BoundsQuantilesByTheEndOfTheirBucket) {
  LogHistogram histogram;
  EXPECT_EQ(histogram.quantile_bound(0.5), 0u) << "of nothing";
  histogram.add(0, 2);
  histogram.add(5, 1);
  histogram.add(1000, 1);
  EXPECT_EQ(histogram.quantile_bound(0), 0u);
  EXPECT_EQ(histogram.quantile_bound(0.5), 0u);
  EXPECT_EQ(histogram.quantile_bound(0.75), 8u);
  EXPECT_EQ(histogram.quantile_bound(0.76), 1024u);
  EXPECT_EQ(histogram.quantile_bound(1), 1024u);
  histogram.add(kGreatest);
  EXPECT_EQ(histogram.quantile_bound(1), kGreatest);
}

TEST(LogHistogram, QuantilesDoNotFallAsTheyRise) {
  std::mt19937_64 random(20240608);
  LogHistogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.add(any_duration(random), random() >> 20);
  std::uint64_t before = 0;
  for (int i = 0; i <= 1000; ++i) {
    const std::uint64_t bound = histogram.quantile_bound(i / 1000.0);
    EXPECT_GE(bound, before);
    before = bound;
  }
}

TEST(LogHistogram, MergesLikeOneThatSawBoth) {
  std::mt19937_64 random(20240609);
  LogHistogram left, right, both;
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t value = any_duration(random);
    (i % 3 == 0 ? left : right).add(value);
    both.add(value);
  }
  LogHistogram other_way = right;
  other_way.merge(left);
  left.merge(right);
  EXPECT_EQ(left, both);
  EXPECT_EQ(other_way, both);
}

TEST(LogHistogram, ComesBackFromItsBytes) {
  std::mt19937_64 random(20240610);
  for (int trial = 0; trial < 500; ++trial) {
    LogHistogram histogram;
    for (std::size_t n = random() % 70; n > 0; --n) {
      histogram.add(any_duration(random), any_duration(random));
    }
    const auto back = LogHistogram::from_bytes(histogram.to_bytes());
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, histogram);
  }
}

TEST(LogHistogram, IsSmallAsBytes) {
  LogHistogram histogram;
  EXPECT_EQ(histogram.to_bytes(), Bytes{});
  histogram.add(700, 300);
  EXPECT_EQ(histogram.to_bytes(), bytes({10, 0xac, 0x02}));
}

TEST(LogHistogram, OfBytesThatAreNoneIsRefused) {
  for (const Bytes& wrong : {
           bytes({65, 1}),          // No such bucket.
           bytes({3}),              // No count.
           bytes({3, 0}),           // A bucket that is empty.
           bytes({3, 0x80}),        // A count cut short.
           bytes({3, 0x81, 0x00}),  // A count longer than need be.
           bytes({3, 1, 3, 1}),     // A bucket twice.
           bytes({3, 1, 2, 1}),     // Descending.
           bytes({3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}),  // 65 bits.
           bytes({3, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}),
       }) {
    const auto histogram = LogHistogram::from_bytes(wrong);
    ASSERT_FALSE(histogram) << wrong.size() << " bytes";
    EXPECT_EQ(histogram.error().code, Code::kCorrupt);
  }
}

TEST(ProfileWindow, ComesBackAsItWas) {
  const auto back = decode_profile_window(encode(sample_window()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample_window());
  const auto under_way = decode_profile_window(encode(sample_window_of_calls_under_way()));
  ASSERT_TRUE(under_way) << under_way.error().message;
  EXPECT_EQ(*under_way, sample_window_of_calls_under_way());
  ProfileWindow short_of;
  short_of.accounts.resize(1);
  short_of.accounts[0].lane = Lane{1};
  short_of.accounts[0].lost_messages = 3;
  short_of.accounts[0].lost_message_bytes = 4096;
  short_of.accounts[0].lost_receives = 2;
  short_of.accounts[0].lost_parts = 5;
  short_of.accounts[0].untracked_receives = 1;
  short_of.accounts[0].silent_since_ns = 7 * kSecond;
  short_of.accounts[0].inside = FunctionId{9};
  short_of.accounts[0].stopped = true;
  short_of.accounts[0].outside = true;
  const auto losses = decode_profile_window(encode(short_of));
  ASSERT_TRUE(losses) << losses.error().message;
  EXPECT_EQ(*losses, short_of);
  const auto empty = decode_profile_window(encode(ProfileWindow{}));
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(*empty, ProfileWindow{});
}

TEST(ProfileWindow, HoldsManyRowsOfAnySize) {
  std::mt19937_64 random(20240611);
  for (const std::size_t rows : {1u, 30u, 1000u, 20000u}) {
    ProfileWindow window;
    for (std::size_t i = 0; i < rows; ++i) {
      ProfileRow row = sample_window().rows[0];
      row.calls = random();
      for (std::size_t n = random() % 20; n > 0; --n) row.histogram.add(any_duration(random));
      window.rows.push_back(row);
      window.accounts.push_back(sample_window().accounts[0]);
      window.accounts.back().loss_by_function.resize(random() % 5);
    }
    const auto back = decode_profile_window(encode(window));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_TRUE(*back == window) << rows << " rows";
  }
}

TEST(ProfileWindow, CutShortAnywhereIsRefused) {
  const Bytes whole = encode(sample_window_of_calls_under_way());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto back = decode_profile_window(cut);
    ASSERT_FALSE(back) << "cut to " << size;
    EXPECT_EQ(back.error().code, Code::kCorrupt);
  }
}

TEST(ProfileWindow, WithAnyBitFlippedIsRefusedOrIsAWindow) {
  xylem::testing::with_each_bit_flipped(encode(sample_window_of_calls_under_way()),
                                        [](auto flipped) {
                                          const auto back = decode_profile_window(flipped);
                                          if (!back) {
                                            EXPECT_EQ(back.error().code, Code::kCorrupt);
                                            return;
                                          }
                                          const auto again = decode_profile_window(encode(*back));
                                          ASSERT_TRUE(again) << again.error().message;
                                          EXPECT_EQ(*again, *back);
                                        });
}

TEST(ProfileWindow, OfWhatCannotBeIsRefused) {
  const auto expect_refused = [](const char* why,
                                 const std::function<void(schema::ProfileWindow::Builder)>& fill) {
    capnp::MallocMessageBuilder builder;
    fill(builder.initRoot<schema::ProfileWindow>());
    const auto segment = builder.getSegmentsForOutput()[0].asBytes();
    const auto window = decode_profile_window(
        {reinterpret_cast<const std::byte*>(segment.begin()), segment.size()});
    ASSERT_FALSE(window) << "taken: " << why;
    EXPECT_EQ(window.error().code, Code::kCorrupt);
    EXPECT_THAT(window.error().message, HasSubstr(why));
  };
  expect_refused("ends before it begins", [](auto w) { w.setEndNs(-1); });
  expect_refused("of no process", [](auto w) { w.initRows(1); });
  expect_refused("of no process", [](auto w) { w.initMatrix(1); });
  expect_refused("of no process", [](auto w) { w.initAccounts(1); });
  expect_refused("of no process", [](auto w) { w.initWaits(1); });
  expect_refused("of no process", [](auto w) { w.initUnderWay(1); });
  expect_refused("of no process", [](auto w) { w.initEarlier(1); });
  expect_refused("earlier window ends before it begins", [](auto w) {
    auto row = w.initEarlier(1)[0];
    row.setLane(1);
    row.setEndNs(-1);
  });
  expect_refused("ends within a number", [](auto w) {
    auto row = w.initRows(1)[0];
    row.setLane(1);
    row.initHistogram(1);
  });
}

TEST(ProfileWindow, WhoseListClaimsMoreRowsThanItHasBytesIsRefused) {
  // A list of a million rows of no size, which would be decoded to a million rows.
  constexpr std::uint64_t kRows = 1'000'000;
  const std::uint64_t words[] = {
      0x0004000200000000,  // Root: a struct of 2 words and 4 pointers, next.
      0,
      0,                   // begin, end
      0x000000070000000d,  // rows: a list of structs of 0 words in all, 3 words on
      0,
      0,
      0,           // matrix, accounts, waits
      kRows << 2,  // The list's tag: so many structs, each of 0 words.
  };
  const auto window = decode_profile_window(std::as_bytes(std::span(words)));
  ASSERT_FALSE(window);
  EXPECT_EQ(window.error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace xylem::wire
