#include "wire/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/support/wire_samples.h"

namespace xylem::wire {
namespace {

using ::testing::HasSubstr;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

SeriesSample sample_of(std::vector<double> numbers) {
  SeriesSample sample;
  sample.entries = {{kLeafLane, std::move(numbers)}};
  return sample;
}

void expect_same(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
        << "number " << i << ": " << got[i] << " for " << want[i];
  }
}

TEST(Series, ComesBackAsItWas) {
  const SeriesSample sample = testing::sample_series();
  const auto back = decode_series(encode(sample));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->at_ns, sample.at_ns);
  EXPECT_EQ(back->span_ns, sample.span_ns);
  EXPECT_EQ(back->slice, sample.slice);
  EXPECT_EQ(back->layout, sample.layout);
  EXPECT_EQ(back->captured, sample.captured);
  ASSERT_EQ(back->entries.size(), 2u);
  expect_same(back->entries[0].numbers, sample.entries[0].numbers);
  EXPECT_EQ(back->entries[1].lane, Lane{7});
}

TEST(Series, KeepsAnyNumberToTheBit) {
  std::mt19937_64 random(20261121);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> numbers(random() % 300);
    for (double& number : numbers) {
      switch (random() % 5) {
        case 0:
          number = 0;
          break;
        case 1:
          number = kUnknown;
          break;
        case 2:
          number = static_cast<double>(static_cast<std::int64_t>(random()) >> (random() % 64));
          break;
        case 3:
          number = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 99);
          break;
        default:
          number = std::numeric_limits<double>::infinity();
      }
    }
    SCOPED_TRACE(trial);
    const auto back = decode_series(encode(sample_of(numbers)));
    ASSERT_TRUE(back) << back.error().message;
    expect_same(back->entries.at(0).numbers, numbers);
  }
}

TEST(Series, ZerosAndSmallCountsTakeNextToNothing) {
  const std::size_t empty = encode(sample_of({})).size();
  EXPECT_EQ(encode(sample_of(std::vector<double>(15, 0))).size(), empty + 1);
  EXPECT_EQ(encode(sample_of({15})).size(), empty + 1);
  EXPECT_EQ(encode(sample_of({2000})).size(), empty + 2);
}

TEST(Series, WhatIsNoSampleIsRefusedWithAReason) {
  const Bytes good = encode(testing::sample_series());
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto cut = decode_series(std::span(good).first(size));
    ASSERT_FALSE(cut) << size << " bytes are taken";
    EXPECT_EQ(cut.error().code, Code::kCorrupt);
  }
  Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_THAT(decode_series(longer).error().message, HasSubstr("follows"));
  Bytes other = good;
  other[0] = std::byte{9};
  EXPECT_THAT(decode_series(other).error().message, HasSubstr("version"));
}

TEST(Series, AFewBytesDoNotBecomeManyNumbers) {
  SeriesSample sample = sample_of(std::vector<double>(kMaxSeriesNumbers, 0));
  EXPECT_TRUE(decode_series(encode(sample)));
  sample.entries.push_back({Lane{7}, {0}});
  EXPECT_THAT(decode_series(encode(sample)).error().message, HasSubstr("too many"));
}

TEST(Series, EmptyEntriesAreBoundedToo) {
  SeriesSample sample = sample_of({});
  sample.entries.clear();
  for (std::uint32_t lane = 0; lane < kMaxSeriesEntries; ++lane) {
    sample.entries.push_back({Lane{lane}, {}});
  }
  EXPECT_TRUE(decode_series(encode(sample)));
  sample.entries.push_back({Lane{kMaxSeriesEntries}, {}});
  const auto refused = decode_series(encode(sample));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("too many entries"));
}

TEST(Series, ASubjectComesOnceInASample) {
  for (const auto& [first, second] : {std::pair{3u, 3u}, std::pair{4u, 3u}}) {
    SeriesSample sample = sample_of({});
    sample.entries = {{Lane{first}, {1}}, {Lane{second}, {1}}};
    const auto refused = decode_series(encode(sample));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("do not rise"));
  }
}

TEST(Series, LayoutsWithTheSameRowsHaveTheSameKeyAndOthersAnother) {
  const SeriesLayout layout{"host", {{"a", "%", 1, true}, {"b", "", 1, false}}};
  EXPECT_EQ(key_of(layout), key_of(SeriesLayout(layout)));
  SeriesLayout other = layout;
  other.rows[0].per_second = false;
  EXPECT_NE(key_of(layout), key_of(other));
  other = layout;
  other.rows[0].scale = 2;
  EXPECT_NE(key_of(layout), key_of(other));
  other = layout;
  other.service = "hosts";
  EXPECT_NE(key_of(layout), key_of(other));
  EXPECT_NE(key_of({"s", {{"ab", "c", 1, true}}}), key_of({"s", {{"a", "bc", 1, true}}}));
}

TEST(Series, NamesOfServicesCanStandInNamesOfFiles) {
  for (const char* good : {"host", "gpu-power", "a", "x_1"}) EXPECT_TRUE(is_service_name(good));
  for (const char* bad : {"", "Host", "1st", "a/b", "..", "a b"}) {
    EXPECT_FALSE(is_service_name(bad)) << bad;
  }
  EXPECT_FALSE(is_service_name(std::string(33, 'a')));
}

}  // namespace
}  // namespace xylem::wire
