// What holds for every built-in aggregation.
//
// States travel between nodes of different versions, so their bytes are golden as those of frames
// are (tests/unit/wire/golden_test.cc). Missing files are written by
//
//   filters_test --write-golden=tests/golden/filters

#include "filters/aggregation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>

#include "tests/support/any_tree.h"
#include "tests/support/golden_bytes.h"
#include "tests/support/random_fields.h"

namespace xylem::filters {
namespace {

using ::testing::HasSubstr;
using wire::Fields;
using xylem::testing::built_in;

constexpr std::uint64_t kAggregationSeed = 20240704;  // Fixed, so that a failure can be repeated.

// Each with something that it takes.
struct Sample {
  std::string name;
  Fields sent;
};

std::vector<Sample> every_built_in() {
  const std::vector<std::uint64_t> one{1};
  return {{"sum", {{1, 0.5}, {2, one}}},
          {"min", {{1, 0.5}, {2, one}}},
          {"max", {{1, 0.5}, {2, one}}},
          {"count", {}},
          {"moments", {{1, std::vector<double>{0.5, 2}}}},
          {"concatenation", {{1, 0.5}, {2, "text"}}},
          {"histogram", {{1, one}}},
          {"quantiles", {{1, std::vector<double>{0.5, -2}}}},
          {"top", {{1, std::vector<double>{0.5, 2}}}},
          {"classes", {{1, "text"}}},
          {"matrix", {{1, one}, {2, one}, {3, one}}}};
}

// What leaves 3, 4 and 9 sent, merged.
Fields state_of(const Sample& sample) {
  const auto filter = built_in(sample.name);
  Fields state = *filter->lift(LeafId{3}, sample.sent);
  for (const LeafId leaf : {LeafId{4}, LeafId{9}}) {
    EXPECT_TRUE(filter->merge(state, *filter->lift(leaf, sample.sent)));
  }
  return state;
}

TEST(Golden, StatesOfEveryBuiltInAreReadAsTheyWereMeant) {
  for (const Sample& sample : every_built_in()) {
    SCOPED_TRACE(sample.name);
    const auto bytes =
        xylem::testing::read_hex(std::filesystem::path(XYLEM_GOLDEN_DIR) / (sample.name + ".hex"));
    const auto state = wire::decode_fields(bytes);
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_TRUE(xylem::testing::same_bits(*state, state_of(sample)));
  }
}

bool write_golden(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  bool good = true;
  for (const Sample& sample : every_built_in()) {
    const auto file = folder / (sample.name + ".hex");
    if (std::filesystem::exists(file)) continue;
    std::cout << "writing " << file << "\n";
    good = xylem::testing::write_hex(file, wire::encode_fields(state_of(sample))) && good;
  }
  return good;
}

TEST(MakeAggregation, NamesTheKnownOnesWhenThereIsNone) {
  const auto made = make_aggregation("median", {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kNotFound);
  EXPECT_THAT(made.error().message, HasSubstr("no aggregation \"median\""));
  for (const Sample& sample : every_built_in())
    EXPECT_THAT(made.error().message, HasSubstr(sample.name));
}

TEST(MakeAggregation, RefusesParametersThatNobodyReads) {
  for (const Sample& sample : every_built_in()) {
    const auto made = make_aggregation(sample.name, Fields{{777, 0.5}});
    ASSERT_FALSE(made) << sample.name;
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    EXPECT_THAT(made.error().message, HasSubstr(sample.name + ": it has no parameter 777"));
  }
}

// States come from peers that may lie. Whatever they are: an error, or a state that can be
// finished, sent and merged again; no crash.
TEST(BuiltIns, SurviveStatesThatAreNone) {
  std::mt19937_64 random(kAggregationSeed);
  for (const Sample& sample : every_built_in()) {
    const auto filter = built_in(sample.name);
    for (int trial = 0; trial < 3000; ++trial) {
      SCOPED_TRACE(sample.name + ", seed " + std::to_string(kAggregationSeed) + ", trial " +
                   std::to_string(trial));
      Fields good = *filter->lift(LeafId{5}, sample.sent);
      Fields bad = *filter->lift(LeafId{6}, sample.sent);
      for (std::size_t n = 1 + random() % 2; n > 0 && !bad.empty(); --n) {
        const auto at = bad.begin() + static_cast<std::ptrdiff_t>(random() % bad.size());
        const auto number = at->first;
        // Another type, or the same array with another element or length.
        auto* array =
            random() % 2 == 0 ? std::get_if<std::vector<std::uint64_t>>(bad.find(number)) : nullptr;
        if (array != nullptr && !array->empty() && random() % 2 == 0) {
          (*array)[random() % array->size()] = random() >> (random() % 64);
        } else if (array != nullptr) {
          array->resize(random() % 4);
        } else {
          bad.set(number, xylem::testing::any_value(random));
        }
      }
      Fields other_way = bad;
      Fields state = good;
      if (const auto merged = filter->merge(state, bad)) {
        if (const auto finished = filter->finish(state)) wire::encode_fields(*finished);
      } else {
        EXPECT_EQ(merged.error().code, Code::kInvalidArgument);
        EXPECT_THAT(merged.error().message, HasSubstr(sample.name + ": "));
      }
      if (filter->merge(other_way, good)) wire::encode_fields(other_way);
      if (const auto finished = filter->finish(bad)) wire::encode_fields(*finished);
    }
  }
}

TEST(BuiltIns, RefuseAStateThatIsEmpty) {
  for (const Sample& sample : every_built_in()) {
    // To sum, min and max a leaf that sent nothing is nothing odd.
    if (sample.name == "sum" || sample.name == "min" || sample.name == "max") continue;
    const auto filter = built_in(sample.name);
    Fields state = *filter->lift(LeafId{5}, sample.sent);
    const auto merged = filter->merge(state, Fields{});
    ASSERT_FALSE(merged) << sample.name;
    EXPECT_EQ(merged.error().code, Code::kInvalidArgument);
    EXPECT_FALSE(filter->finish(Fields{})) << sample.name;
  }
}

}  // namespace
}  // namespace xylem::filters

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kOption = "--write-golden=";
  if (argc == 2 && std::string_view(argv[1]).starts_with(kOption)) {
    return xylem::filters::write_golden(argv[1] + kOption.size()) ? 0 : 1;
  }
  return RUN_ALL_TESTS();
}
